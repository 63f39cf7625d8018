"""A worker's connections, each for one purpose, opened again after a loss."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

from sqlclaimgen.runtime.backoff import Backoff
from sqlclaimgen.runtime.errors import ClaimError, FaultKind, StatementFailed
from sqlclaimgen.runtime.queue import Bound, Queue
from sqlclaimgen.runtime.steps import Protocol
from sqlclaimgen.runtime.worker.connecting import CONNECT, Connector
from sqlclaimgen.runtime.worker.events import EventKind, Reporter
from sqlclaimgen.runtime.worker.opening import open_session
from sqlclaimgen.runtime.worker.sessions import AsyncSession
from sqlclaimgen.runtime.worker.settings import Settings

T = TypeVar("T")


class Line:
    """One connection and its successors.

    `limit`: seconds for each statement, where the settings' own are too many. `most`: likewise for the
    longest wait between two tries.
    """

    def __init__(
        self,
        queue: Queue[Any, Any, Any, Any],
        connect: Callable[[], Any],
        settings: Settings,
        report: Reporter,
        *,
        limit: float | None = None,
        most: float | None = None,
    ) -> None:
        self._queue = queue
        self._connect = connect
        self._report = report
        self._limit = min(settings.statement_timeout, limit or settings.statement_timeout)
        self._session: AsyncSession | None = None
        self._backoff = Backoff(0.05, min(settings.max_backoff, most or settings.max_backoff))
        self._turn = asyncio.Lock()

    @property
    def session(self) -> AsyncSession | None:
        """The session that is open, if one is."""
        found = self._session
        return None if found is None or found.lost else found

    async def open(self) -> AsyncSession:
        """The open session, or a new one. Raises StatementFailed when none can be opened."""
        if self._session is not None and self._session.lost:
            await self.drop()
        if self._session is None:
            try:
                self._session = await open_session(self._queue, self._connect, self._limit)
                self._session.on_conflict = self._conflict
            except Exception as error:
                if isinstance(self._connect, Connector):
                    self._connect.failed(error)
                if isinstance(error, ClaimError):
                    raise
                raise StatementFailed(
                    f"{self._queue.table}: no connection: {error!r}. It is tried again.",
                    table=self._queue.table,
                    kind=FaultKind.LOST,
                    statement=CONNECT,
                ) from error
        return self._session

    async def drop(self) -> None:
        """Close the session, however broken it is."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def drive(self, protocol: Callable[[Bound], Protocol[T]]) -> T:
        """Run a protocol on the open session, or on a new one, after those before it. Raises what it
        raises."""
        async with self._turn:
            session = await self.open()
            try:
                value = await session.drive(protocol(session.bound))
            except Exception as error:
                if _breaks(error):
                    await self.drop()
                raise
            self._backoff.reset()
            return value

    async def pause(self, error: BaseException, stop: asyncio.Event | None = None) -> None:
        """After an error: report it, drop the session where that is called for, wait with back-off,
        or until `stop`."""
        if _breaks(error):
            async with self._turn:
                await self.drop()
        self._report(trouble(error), error=error)
        await self.rest(stop)

    def _conflict(self, error: Exception) -> None:
        self._report(EventKind.CONFLICT, error=error)

    def worked(self) -> None:
        """What the line is for went well: the next wait after an error is a short one."""
        self._backoff.reset()

    async def rest(self, stop: asyncio.Event | None = None) -> None:
        """Wait with back-off, or until `stop`."""
        if stop is None:
            await asyncio.sleep(self._backoff.next())
            return
        try:
            await asyncio.wait_for(stop.wait(), self._backoff.next())
        except TimeoutError:
            return


def trouble(error: BaseException) -> EventKind:
    """The event for an error after which the same is tried again."""
    passes = isinstance(error, StatementFailed) and error.kind.passes
    return EventKind.CONFLICT if passes else EventKind.DISCONNECTED


def _breaks(error: BaseException) -> bool:
    """Whether a session is of no use after an error. A server that became read-only, as after a
    failover, refuses every write: only a new connection can lead elsewhere. A transaction that is
    aborted before it began was left behind by somebody: a new connection has none."""
    if isinstance(error, StatementFailed):
        return error.kind in (FaultKind.LOST, FaultKind.REFUSED, FaultKind.ABORTED)
    return not isinstance(error, ClaimError)
