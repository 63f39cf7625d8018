"""A pooler that gives each transaction another server session strands session locks: found out here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlclaimgen.runtime.errors import ServerUnfit
from sqlclaimgen.runtime.queue import Queue
from sqlclaimgen.runtime.steps import Begin, Protocol, Rollback, Run
from sqlclaimgen.runtime.worker.opening import open_session
from sqlclaimgen.runtime.worker.sessions import AsyncSession
from sqlclaimgen.runtime.worker.settings import Settings

ROUNDS = 3


def number(query: str) -> Protocol[int]:
    """The number of the server's session that answers."""
    result = yield Run("session", query, {})
    return int(result.rows[0][0])


def begun(query: str) -> Protocol[int]:
    """The same inside a transaction, which stays open: a pooler must leave that session to it."""
    yield Begin()
    return (yield from number(query))


def ended() -> Protocol[None]:
    """End it."""
    yield Rollback()


async def look(
    session: AsyncSession,
    query: str,
    queue: Queue[Any, Any, Any, Any],
    connect: Callable[[], Any],
    settings: Settings,
) -> None:
    """Raise ServerUnfit when connections share the server's sessions. A second connection is open
    while this looks: two connections of one's own never have the same session, nor change theirs."""
    other = await open_session(queue, connect, settings.statement_timeout)
    try:
        mine = await session.drive(number(query))
        for _ in range(ROUNDS):
            # the pooler is made to choose again: the session that answered last is in use now
            theirs = await other.drive(begun(query))
            shared = theirs == mine
            now = mine if shared else await session.drive(number(query))
            await other.drive(ended())
            if shared or now != mine:
                raise ServerUnfit(
                    f"{queue.table}: this connection leads through a pooler in transaction mode: it was "
                    f"answered by sessions {mine} and {theirs if shared else now} of the server. The "
                    "advisory lock form holds a row by a lock of its session, which would stay behind "
                    "on another one. Connect to the server itself, or to a pool in session mode; or use "
                    "the lease form.",
                    table=queue.table,
                    setting="pool_mode",
                )
    finally:
        await other.close()
