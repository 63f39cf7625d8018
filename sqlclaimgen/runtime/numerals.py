"""Numbers, checked where the database's columns do not."""

from __future__ import annotations

from decimal import Decimal
from typing import Any


def integer(value: Any) -> int:
    """An integer of 64 bits. Raises ValueError for anything else."""
    if not isinstance(value, int):
        raise ValueError(f"{value!r} is no integer")
    if not -(2**63) <= value < 2**63:
        raise ValueError(f"{value} has more than 64 bits")
    return value


def number(value: Any) -> str:
    """The text of a decimal number. Raises ValueError for what is none."""
    try:
        Decimal(text := str(value))
    except ArithmeticError:
        raise ValueError(f"{value!r} is no number") from None
    return text
