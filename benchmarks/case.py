"""One kind of work, those who do it, and what each of them reached."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum

from benchmarks.goals import Goal

RATE = "rows/s"
"""The figure of most cases."""

Figures = Mapping[str, float]
"""What one run reached, by the name of the figure."""


class NotSettled(Exception):
    """A contender ended and left rows unsettled: what it measured is worth nothing."""

    def __init__(self, case: str, contender: str, left: int) -> None:
        super().__init__(f"{case}, {contender}: {left} rows are not settled")
        self.case = case
        self.contender = contender
        self.left = left


class Kind(Enum):
    """What a contender is to the case."""

    OURS = "ours"
    HAND = "hand-written"
    LIMIT = "limit"
    PEER = "peer"


@dataclass(frozen=True, slots=True, kw_only=True)
class Contender:
    """Somebody who does the work of a case.

    `run` takes the number of rows and returns its figures. `left` counts what is not settled after
    it, 0 when all of the work was really done. `share` is for slow ones: the part of the case's rows
    that they are given. `missing` is the reason why it cannot run.
    """

    kind: Kind
    name: str
    run: Callable[[int], Figures]
    left: Callable[[], int]
    prepare: Callable[[int], None] = lambda rows: None
    share: float = 1.0
    missing: str | None = None

    def measure(self, case: str, rows: int) -> Figures:
        """One run, set-up not measured. Raises NotSettled."""
        rows = max(int(rows * self.share), 1)
        self.prepare(rows)
        gc.collect()
        figures = self.run(rows)
        if left := self.left():
            raise NotSettled(case, self.name, left)
        return figures


def timed(work: Callable[[int], None]) -> Callable[[int], Figures]:
    """A run whose figure is its rows in a second, from its first connection to its last commit."""

    def run(rows: int) -> Figures:
        started = time.perf_counter()
        work(rows)
        return {RATE: rows / (time.perf_counter() - started)}

    return run


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A kind of work. `rows` is for a full run; `quick` names the rows of a quick one, None leaves it out."""

    title: str
    server: str
    rows: int
    quick: int | None
    contenders: Callable[[], tuple[Contender, ...]]
    """Called when the case's turn has come: it starts servers."""
    figures: tuple[str, ...] = (RATE,)
    goals: tuple[Goal, ...] = ()


@dataclass(slots=True)
class Standing:
    """What one contender reached in all rounds."""

    contender: Contender
    rounds: dict[str, list[float]] = field(default_factory=dict[str, list[float]])
    failure: str | None = None

    def add(self, figures: Figures) -> None:
        """Keep what one round reached."""
        for name, value in figures.items():
            self.rounds.setdefault(name, []).append(value)

    def median(self, figure: str) -> float | None:
        """The median of all rounds, None where there is none."""
        values = self.rounds.get(figure)
        return statistics.median(values) if values and self.failure is None else None

    def spread(self, figure: str) -> tuple[float, float] | None:
        """The least and the most of all rounds, None where there was one round only."""
        values = self.rounds.get(figure, [])
        return (min(values), max(values)) if len(values) > 1 and self.failure is None else None


@dataclass(slots=True)
class Result:
    """A case that was run. `failure` is why none of it was."""

    case: Case
    standings: list[Standing]
    failure: str | None = None

    @property
    def failed(self) -> bool:
        """Whether something went wrong; a contender that is missing is none of it."""
        return self.failure is not None or any(one.failure for one in self.standings)

    def of(self, kind: Kind) -> list[Standing]:
        """The standings of one kind, in the order of the case."""
        return [one for one in self.standings if one.contender.kind is kind]

    def best(self, kind: Kind, figure: str) -> float | None:
        """The best median among those of a kind that ran."""
        medians = [one.median(figure) for one in self.of(kind)]
        known = [value for value in medians if value is not None]
        return max(known) if known else None

    def first(self, kind: Kind, figure: str) -> float | None:
        """The median of the first of a kind: what a goal is measured against."""
        standings = self.of(kind)
        return standings[0].median(figure) if standings else None
