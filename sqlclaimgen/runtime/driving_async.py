"""Running a protocol on an asyncio connection."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from sqlclaimgen.runtime.drivers.foreign import unserved
from sqlclaimgen.runtime.driving import refuse_pipeline, translated
from sqlclaimgen.runtime.steps import Begin, Commit, Protocol, Result, Rollback, Run, Step

if TYPE_CHECKING:
    from sqlclaimgen.runtime.drivers.psycopg_async import AsyncPsycopgSession

T = TypeVar("T")

GRACE = 10.0
"""Seconds that what has to end is given once its task is cancelled; then the connection is broken."""


def async_session_of(connection: Any, *, table: str) -> AsyncPsycopgSession:
    """The session for an asyncio connection, by its class. Raises UnsupportedServer for anything but
    psycopg's."""
    psycopg = sys.modules.get("psycopg")
    if psycopg is None or not isinstance(connection, psycopg.AsyncConnection):
        raise unserved(connection, table=table, needed="an asyncio connection of psycopg")
    from sqlclaimgen.runtime.drivers.psycopg_async import AsyncPsycopgSession

    refuse_pipeline(connection, table=table)
    return AsyncPsycopgSession(connection)


async def drive_async(
    session: AsyncPsycopgSession,
    protocol: Protocol[T],
    *,
    table: str | None,
    to_its_end: bool = False,
    cancelled: Callable[[T], Protocol[Any]] | None = None,
) -> T:
    """Run a protocol to its end on one connection. A driver's error reaches it as StatementFailed, or as
    it is where no table is named.

    A cancellation of the task stops a statement that waits, and reaches the protocol there. What begins or
    ends a transaction is not stopped, nor is anything after a cancellation or with `to_its_end`:
    CancelledError is raised afterwards. Where the protocol ended well in spite of one, `cancelled` undoes
    its value.
    """
    error: BaseException | None = None
    result: Result | None = None
    stopped: asyncio.CancelledError | None = None
    to_tell = False
    while True:
        try:
            step = protocol.throw(error) if error else protocol.send(result)  # type: ignore[arg-type]
        except StopIteration as stop:
            value: T = stop.value
            if stopped is None:
                return value
            if cancelled is not None:
                await drive_async(session, cancelled(value), table=table, to_its_end=True)
            raise stopped from None
        except BaseException as failed:
            if stopped is not None and not isinstance(failed, asyncio.CancelledError):
                raise stopped from failed
            raise
        result, error = None, None
        if to_tell and isinstance(step, Run):
            to_tell, error = False, stopped
            continue
        try:
            if to_its_end or stopped is not None or isinstance(step, Begin | Commit | Rollback):
                before = stopped
                work, stopped = await _ended(session, step, stopped)
                # behind a BEGIN, when there is something to roll back
                begun = isinstance(step, Begin) and not to_its_end
                to_tell = begun and before is None and stopped is not None
                result = work.result()
            else:
                result = await session.execute(step)
        except asyncio.CancelledError as caught:
            error = stopped = caught
        except BaseException as caught:
            error = translated(session, table, step, caught)


async def _ended(
    session: AsyncPsycopgSession, step: Step, stopped: asyncio.CancelledError | None
) -> tuple[asyncio.Future[Result], asyncio.CancelledError | None]:
    """Carry out a step, in a task that nobody cancels. Returns that task, which is done, and the
    cancellation that came meanwhile or before."""
    work = asyncio.ensure_future(session.execute(step))
    loop = asyncio.get_running_loop()
    until = None if stopped is None else loop.time() + GRACE
    while not work.done():
        try:
            await asyncio.wait({work}, timeout=None if until is None else until - loop.time())
        except asyncio.CancelledError as caught:
            stopped = caught
            until = until or loop.time() + GRACE
        if until is not None and loop.time() >= until:
            session.abort()
            until = None
    return work, stopped
