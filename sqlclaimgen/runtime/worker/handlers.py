"""Running a team's handler, on a thread here, with what it returns checked."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Coroutine
from datetime import timedelta
from typing import Any, cast

from sqlclaimgen.runtime.deliveries import Delivery
from sqlclaimgen.runtime.outcomes import Ack, AnyOutcome, DeadLetter, Retry, RetryAfter
from sqlclaimgen.runtime.worker.guarding import commits_refused
from sqlclaimgen.runtime.worker.lanes import Lanes
from sqlclaimgen.runtime.worker.running import Running
from sqlclaimgen.runtime.worker.sessions import AsyncSession

AnyDelivery = Delivery[Any, Any]
Awaiting = Coroutine[Any, Any, Any]


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


def surrounded(
    handler: Callable[..., Any], around: Callable[[Any], Any] | None
) -> Callable[..., Any]:
    """The handler, run inside what `around` gives for its delivery."""
    if around is None:
        return handler

    def run(delivery: AnyDelivery, *connection: Any) -> Any:
        with around(delivery):
            return handler(delivery, *connection)

    return run
