"""This host's clock against the database's: leases are computed from the one, and end by everybody's."""

from __future__ import annotations

from datetime import timedelta
from typing import NamedTuple

from sqlclaimgen.runtime.drivers.servers import SERVERS, Server
from sqlclaimgen.runtime.errors import ClocksApart
from sqlclaimgen.runtime.queue import Bound
from sqlclaimgen.runtime.steps import Protocol, Run
from sqlclaimgen.runtime.worker.events import EventKind, Reporter

WARNS = 1 / 10
"""The share of the lease above which a difference is reported."""
REFUSES = 1 / 4
"""The share of the lease above which a worker does not claim."""
ROUNDS = 3
_UNLEASED = timedelta(seconds=30)
"""What stands for the lease where a table has none: delays are off by the difference, no row is."""


class Difference(NamedTuple):
    """By how much the host's clock is behind the database's, in seconds."""

    seconds: float
    unsure: float
    """Half the round trip: the difference is right to this much."""

    @property
    def least(self) -> float:
        """The difference that is beyond doubt."""
        return max(0.0, abs(self.seconds) - self.unsure)


def measured(bound: Bound, query: str, rounds: int = ROUNDS) -> Protocol[Difference]:
    """The difference by the quickest of a few round trips."""
    best: Difference | None = None
    for _ in range(rounds):
        before = bound.queue.clock()
        result = yield Run("clock", query, {})
        after = bound.queue.clock()
        there = bound.codec.from_time(result.rows[0][0])
        trip = after - before
        difference = there - (before + trip / 2)
        found = Difference(difference.total_seconds(), trip.total_seconds() / 2)
        if best is None or found.unsure < best.unsure:
            best = found
    assert best is not None
    return best


def compared(
    bound: Bound, server: Server, report: Reporter, *, rounds: int = ROUNDS, quiet: bool = False
) -> Protocol[bool]:
    """Raise ClocksApart above a quarter of the lease; report a warning above a tenth, unless `quiet`.
    Returns whether the clocks are that far apart. A table without a lease draws the warning only, one
    on the database's clock neither."""
    queue = bound.queue
    if server.clock is None or queue.database_clock:
        return False
    lease = queue.lease or _UNLEASED
    difference = yield from measured(bound, server.clock, rounds)
    share = difference.least / lease.total_seconds()
    if share <= WARNS:
        return False
    error = ClocksApart(
        f"{queue.table}: this host's clock is {abs(difference.seconds):.3f} seconds "
        f"{'behind' if difference.seconds > 0 else 'ahead of'} the database's, {_consequence(bound)}. "
        "Synchronise both clocks (NTP), or make the lease longer.",
        table=queue.table,
        seconds=difference.seconds,
    )
    if share > REFUSES and queue.lease is not None:
        raise error
    if not quiet:
        report(EventKind.WARNED, error=error)
    return True


def _consequence(bound: Bound) -> str:
    lease = bound.queue.lease
    if lease is None:
        return "and delays are off by as much"
    return (
        f"and the lease is {lease.total_seconds():g} seconds: above a quarter of it no worker may "
        "claim, for others would see its leases end early"
    )


class Watch:
    """Compares the clocks again while a worker runs, once at each extension."""

    def __init__(self, report: Reporter) -> None:
        self._report = report
        self._told = False

    def look(self, bound: Bound) -> Protocol[None]:
        """Raise ClocksApart above a quarter of the lease. A warning is reported once, and again after
        the clocks have agreed."""
        server = SERVERS[bound.codec.dialect]
        self._told = yield from compared(bound, server, self._report, rounds=1, quiet=self._told)
