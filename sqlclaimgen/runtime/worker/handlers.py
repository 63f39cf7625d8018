"""Running a team's handler: on a thread or in its event loop, with what it returns checked."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future, InvalidStateError
from datetime import timedelta
from typing import Any, cast

from sqlclaimgen.runtime.deliveries import Delivery
from sqlclaimgen.runtime.outcomes import Ack, AnyOutcome, DeadLetter, Retry, RetryAfter
from sqlclaimgen.runtime.worker.guarding import commits_refused
from sqlclaimgen.runtime.worker.lanes import Lanes, finished
from sqlclaimgen.runtime.worker.sessions import AsyncSession

AnyDelivery = Delivery[Any, Any]
Awaiting = Coroutine[Any, Any, Any]

MOMENT = 1.0
"""Seconds."""


class HandlerCancelled(Exception):
    """An asyncio handler was cancelled: its row was lost, the worker had to stop, or its own code did."""


def checked(outcomes: tuple[type[Any], ...], returned: object) -> AnyOutcome:
    """What a handler returned, as an outcome. Raises TypeError for one that the table does not have,
    or that nobody could write down: a failure of the handler like any other."""
    if returned is None:
        return Ack()
    if isinstance(returned, outcomes) and _writable(returned):
        return cast("AnyOutcome", returned)
    names = ", ".join(kind.__name__ for kind in outcomes)
    raise TypeError(
        f"the handler returned {returned!r}; it returns one of {names}, or None for an ack"
    )


def _writable(outcome: object) -> bool:
    match outcome:
        case RetryAfter(delay, error):
            return isinstance(cast("object", delay), timedelta) and _text(error)
        case Retry(error):
            return _text(error)
        case DeadLetter(reason, error):
            return isinstance(cast("object", reason), str) and _text(error)
        case _:
            return True


def _text(value: object) -> bool:
    return value is None or isinstance(value, str)


async def stopped(stop: asyncio.Event) -> bool:
    """Whether the worker stops now, or within a moment: the end of an event loop cancels its handlers
    and the worker's own task in any order."""
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(stop.wait(), MOMENT)
    return stop.is_set()


class Running:
    """A handler at work."""

    def __init__(self, future: Future[Any], cancel: Callable[[], object] | None = None) -> None:
        self._future = future
        self._cancel = cancel

    async def ended(self) -> None:
        """Wait until it has ended, however."""
        await finished(self._future)

    async def result(self) -> Any:
        """What it returned, once it has ended. Raises what it raised; HandlerCancelled when it was
        cancelled, which is not to be mistaken for a cancellation of the worker."""
        await finished(self._future)
        error = self._future.exception()
        if isinstance(error, asyncio.CancelledError):
            raise HandlerCancelled from error
        if isinstance(error, StopIteration):
            # a coroutine cannot raise it
            raise RuntimeError("the handler raised StopIteration") from error
        if error is not None:
            raise error
        return self._future.result()

    def wait(self) -> Any:
        """What it returned, for a thread that waits for it. Raises what it raised."""
        return self._future.result()

    def cancel(self) -> None:
        """Ask an asyncio handler to stop. A thread cannot be stopped: it sees `delivery.lost`."""
        if self._cancel is not None:
            self._cancel()


class Runner(ABC):
    """Starts handlers."""

    in_loop: bool = False
    """Whether they run in the team's event loop, where no blocking connection can be used."""

    @abstractmethod
    def start(self, delivery: AnyDelivery) -> Running:
        """Start the handler on a delivery."""

    @abstractmethod
    def start_on(self, session: AsyncSession, delivery: AnyDelivery) -> Running:
        """Start a transactional handler on a delivery and the connection of `session`, on the thread
        that the connection belongs to, where it belongs to one."""

    def deserted(self) -> bool:
        """Whether the loop that handlers run in has ended. Those that were at work are cancelled."""
        return False

    @abstractmethod
    def close(self) -> None:
        """Start no more."""


class ThreadRunner(Runner):
    """Plain handlers, on threads. What belongs to the team runs there, the decoding of the row
    included, and nothing of it on the worker's own loop. `schedule` is for what they return to be
    awaited."""

    def __init__(
        self, handler: Callable[..., Any], schedule: Callable[[Awaiting], Running] | None = None
    ) -> None:
        self._handler = handler
        self._schedule = schedule
        self._lanes = Lanes("sqlclaimgen-handler")

    def start(self, delivery: AnyDelivery) -> Running:
        inner: list[Running] = []
        return Running(self._lanes.submit(lambda: self._run(inner, delivery)), _cancelling(inner))

    def start_on(self, session: AsyncSession, delivery: AnyDelivery) -> Running:
        inner: list[Running] = []

        def work() -> Any:
            with commits_refused(session.connection):
                return self._run(inner, delivery, session.connection)

        return Running(session.submit(work), _cancelling(inner))

    def _run(self, inner: list[Running], delivery: AnyDelivery, *connection: Any) -> Any:
        void(delivery.row)  # a row that does not decode is a failure of its own
        value = self._handler(delivery, *connection)
        if not inspect.isawaitable(value):
            return value
        if self._schedule is None:
            if inspect.iscoroutine(value):
                value.close()
            raise TypeError(f"the handler returned {value!r} to await; an AsyncWorker awaits it")
        inner.append(self._schedule(value if inspect.iscoroutine(value) else _awaited(value)))
        return inner[0].wait()

    def close(self) -> None:
        self._lanes.close()


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


def _cancelling(inner: list[Running]) -> Callable[[], None]:
    """Cancels what a plain handler waits for, if it does."""

    def cancel() -> None:
        for running in inner:
            running.cancel()

    return cancel


async def _awaited(value: Awaitable[Any]) -> Any:
    return await value


def void(value: object) -> None:
    """Drop a value."""


def is_async(handler: Callable[..., Any]) -> bool:
    """Whether calling the handler gives something to await, also for an object with `async __call__`."""
    return inspect.iscoroutinefunction(handler) or inspect.iscoroutinefunction(
        getattr(handler, "__call__", None)  # noqa: B004
    )
