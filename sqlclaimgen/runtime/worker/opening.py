"""A worker's two kinds of connections, blocking and asyncio, and how they are opened."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import itertools
import os
import weakref
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar, cast

from sqlclaimgen.runtime.drivers.base import Session
from sqlclaimgen.runtime.drivers.opening import is_asyncio, is_of_another_thread
from sqlclaimgen.runtime.driving import session_of
from sqlclaimgen.runtime.errors import ClaimError, FaultKind, UnsupportedServer
from sqlclaimgen.runtime.queue import Queue
from sqlclaimgen.runtime.steps import Result, Step
from sqlclaimgen.runtime.worker.lanes import Lane, finished
from sqlclaimgen.runtime.worker.sessions import AsyncSession

T = TypeVar("T")

CLOSING = 2.0
"""Seconds that closing a connection may take before it is broken."""


_open: weakref.WeakValueDictionary[int, DriverSession] = weakref.WeakValueDictionary()
"""The sessions that are open in this process, by their connections."""


class DriverSession(AsyncSession):
    """A connection seen through its driver, blocking or not."""

    def __init__(self, queue: Queue[Any, Any, Any, Any], session: Any, limit: float) -> None:
        super().__init__(queue, session.dialect, limit)
        self._session = session

    def enter(self) -> None:
        """The connection is this session's. Raises ClaimError when it is another's, of any worker."""
        other = _open.get(id(self.connection))
        if other is not None and other.connection is self.connection:
            raise self.not_new("that it gave before, and that is in use")
        _open[id(self.connection)] = self

    def leave(self) -> None:
        """It is nobody's: it is closed from here on."""
        if _open.get(id(self.connection)) is self:
            del _open[id(self.connection)]

    def not_new(self, what: str) -> ClaimError:
        """The error for a connection that `connect` did not open."""
        return ClaimError(
            f"{self.queue.table}: `connect` gave a connection {what}. It must return a new connection each "
            "time: the worker needs several, opens them again after a loss, and closes them.",
            table=self.queue.table,
        )

    def fault(self, error: BaseException) -> FaultKind | None:
        if isinstance(error, ConnectionError):
            return FaultKind.LOST
        kind: FaultKind | None = self._session.fault(error)
        return kind

    @property
    def connection(self) -> Any:
        return self._session.connection

    @property
    def in_transaction(self) -> bool:
        return bool(self._session.in_transaction)

    @property
    def gone(self) -> bool:
        return bool(self._session.gone)

    def abort(self) -> None:
        with contextlib.suppress(Exception):  # it is closed
            self._session.abort()


class ThreadedSession(DriverSession):
    """A blocking driver's connection, on a thread of its own."""

    def __init__(
        self,
        queue: Queue[Any, Any, Any, Any],
        session: Session,
        lane: Lane,
        limit: float,
    ) -> None:
        super().__init__(queue, session, limit)
        self._lane = lane

    async def execute(self, step: Step) -> Result:
        return await self.call(lambda: self._session.execute(step))

    async def call(self, function: Callable[[], T]) -> T:
        future = self._lane.submit(function)
        await finished(future)
        return future.result()

    def prepare(self) -> None:
        """Set what the runtime relies on. On the connection's thread. Raises ClaimError for one that was
        closed before, or that another thread opened."""
        if self._session.broken:
            raise self.not_new("that is closed, or in a transaction that failed")
        try:
            self._session.prepare(self.limit)
        except Exception as error:
            if is_of_another_thread(error):
                raise self.not_new("that belongs to another thread") from error
            raise

    def submit(self, function: Callable[[], T]) -> Future[T]:
        return self._lane.submit(function)

    @property
    def aborted(self) -> bool:
        return self.in_transaction and bool(self._session.broken)

    async def close(self) -> None:
        if self.pid != os.getpid():
            return  # the parent's socket: closing it here would end the parent's session
        self.leave()
        if self.lost:
            self.abort()
        closing = self._lane.submit(self._session.close)
        self._lane.close()
        try:
            await asyncio.wait_for(finished(closing), CLOSING)
        except TimeoutError:
            self.abort()  # it is closed as soon as its thread is free


class NativeSession(DriverSession):
    """A psycopg AsyncConnection."""

    async def execute(self, step: Step) -> Result:
        found: Result = await self._session.execute(step)
        return found

    async def call(self, function: Callable[[], T]) -> T:
        return function()

    def submit(self, function: Callable[[], T]) -> Future[T]:
        raise TypeError("a plain handler cannot use an asyncio connection; make it `async`")

    @property
    def aborted(self) -> bool:
        return bool(self._session.aborted)

    async def close(self) -> None:
        if self.pid != os.getpid():
            return
        self.leave()
        if self.lost:
            self.abort()
        with contextlib.suppress(Exception):
            await asyncio.wait_for(self._session.close(), CLOSING)


_numbers = itertools.count(1)


async def open_session(
    queue: Queue[Any, Any, Any, Any], connect: Callable[[], Any], limit: float
) -> AsyncSession:
    """Open a connection of the worker's own and set it: UTC, READ COMMITTED and so on. Raises the
    driver's error, or TimeoutError when nobody answers within `limit` seconds."""
    lane = Lane(f"sqlclaimgen-{next(_numbers)}")
    connecting = lane.submit(connect)
    try:
        await asyncio.wait_for(finished(connecting), limit)
        connection = connecting.result()
        if inspect.isawaitable(connection):
            lane.close()
            return await _native(queue, await asyncio.wait_for(connection, limit), limit)
        threaded = ThreadedSession(queue, session_of(connection, table=queue.table), lane, limit)
    except BaseException:
        # a connection that comes too late, or that is no connection of ours, is not left open
        connecting.add_done_callback(_discard)
        lane.close()
        raise
    try:
        threaded.enter()
    except ClaimError:
        lane.close()
        raise
    try:
        await asyncio.wait_for(threaded.call(threaded.prepare), limit)
    except BaseException:
        threaded.lost = True
        await threaded.close()
        raise
    return threaded


async def _native(queue: Queue[Any, Any, Any, Any], connection: Any, limit: float) -> NativeSession:
    if not is_asyncio(connection):
        raise UnsupportedServer(
            f"{queue.table}: a {type(connection).__module__}.{type(connection).__qualname__} is no asyncio "
            "connection of psycopg (psycopg.AsyncConnection). Where `connect` opens one that blocks, it is "
            "a plain function: an AsyncWorker takes that too.",
            table=queue.table,
        )
    from sqlclaimgen.runtime.drivers.psycopg_async import AsyncPsycopgSession

    native = AsyncPsycopgSession(connection)
    session = NativeSession(queue, native, limit)
    session.enter()
    try:
        if connection.closed:
            raise session.not_new("that is closed")
        await asyncio.wait_for(native.prepare(), limit)
    except BaseException:
        session.lost = True
        await session.close()
        raise
    return session


def _discard(connecting: Future[Any]) -> None:
    if connecting.cancelled() or connecting.exception() is not None:
        return
    close = getattr(connecting.result(), "close", None)
    if callable(close):
        with contextlib.suppress(Exception):
            cast("Callable[[], object]", close)()
