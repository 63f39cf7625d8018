"""The database's clock, for tables that ask for it: read now and then, and counted on from there."""

from __future__ import annotations

import time

from sqlclaimgen.runtime.errors import FaultKind, StatementFailed
from sqlclaimgen.runtime.protocols.transaction import joining
from sqlclaimgen.runtime.queue import Bound
from sqlclaimgen.runtime.steps import Protocol

TRIES = 3
"""How often the clock is asked for an answer that is not late."""


def read(bound: Bound, *, joined: bool) -> Protocol[None]:
    """Read the clock, in the open transaction or one of its own. Raises StatementFailed when no answer
    says well enough what time it is."""
    yield from joining(lambda: _read(bound), joined=joined)


def _read(bound: Bound) -> Protocol[None]:
    took = 0.0
    for _ in range(TRIES):
        asked = time.monotonic()
        result = yield from bound.run("clock", {})
        answered = time.monotonic()
        took = answered - asked
        if took <= late(bound):
            bound.reading.take(bound.codec.from_time(result.rows[0][0]), asked, answered)
            return
    raise StatementFailed(
        f"{bound.queue.table}: the database's clock took {took:.1f} seconds to answer, {TRIES} times in a "
        "row, and leases are too short for that. Nothing was written; try again.",
        table=bound.queue.table,
        kind=FaultKind.BUSY,
        statement="clock",
    )


def late(bound: Bound) -> float:
    """Seconds that an answer may take: a tenth of the lease, for nobody knows when it was read."""
    lease = bound.queue.lease
    return 5.0 if lease is None else max(lease.total_seconds() / 10, 0.25)
