"""Connections of a worker: steps awaited, a limit on each, and a way to break one from outside."""

from __future__ import annotations

import asyncio
import inspect
import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from sqlclaimgen.runtime.codecs import CODECS
from sqlclaimgen.runtime.drivers.base import Session
from sqlclaimgen.runtime.driving import failure, session_of
from sqlclaimgen.runtime.errors import FaultKind
from sqlclaimgen.runtime.queue import Bound, Queue
from sqlclaimgen.runtime.steps import Protocol, Result, Step
from sqlclaimgen.runtime.worker.lanes import Lane

T = TypeVar("T")


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
        """Run a protocol to its end, each step within the limit. A driver's error, and a step that
        takes too long, reach it as StatementFailed; the session is then lost where that means so."""
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
        if self.lost:
            raise ConnectionError("the connection is lost")
        # shielded: a worker that is cancelled must not leave a statement half read
        work = asyncio.ensure_future(self.execute(step))
        done, _ = await asyncio.wait({work}, timeout=self.limit)
        if done:
            return work.result()
        self.lost = True
        self.abort()
        work.add_done_callback(_forget)
        raise TimeoutError(f"no answer within {self.limit:g} seconds")


def _forget(work: asyncio.Future[Result]) -> None:
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
        return await asyncio.wrap_future(self._lane.submit(function))

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

    def abort(self) -> None:
        self._session.abort()

    async def close(self) -> None:
        if self.pid != os.getpid():
            return  # the parent's socket: closing it here would end the parent's session
        closing = asyncio.ensure_future(self.call(self._session.close))
        done, _ = await asyncio.wait({closing}, timeout=min(self.limit, 5))
        if not done:
            self._session.abort()
        closing.add_done_callback(_ignore)
        self._lane.close()


def _ignore(work: asyncio.Future[None]) -> None:
    if not work.cancelled():
        work.exception()


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

    def abort(self) -> None:
        self._session.abort()

    async def close(self) -> None:
        if self.pid == os.getpid():
            await self._session.close()


_numbers = iter(range(1, 1 << 62))
_numbering = threading.Lock()


async def open_session(
    queue: Queue[Any, Any, Any, Any], connect: Callable[[], Any], limit: float
) -> AsyncSession:
    """Open a connection of the worker's own and set it: UTC, READ COMMITTED and so on. Raises the
    driver's error, or TimeoutError when nobody answers within `limit` seconds."""
    with _numbering:
        number = next(_numbers)
    lane = Lane(f"sqlclaimgen-{number}")
    try:
        connection: Any = await asyncio.wait_for(asyncio.wrap_future(lane.submit(connect)), limit)
        if inspect.isawaitable(connection):
            lane.close()
            connection = await asyncio.wait_for(connection, limit)
            from sqlclaimgen.runtime.drivers.psycopg_async import AsyncPsycopgSession

            native = AsyncPsycopgSession(connection)
            await asyncio.wait_for(native.prepare(), limit)
            return NativeSession(queue, native, limit)
        session = session_of(connection, table=queue.table)
        threaded = ThreadedSession(queue, session, lane, limit)
        await asyncio.wait_for(threaded.call(session.prepare), limit)
        return threaded
    except BaseException:
        lane.close()
        raise
