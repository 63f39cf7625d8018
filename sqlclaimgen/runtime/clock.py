"""The host's clock, in UTC."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

MICROSECOND = timedelta(microseconds=1)


def utcnow() -> datetime:
    """Now, aware, in UTC."""
    return datetime.now(UTC)


def floor(value: datetime, precision: int) -> datetime:
    """`value` cut to `precision` fraction digits: a due time is never rounded into the future
    (MySQL rounds, MariaDB truncates)."""
    unit: int = 10 ** (6 - precision)
    return value.replace(microsecond=value.microsecond // unit * unit)


def ceiling(value: datetime, precision: int) -> datetime:
    """`value` raised to `precision` fraction digits: a lease is never shorter than promised."""
    low = floor(value, precision)
    return low if low == value else low + 10 ** (6 - precision) * MICROSECOND
