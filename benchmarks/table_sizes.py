"""What one claim costs on tables of different size and state: figures only, in the full run."""

from __future__ import annotations

import contextlib
import statistics
import time
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any, Protocol

from benchmarks.by_hand import acknowledge
from benchmarks.case import Case, Contender, Figures, Kind
from benchmarks.loops import LEASES
from benchmarks.park import Park
from benchmarks.tables import QUEUE, Table

COST = "ms a claim"
LIMIT = 10
LARGE = 1_000_000
"""The rows of a large table."""
_HOUR = timedelta(hours=1)


def small(table: Table) -> None:
    """10,000 rows, all due."""
    table.add(10_000)


def large(table: Table) -> None:
    """A million rows, all due."""
    table.add(LARGE)


def delayed(table: Table) -> None:
    """990,000 rows that are delayed, at a better priority than the 10,000 that are due."""
    table.add(LARGE * 99 // 100, priority=1, delay=10 * _HOUR)
    table.add(10_000)


def leased(table: Table) -> None:
    """5,000 leases in work in front of 10,000 rows that are due."""
    table.add(5_000, priority=1, lease=10 * _HOUR)
    table.add(10_000)


STATES: dict[str, Callable[[Table], None]] = {
    "10,000 rows": small,
    "1 million rows": large,
    "990,000 rows delayed at a better priority": delayed,
    "5,000 leases in front": leased,
}


class Claimer(Protocol):
    """Claims, which is measured, and settles, which is not. Returns the number of rows and the
    milliseconds."""

    def __call__(self, table: Table, connection: Any) -> tuple[int, float]: ...


class Stock:
    """A table in one state. It is filled again only where it stands in another one."""

    def __init__(self, table: Table, state: str, claimer: Claimer) -> None:
        self._table = table
        self._state = state
        self._claimer = claimer
        self._expected = 0

    def prepare(self, claims: int) -> None:
        """Fill the table, unless it stands in this state."""
        if self._table.state != self._state:
            self._table.clear()
            STATES[self._state](self._table)
            self._table.rest()
            self._table.state = self._state
        self._expected = self._table.left() - claims * LIMIT

    def run(self, claims: int) -> Figures:
        """The median time of a claim."""
        times: list[float] = []
        with contextlib.closing(self._table.connect()) as connection:
            for _ in range(claims):
                claimed, took = self._claimer(self._table, connection)
                assert claimed == LIMIT, f"{claimed} rows instead of {LIMIT}"
                times.append(took)
        return {COST: statistics.median(times)}

    def left(self) -> int:
        """How many of the claimed rows are still there."""
        return self._table.left() - self._expected


def _ours(table: Table, connection: Any) -> tuple[int, float]:
    started = time.perf_counter()
    with table.module.claim(connection, group=QUEUE, limit=LIMIT) as deliveries:
        took = time.perf_counter() - started
        return acknowledge(connection, deliveries, together=True), took * 1000


def _hand(table: Table, connection: Any) -> tuple[int, float]:
    loop = LEASES[table.database.dialect]
    loop.prepare(connection)
    started = time.perf_counter()
    held = loop.claim(connection, LIMIT)
    took = time.perf_counter() - started
    return loop.settle(connection, held), took * 1000


def _contenders(park: Park, dialect: str, state: str) -> tuple[Contender, ...]:
    table = park.table(dialect, "lease_jobs")
    found: list[Contender] = []
    for kind, claimer in ((Kind.OURS, _ours), (Kind.HAND, _hand)):
        stock = Stock(table, state, claimer)
        found.append(
            Contender(
                kind=kind, name=kind.value, run=stock.run, prepare=stock.prepare, left=stock.left
            )
        )
    return tuple(found)


def cases(park: Park) -> list[Case]:
    """Each state on each database; `rows` is the number of claims."""
    return [
        Case(
            title=f"a claim of {LIMIT}, {state}",
            server=dialect,
            rows=50,
            quick=None,
            contenders=partial(_contenders, park, dialect, state),
            figures=(COST,),
        )
        for dialect in ("postgres", "sqlite", "mysql", "mariadb")
        for state in STATES
    ]
