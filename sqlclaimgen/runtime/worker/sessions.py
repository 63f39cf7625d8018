"""Connections of a worker: steps awaited, a limit on each, and a way to break one from outside."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import itertools
import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar, cast

from sqlclaimgen.runtime.codecs import CODECS
from sqlclaimgen.runtime.drivers.base import Session
from sqlclaimgen.runtime.driving import failure, session_of
from sqlclaimgen.runtime.errors import FaultKind
from sqlclaimgen.runtime.protocols import clocks
from sqlclaimgen.runtime.queue import Bound, Queue
from sqlclaimgen.runtime.steps import Close, Protocol, Result, Rollback, Step
from sqlclaimgen.runtime.worker.lanes import Lane, finished

T = TypeVar("T")

CLOSING = 2.0
"""Seconds that closing a connection may take before it is broken."""


class AsyncSession(ABC):
    """One connection of a worker's own."""

    def __init__(self, queue: Queue[Any, Any, Any, Any], dialect: str, limit: float) -> None:
        self.queue = queue
        self.bound: Bound = queue.bind(dialect)
        self.codec = CODECS[dialect]
        self.limit = limit
        self.lost = False
        self.pid = os.getpid()

    @abstractmethod
    async def execute(self, step: Step) -> Result:
        """Carry out one step, without a limit."""

    @abstractmethod
    def fault(self, error: BaseException) -> FaultKind | None:
        """What a driver's error means."""

    @property
    @abstractmethod
    def connection(self) -> Any:
        """The driver's connection."""

    @property
    @abstractmethod
    def in_transaction(self) -> bool:
        """Whether a transaction is open."""

    @property
    def aborted(self) -> bool:
        """Whether an error aborted the open transaction, which can only be rolled back (PostgreSQL)."""
        return False

    @property
    @abstractmethod
    def gone(self) -> bool:
        """Whether the server has closed the connection, found out beside the one who uses it. False
        where that cannot be seen."""

    @abstractmethod
    def abort(self) -> None:
        """Break the connection at once, also under a statement that waits. From any thread."""

    @abstractmethod
    async def close(self) -> None:
        """Close it, however broken it is."""

    @abstractmethod
    def submit(self, function: Callable[[], T]) -> Future[T]:
        """Start a function on the thread that the connection belongs to."""

    @abstractmethod
    async def call(self, function: Callable[[], T]) -> T:
        """Run a function on the thread that the connection belongs to."""

    async def drive(self, protocol: Protocol[T]) -> T:
        """Run a protocol to its end, as `_drive` does, the database's clock read before where the
        table asks for it."""
        if self.bound.needs_reading:
            await self._drive(clocks.read(self.bound, joined=self.in_transaction))
        return await self._drive(protocol)

    async def _drive(self, protocol: Protocol[T]) -> T:
        """Run a protocol to its end, each step within the limit. A driver's error, and a step that
        takes too long, reach it as StatementFailed; the session is then lost where that means so.
        A cancellation breaks the connection: nobody would read the answer."""
        result: Result | None = None
        error: BaseException | None = None
        while True:
            try:
                step = protocol.throw(error) if error else protocol.send(result)  # type: ignore[arg-type]
            except StopIteration as stop:
                value: T = stop.value
                return value
            result, error = None, None
            try:
                result = await self._limited(step)
            except BaseException as caught:
                error = self._translated(step, caught)

    def _translated(self, step: Step, caught: BaseException) -> BaseException:
        kind = FaultKind.LOST if isinstance(caught, TimeoutError) else self.fault(caught)
        if kind is None:
            return caught
        if kind is FaultKind.LOST:
            self.lost = True
        translated = failure(self.queue.table, step, caught, kind)
        translated.__cause__ = caught
        return translated

    async def _limited(self, step: Step) -> Result:
        ending = isinstance(step, Rollback | Close)
        if self.lost:
            if ending:
                return Result()  # the server ends what a lost session had open
            raise ConnectionError("the connection is lost")
        work = asyncio.ensure_future(self.execute(step))
        try:
            done, _ = await asyncio.wait({work}, timeout=self.limit)
        except asyncio.CancelledError:
            self._give_up(work)
            raise
        if done and not (ending and work.exception()):
            self.lost |= isinstance(step, Close)
            return work.result()
        self._give_up(work)
        if ending:
            return Result()
        raise TimeoutError(f"no answer within {self.limit:g} seconds")

    def _give_up(self, work: asyncio.Future[Result]) -> None:
        self.lost = True
        self.abort()
        work.add_done_callback(_forget)


