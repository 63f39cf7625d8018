"""The block that holds what a claim over an asyncio connection took."""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Any, Self, TypeVar

from sqlclaimgen.runtime import calls
from sqlclaimgen.runtime.claims import Deliveries
from sqlclaimgen.runtime.connections import AsyncPostgresConnection
from sqlclaimgen.runtime.driving_async import async_session_of, drive_async
from sqlclaimgen.runtime.protocols.scope import Scope
from sqlclaimgen.runtime.queue import Queue

D = TypeVar("D")


class AsyncClaim(Deliveries[D]):
    """The deliveries of one claim, to be used in an `async with` block, which claims when it is entered.
    Leaving it gives back what was not settled, also where the task is cancelled, inside or before."""

    def __init__(
        self,
        queue: Queue[D, Any, Any, Any],
        conn: AsyncPostgresConnection,
        scope: Scope,
        limit: int,
    ) -> None:
        super().__init__()
        self._queue = queue
        self._session = async_session_of(conn, table=queue.table)
        self._scope = scope
        self._limit = limit

    async def __aenter__(self) -> Self:
        opened = await drive_async(
            self._session,
            calls.claim(self._queue, self._session, self._scope, self._limit),
            table=self._queue.table,
            cancelled=lambda opened: opened.leave(asyncio.CancelledError()),
        )
        self._hold(opened)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        leaving = self._held().leave(error)
        await drive_async(self._session, leaving, table=self._queue.table, to_its_end=True)
