"""What our figures are held against. A goal is a mark in the results; it fails nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

PerSecond = "rows/s"


class Medians(Protocol):
    """What a goal is judged by: the medians of a case, None where there is none."""

    def ours(self, figure: str) -> float | None: ...

    def hand_written(self, figure: str) -> float | None: ...

    def best_peer(self, figure: str) -> float | None: ...


class Goal(Protocol):
    """One thing that is to hold. `holds` is None where something of it was not measured."""

    @property
    def figure(self) -> str: ...

    def text(self) -> str: ...

    def holds(self, medians: Medians) -> bool | None: ...


@dataclass(frozen=True, slots=True)
class OfHandWritten:
    """At least this part of what the loop written by hand reaches."""

    part: float
    figure: str = PerSecond

    def text(self) -> str:
        return f"{self.part:g} of hand-written"

    def holds(self, medians: Medians) -> bool | None:
        return _at_least(medians.ours(self.figure), medians.hand_written(self.figure), self.part)


@dataclass(frozen=True, slots=True)
class OfBestPeer:
    """At least so many times what the best peer reaches."""

    times: float
    figure: str = PerSecond

    def text(self) -> str:
        return f"{self.times:g} times the best peer"

    def holds(self, medians: Medians) -> bool | None:
        return _at_least(medians.ours(self.figure), medians.best_peer(self.figure), self.times)


@dataclass(frozen=True, slots=True)
class AtLeast:
    """At least so much."""

    value: float
    figure: str = PerSecond

    def text(self) -> str:
        return f"{self.value:,.0f}"

    def holds(self, medians: Medians) -> bool | None:
        return _at_least(medians.ours(self.figure), self.value, 1)


@dataclass(frozen=True, slots=True)
class AtMost:
    """At most so much: for times."""

    value: float
    figure: str

    def text(self) -> str:
        return f"at most {self.value:g}"

    def holds(self, medians: Medians) -> bool | None:
        ours = medians.ours(self.figure)
        return None if ours is None else ours <= self.value


def _at_least(ours: float | None, other: float | None, part: float) -> bool | None:
    return None if ours is None or other is None else ours >= part * other
