"""`async` handlers, in the team's event loop."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, InvalidStateError
from typing import Any, cast

from sqlclaimgen.runtime.worker.guarding import commits_refused
from sqlclaimgen.runtime.worker.handlers import (
    AnyDelivery,
    Awaiting,
    Runner,
    ThreadRunner,
    is_async,
    void,
)
from sqlclaimgen.runtime.worker.running import HandlerCancelled, Running
from sqlclaimgen.runtime.worker.sessions import AsyncSession


class LoopRunner(Runner):
    """`async` handlers, in the caller's event loop; plain ones on threads. The worker's own loop is
    another, so that a handler that blocks its loop stops no extension."""

    def __init__(self, handler: Callable[..., Any], loop: asyncio.AbstractEventLoop) -> None:
        self._handler = handler
        self._loop = loop
        self._plain = None if is_async(handler) else ThreadRunner(handler, self._scheduled)
        self.in_loop = self._plain is None
        self._tasks: set[asyncio.Task[Any]] = set()
        self._unended: set[Future[Any]] = set()

    def start(self, delivery: AnyDelivery) -> Running:
        if self._plain is not None:
            return self._plain.start(delivery)
        return self._scheduled(self._run(delivery))

    def start_on(self, session: AsyncSession, delivery: AnyDelivery) -> Running:
        if self._plain is not None:
            return self._plain.start_on(session, delivery)
        return self._scheduled(self._run_on(session.connection, delivery))

    def _scheduled(self, work: Awaiting) -> Running:
        future: Future[Any] = Future()
        self._unended.add(future)
        future.add_done_callback(self._unended.discard)
        tasks: list[asyncio.Task[Any]] = []

        def begin() -> None:
            task = self._loop.create_task(work)
            tasks.append(task)
            self._tasks.add(task)
            task.add_done_callback(over)

        def over(task: asyncio.Task[Any]) -> None:
            self._tasks.discard(task)
            error = HandlerCancelled() if task.cancelled() else task.exception()
            if future.done():
                return
            if error is not None:
                future.set_exception(error)
            else:
                future.set_result(task.result())

        def cancel() -> None:
            for task in tasks:
                task.cancel()

        if not self._call(begin):
            work.close()
            _deserted(future)
        return Running(future, lambda: self._call(cancel))

    def _call(self, function: Callable[[], None]) -> bool:
        try:
            self._loop.call_soon_threadsafe(function)
        except RuntimeError:
            return False  # the team's loop has ended, and its handlers with it
        return True

    async def _run(self, delivery: AnyDelivery, *connection: Any) -> Any:
        void(delivery.row)
        return await cast("Awaitable[Any]", self._handler(delivery, *connection))

    async def _run_on(self, connection: Any, delivery: AnyDelivery) -> Any:
        with commits_refused(connection):
            return await self._run(delivery, connection)

    def deserted(self) -> bool:
        if not self._loop.is_closed():
            return False
        for future in list(self._unended):
            _deserted(future)
        return True

    async def gone(self, seconds: float) -> None:
        """Wait until cancelled handlers have cleaned up, at most so many seconds. In the team's loop."""
        if self._tasks:
            await asyncio.wait(set(self._tasks), timeout=seconds)

    def close(self) -> None:
        if self._plain is not None:
            self._plain.close()


def _deserted(future: Future[Any]) -> None:
    with contextlib.suppress(InvalidStateError):  # it has just ended
        future.set_exception(HandlerCancelled())
