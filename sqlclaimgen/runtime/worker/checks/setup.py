"""How the server is set up: its version, its log, its timeouts, its fellow masters."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from sqlclaimgen.runtime.drivers.servers import Ends, Server
from sqlclaimgen.runtime.errors import ServerTooOld, ServerUnfit
from sqlclaimgen.runtime.queue import Queue
from sqlclaimgen.runtime.steps import Protocol
from sqlclaimgen.runtime.worker.events import EventKind, Reporter
from sqlclaimgen.runtime.worker.settings import Settings

AnyQueue = Queue[Any, Any, Any, Any]

LOOKED_AT = 15.0
"""Seconds within which a connection that holds a row is asked something, with room for delays: the
worker looks at it every 10 seconds."""


LONG = 3600.0
"""Seconds: a timeout that is not worth a warning where nobody said how long handlers run. MySQL's own
wait_timeout is 8 hours."""


def version(queue: AnyQueue, server: Server) -> Protocol[None]:
    """Raise ServerTooOld below the oldest version served."""
    words = yield from server.version()
    what, oldest, needs = "the statements", server.floor, server.needs
    if queue.fifo is not None and server.fifo is not None:
        what, (oldest, needs) = "the statements of FIFO groups", server.fifo
    if server.numbers(words) < oldest:
        floor = ".".join(str(number) for number in oldest)
        raise ServerTooOld(
            f"{queue.table}: this server is {server.title} {words}, and {what} need {floor} or "
            f"newer ({needs}). Upgrade the server, or connect to another one.",
            table=queue.table,
        )


def encoding(queue: AnyQueue, server: Server) -> Protocol[None]:
    """Raise ServerUnfit when the driver would give text as bytes."""
    found = yield from server.unencoded()
    if found is not None:
        setting, way_out = found
        raise ServerUnfit(
            f"{queue.table}: the connection has {setting}: nobody knows how its text is encoded, and the "
            f"driver gives bytes. {way_out}",
            table=queue.table,
            setting=setting,
        )


def logging(queue: AnyQueue, server: Server) -> Protocol[None]:
    """Raise ServerUnfit when the server's log cannot take READ COMMITTED transactions."""
    setting = yield from server.unlogged()
    if setting is not None:
        raise ServerUnfit(
            f"{queue.table}: the server runs with {setting}, under which InnoDB refuses every write of a "
            "READ COMMITTED transaction (error 1665), claims among them. Set binlog_format to ROW or "
            "MIXED.",
            table=queue.table,
            setting=setting,
        )


def multi_master(queue: AnyQueue, server: Server) -> Protocol[None]:
    """Raise ServerUnfit where other nodes take writes and the form's locks stay on one node."""
    if queue.form == "lease" and queue.fifo is None:
        return
    setting = yield from server.multi_master()
    if setting is None:
        return
    what = "FIFO groups" if queue.form == "lease" else f"the {queue.form.replace('_', ' ')} form"
    raise ServerUnfit(
        f"{queue.table}: the server runs with {setting}: several nodes take writes, and {what} would let "
        "two of them run one row, for locks stay on their node. Use the lease form without `fifo` (a "
        "`locked_until` column), or give every worker and producer the same node.",
        table=queue.table,
        setting=setting,
    )


def timeouts(
    queue: AnyQueue, server: Server, settings: Settings, report: Reporter
) -> Protocol[None]:
    """Raise ServerUnfit for a timeout that would end a held connection under its handler. Where nobody
    said how long handlers run, one of less than an hour is reported as a warning."""
    needed = dict(_needed(queue, settings))
    if not needed:
        return
    for timeout in (yield from server.timeouts()):
        seconds = needed.get(timeout.ends, 0.0)
        if timeout.seconds >= (seconds if math.isfinite(seconds) else LONG):
            continue
        what = (
            "in its transaction"
            if timeout.ends in (Ends.IDLE_INSIDE, Ends.TRANSACTION)
            else "on its connection"
        )
        error = ServerUnfit(
            f"{queue.table}: {timeout.name} is {timeout.seconds:g} seconds, and a handler {_runs(seconds)} "
            f"{what}: the server would end it, and another worker would run the row beside it. "
            f"{_way_out(timeout.name, seconds)}",
            table=queue.table,
            setting=timeout.name,
        )
        if math.isfinite(seconds):
            raise error
        report(EventKind.WARNED, error=error)


def _runs(seconds: float) -> str:
    if not math.isfinite(seconds):
        return "may run longer"
    return f"holds its row for {seconds:g} seconds without a statement"


def _way_out(name: str, seconds: float) -> str:
    if not math.isfinite(seconds):
        return (
            f"Say how long handlers run at most (`longest_handler`, in seconds), and raise {name} above "
            "that for the worker's user, or use the lease form."
        )
    return f"Raise {name} for the worker's user, or use the lease form."


def _needed(queue: AnyQueue, settings: Settings) -> Iterator[tuple[Ends, float]]:
    """How long the server must bear a held connection, by what its timeouts count."""
    longest = settings.longest_handler if settings.longest_handler is not None else math.inf
    looked_at = min(longest, LOOKED_AT)
    if settings.transactional:
        # the handler has the connection: nobody else may ask anything on it
        yield Ends.IDLE, longest
        yield Ends.IDLE_INSIDE, longest
        yield Ends.TRANSACTION, longest
    elif queue.form == "row_lock":
        yield Ends.IDLE, looked_at
        yield Ends.IDLE_INSIDE, looked_at
        yield Ends.TRANSACTION, longest
    elif queue.form == "advisory_lock":
        yield Ends.IDLE, looked_at
        yield Ends.IDLE_OUTSIDE, looked_at
