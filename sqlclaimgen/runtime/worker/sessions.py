"""Connections of a worker: steps awaited, a limit on each, and a way to break one from outside."""

from __future__ import annotations

import asyncio
import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from sqlclaimgen.runtime.codecs import CODECS
from sqlclaimgen.runtime.driving import failure
from sqlclaimgen.runtime.errors import FaultKind
from sqlclaimgen.runtime.protocols import clocks
from sqlclaimgen.runtime.queue import Bound, Queue
from sqlclaimgen.runtime.steps import Close, Pause, Protocol, Result, Rollback, Step

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
        self.on_conflict: Callable[[Exception], None] | None = None
        """Told of each conflict after which a protocol tries again."""

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
        # an aborted transaction can only be rolled back, and for that nobody needs the time
        if self.bound.needs_reading and not self.aborted:
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
            if isinstance(step, Pause):
                if step.conflict is not None and self.on_conflict is not None:
                    self.on_conflict(step.conflict)
                await asyncio.sleep(step.seconds)
                result = Result()
                continue
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
