"""What payouts hold."""

from enum import StrEnum


class Currency(StrEnum):
    """The currencies that are paid out."""

    EUR = "EUR"
    DKK = "DKK"
    USD = "USD"
