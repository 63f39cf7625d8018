"""What a handler may return. A table's module re-exports only those it has."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TypeAlias


def checked_delay(delay: object) -> None:
    """Raise TypeError for a delay that is no timedelta: of a number nobody knows the unit."""
    if not isinstance(delay, timedelta):
        raise TypeError(f"the delay is {delay!r}; it is a timedelta: timedelta(seconds=5)")


@dataclass(frozen=True, slots=True)
class Ack:
    """Done: the row is deleted, or marked finished."""


@dataclass(frozen=True, slots=True)
class Retry:
    """Due again now: behind the rows that are due, where a `retry_after` says since when, else in its
    place, where it is claimed again at once. At the last attempt, a dead letter."""

    error: str | None = None
    """Kept in `last_error` where the table has the role."""


@dataclass(frozen=True, slots=True)
class RetryAfter:
    """Due again after `delay`. At the last attempt, a dead letter."""

    delay: timedelta
    error: str | None = None
    """Kept in `last_error` where the table has the role."""

    def __post_init__(self) -> None:
        checked_delay(self.delay)


@dataclass(frozen=True, slots=True)
class Discard:
    """Finished as an ack does it; only a worker's events tell the two apart."""


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """Given up: moved to where the table keeps its dead letters."""

    reason: str = "rejected"
    error: str | None = None


AnyOutcome: TypeAlias = Ack | Retry | RetryAfter | Discard | DeadLetter
"""Every outcome there is; a table's own `Outcome` has those it serves."""
