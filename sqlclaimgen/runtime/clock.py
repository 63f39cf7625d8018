"""Clocks: the host's, in UTC, and the database's as far as it was read."""

from __future__ import annotations

import time
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


FRESH = 10.0
"""Seconds for which a reading of the database's clock is counted on from."""


class Reading:
    """What the database's clock said last. Between two readings this host's monotonic clock counts on,
    which nobody sets: the wall clock of this host does not matter."""

    __slots__ = ("_answered", "_at", "_time")

    def __init__(self) -> None:
        self._time: datetime | None = None
        self._at = 0.0
        self._answered = 0.0

    def take(self, said: datetime, asked: float, answered: float) -> None:
        """Remember what the clock said, at some moment between two monotonic times in seconds: the
        middle of them is wrong by half of what it took, at most."""
        self._time, self._at, self._answered = said, (asked + answered) / 2, answered

    @property
    def fresh(self) -> bool:
        """Whether it is recent enough to count on from."""
        return self._time is not None and time.monotonic() - self._at < FRESH

    @property
    def now(self) -> datetime | None:
        """The database's time now; None before the first reading."""
        if self._time is None:
            return None
        return self._time + timedelta(seconds=time.monotonic() - self._at)

    @property
    def earliest(self) -> datetime | None:
        """The earliest that the database's time can be now, as if it was read when the answer came; None
        before the first reading."""
        if self._time is None:
            return None
        return self._time + timedelta(seconds=time.monotonic() - self._answered)
