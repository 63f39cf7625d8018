"""What a worker looks at before its first claim: each finding is a clear error."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from sqlclaimgen.runtime.drivers.servers import SERVERS
from sqlclaimgen.runtime.errors import ClaimError, FaultKind, StatementFailed
from sqlclaimgen.runtime.queue import Queue
from sqlclaimgen.runtime.worker.checks import clocks, pooling, setup, statements, tables
from sqlclaimgen.runtime.worker.events import Reporter
from sqlclaimgen.runtime.worker.lines import Line
from sqlclaimgen.runtime.worker.sessions import AsyncSession
from sqlclaimgen.runtime.worker.settings import Settings


async def run(
    queue: Queue[Any, Any, Any, Any],
    settings: Settings,
    connect: Callable[[], Any],
    report: Reporter,
    stop: asyncio.Event,
) -> None:
    """Look at the server and the table over a connection that is closed again. A server that is not
    there is waited for, until `stop`.

    Raises ServerTooOld, ServerUnfit, ClocksApart and SchemaMismatch. What is no reason to stop is
    reported as a warning.
    """
    line = Line(queue, connect, settings, report)
    try:
        while not stop.is_set():
            try:
                await _look(await line.open(), queue, settings, connect, report)
                return
            except StatementFailed as error:
                if error.kind in (FaultKind.REFUSED, FaultKind.ROW):
                    raise
                await line.pause(error, stop)
            except ClaimError:
                raise
            except Exception as error:
                await line.pause(error, stop)
    finally:
        await line.drop()


async def _look(
    session: AsyncSession,
    queue: Queue[Any, Any, Any, Any],
    settings: Settings,
    connect: Callable[[], Any],
    report: Reporter,
) -> None:
    server = SERVERS[session.bound.codec.dialect]
    # first: a version that came as bytes cannot be read
    await session.drive(setup.encoding(queue, server))
    await session.drive(setup.version(queue, server))
    await session.drive(setup.logging(queue, server))
    await session.drive(setup.multi_master(queue, server))
    await session.drive(setup.timeouts(queue, server, settings, report))
    await session.drive(statements.fit(session.bound, server))
    await session.drive(statements.typed(session.bound, server))
    await session.drive(tables.compared(session.bound, server, report))
    await session.drive(clocks.compared(session.bound, server, report))
    if queue.form == "advisory_lock" and server.session is not None:
        await pooling.look(session, server.session, queue, connect, settings)