def _forget(work: asyncio.Future[Any]) -> None:
    if not work.cancelled():
        work.exception()


class ThreadedSession(AsyncSession):
    """A blocking driver's connection, on a thread of its own."""

    def __init__(
        self,
        queue: Queue[Any, Any, Any, Any],
        session: Session,
        lane: Lane,
        limit: float,
    ) -> None:
        super().__init__(queue, session.dialect, limit)
        self._session = session
        self._lane = lane

    async def execute(self, step: Step) -> Result:
        return await self.call(lambda: self._session.execute(step))

    async def call(self, function: Callable[[], T]) -> T:
        future = self._lane.submit(function)
        await finished(future)
        return future.result()

    def prepare(self) -> None:
        """Set what the runtime relies on. On the connection's thread."""
        self._session.prepare(self.limit)

    def submit(self, function: Callable[[], T]) -> Future[T]:
        return self._lane.submit(function)

    def fault(self, error: BaseException) -> FaultKind | None:
        return FaultKind.LOST if isinstance(error, ConnectionError) else self._session.fault(error)

    @property
    def connection(self) -> Any:
        return self._session.connection

    @property
    def in_transaction(self) -> bool:
        return self._session.in_transaction

    @property
    def aborted(self) -> bool:
        return self._session.in_transaction and self._session.broken

    @property
    def gone(self) -> bool:
        return bool(self._session.gone)

    def abort(self) -> None:
        with contextlib.suppress(Exception):  # it is closed
            self._session.abort()

    async def close(self) -> None:
        if self.pid != os.getpid():
            return  # the parent's socket: closing it here would end the parent's session
        if self.lost:
            self.abort()
        closing = self._lane.submit(self._session.close)
        self._lane.close()
        try:
            await asyncio.wait_for(finished(closing), CLOSING)
        except TimeoutError:
            self.abort()  # it is closed as soon as its thread is free


class NativeSession(AsyncSession):
    """A psycopg AsyncConnection."""

    def __init__(self, queue: Queue[Any, Any, Any, Any], session: Any, limit: float) -> None:
        super().__init__(queue, session.dialect, limit)
        self._session = session

    async def execute(self, step: Step) -> Result:
        found: Result = await self._session.execute(step)
        return found

    async def call(self, function: Callable[[], T]) -> T:
        return function()

    def submit(self, function: Callable[[], T]) -> Future[T]:
        raise TypeError("a plain handler cannot use an asyncio connection; make it `async`")

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
    def aborted(self) -> bool:
        return bool(self._session.aborted)

    @property
    def gone(self) -> bool:
        return bool(self._session.gone)

    def abort(self) -> None:
        with contextlib.suppress(Exception):  # it is closed
            self._session.abort()

    async def close(self) -> None:
        if self.pid != os.getpid():
            return
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
        await asyncio.wait_for(threaded.call(threaded.prepare), limit)
    except BaseException:
        threaded.lost = True
        await threaded.close()
        raise
    return threaded


async def _native(queue: Queue[Any, Any, Any, Any], connection: Any, limit: float) -> NativeSession:
    from sqlclaimgen.runtime.drivers.psycopg_async import AsyncPsycopgSession

    native = AsyncPsycopgSession(connection)
    session = NativeSession(queue, native, limit)
    try:
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
