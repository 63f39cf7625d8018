"""Delays: between tries after an error, and before a failed row is due again. None can fail."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

CAP = timedelta(days=30)
"""The longest delay of a failed row."""


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """When a row whose handler failed is due again. `base` and `most`, the longest of delays that grow,
    are seconds."""

    backoff: str = "none"
    base: float = 0
    most: float = 0
    jitter: float = 0.0

    def delay(self, attempt: int) -> timedelta:
        """The delay after the failure of delivery `attempt`, from 1. None that grows is longer than
        `most`, jitter and all."""
        match self.backoff:
            case "constant":
                seconds = self.base
            case "linear":
                seconds = self.base * attempt
            case "exponential":
                # the exponent is bounded before it is used: 2 ** 5000 is no float
                seconds = self.base * 2.0 ** min(max(attempt - 1, 0), 64)
            case _:
                return timedelta(0)
        most = self.most if self.most and self.backoff != "constant" else math.inf
        seconds = min(seconds, most)
        if self.jitter:
            # drawn from what is allowed, not cut to it: rows that wait longest stay apart
            least = seconds * (1 - self.jitter)
            seconds = random.uniform(least, min(seconds * (1 + self.jitter), most))
        return clamped(seconds)


def delay_of(value: Any) -> timedelta:
    """What a policy of the user's returns as a delay of 0 to CAP. Raises ValueError for what is no
    timedelta and no number of seconds, or less than 0: NaN and None among it."""
    seconds = value.total_seconds() if isinstance(value, timedelta) else value
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not seconds >= 0:
        raise ValueError(
            f"{value!r} is no delay: it is a timedelta or a number of seconds, at least 0"
        )
    return clamped(seconds)


def clamped(seconds: float) -> timedelta:
    """A number of seconds as a delay of 0 to CAP. Too many for a timedelta, and NaN, are CAP: late is
    safe, at once is a storm."""
    most = CAP.total_seconds()
    return timedelta(seconds=max(seconds, 0)) if seconds < most else CAP


class Backoff:
    """Waits between tries: from `first`, doubled each time to `most`, with jitter. Seconds."""

    def __init__(self, first: float, most: float) -> None:
        self._first = min(first, most)
        self._most = most
        self._next = self._first

    def next(self) -> float:
        """How long to wait now."""
        wait = self._next
        self._next = min(self._next * 2, self._most)
        return wait * random.uniform(0.5, 1.0)

    def reset(self) -> None:
        """It worked."""
        self._next = self._first
