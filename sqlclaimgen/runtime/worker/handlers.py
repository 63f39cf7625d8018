"""Running a team's handler: on a thread or in its event loop, with what it returns checked."""

from __future__ import annotations

import asyncio
import inspect
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from typing import Any, cast

from sqlclaimgen.runtime.deliveries import Delivery
from sqlclaimgen.runtime.outcomes import Ack, AnyOutcome
from sqlclaimgen.runtime.worker.lanes import Lanes
from sqlclaimgen.runtime.worker.sessions import AsyncSession

AnyDelivery = Delivery[Any, Any]


class HandlerCancelled(Exception):
    """An asyncio handler was cancelled: its row was lost, the worker had to stop, or its own code did."""


def checked(outcomes: tuple[type[Any], ...], returned: object) -> AnyOutcome:
    """What a handler returned, as an outcome. Raises TypeError for one that the table does not have:
    a failure of the handler like any other."""
    if returned is None:
        return Ack()
    if isinstance(returned, outcomes):
        return cast("AnyOutcome", returned)
    names = ", ".join(kind.__name__ for kind in outcomes)
    raise TypeError(
        f"the handler returned {returned!r}; it returns one of {names}, or None for an ack"
    )


class Running:
    """A handler at work."""

    def __init__(self, future: Future[Any], cancel: Callable[[], None] | None = None) -> None:
        self._future = future
        self._cancel = cancel

    async def result(self) -> Any:
        """What it returned. Raises what it raised; HandlerCancelled when it was cancelled, which is not
        to be mistaken for a cancellation of the worker."""
        ended = asyncio.wrap_future(self._future)
        await asyncio.wait({ended})
        if ended.cancelled():
            raise HandlerCancelled
        return ended.result()

    def cancel(self) -> None:
        """Ask an asyncio handler to stop. A thread cannot be stopped: it sees `delivery.lost`."""
        if self._cancel is not None:
            self._cancel()


class Runner(ABC):
    """Starts handlers."""

    @abstractmethod
    def start(self, delivery: AnyDelivery) -> Running:
        """Start the handler on a delivery."""

    @abstractmethod
    def start_on(self, session: AsyncSession, delivery: AnyDelivery) -> Running:
        """Start a transactional handler on a delivery and the connection of `session`, on the thread
        that the connection belongs to, where it belongs to one."""

    @abstractmethod
    def close(self) -> None:
        """Start no more."""


class ThreadRunner(Runner):
    """Plain handlers, on threads."""

    def __init__(self, handler: Callable[..., Any]) -> None:
        self._handler = handler
        self._lanes = Lanes("sqlclaimgen-handler")

    def start(self, delivery: AnyDelivery) -> Running:
        return Running(self._lanes.submit(lambda: self._handler(delivery)))

    def start_on(self, session: AsyncSession, delivery: AnyDelivery) -> Running:
        return Running(session.submit(lambda: self._handler(delivery, session.connection)))

    def close(self) -> None:
        self._lanes.close()


class LoopRunner(Runner):
    """`async` handlers, in the caller's event loop; plain ones on threads. The worker's own loop is
    another, so that a handler that blocks its loop stops no extension."""

    def __init__(self, handler: Callable[..., Any], loop: asyncio.AbstractEventLoop) -> None:
        self._handler = handler
        self._loop = loop
        self._plain = None if is_async(handler) else ThreadRunner(handler)

    def start(self, delivery: AnyDelivery) -> Running:
        if self._plain is not None:
            return self._plain.start(delivery)
        return self._scheduled(delivery)

    def start_on(self, session: AsyncSession, delivery: AnyDelivery) -> Running:
        if self._plain is not None:
            return self._plain.start_on(session, delivery)
        return self._scheduled(delivery, session.connection)

    def _scheduled(self, *arguments: Any) -> Running:
        future = asyncio.run_coroutine_threadsafe(self._run(arguments), self._loop)
        return Running(future, lambda: void(future.cancel()))

    async def _run(self, arguments: tuple[Any, ...]) -> Any:
        return await cast("Awaitable[Any]", self._handler(*arguments))

    def close(self) -> None:
        if self._plain is not None:
            self._plain.close()


def void(value: object) -> None:
    """Drop a value."""


def is_async(handler: Callable[..., Any]) -> bool:
    """Whether calling the handler gives something to await, also for an object with `async __call__`."""
    return inspect.iscoroutinefunction(handler) or inspect.iscoroutinefunction(
        getattr(handler, "__call__", None)  # noqa: B004
    )
