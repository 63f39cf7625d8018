"""A worker under test: run on a thread or in a loop, with its events and deliveries written down."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

from sqlclaimgen.runtime import AsyncWorker, Event, EventKind, Worker
from sqlclaimgen.runtime.worker.lanes import Lanes, finished

QUICK: dict[str, Any] = {
    "poll_interval": 0.05,
    "max_backoff": 0.2,
    "check": False,
    "notify": False,
    "signals": False,
}
"""What most tests set: short waits, no look at the server first."""


class Log:
    """The events of one or more workers, in their order. It is a worker's `on_event`."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self._changed = threading.Condition()

    def __call__(self, event: Event) -> None:
        with self._changed:
            self.events.append(event)
            self._changed.notify_all()

    def of(self, *kinds: EventKind) -> list[Event]:
        """The events of these kinds so far."""
        return [event for event in self.events if event.kind in kinds]

    def ids(self, *kinds: EventKind) -> list[Any]:
        """The rows of the events of these kinds."""
        return [event.id for event in self.of(*kinds)]

    @property
    def deliveries(self) -> list[tuple[Any, int | None]]:
        """Id and attempt of every handler that was started."""
        return [(event.id, event.attempt) for event in self.of(EventKind.STARTED)]

    @property
    def counts(self) -> Counter[str]:
        """How many events of each kind there were."""
        return Counter(event.kind.value for event in self.events)

    def wait_for(
        self, kind: EventKind, number: int = 1, *, since: int = 0, timeout: float = 30
    ) -> Event:
        """The `number`th event of a kind after the first `since` events, once it is there."""

        def found() -> list[Event]:
            return [event for event in self.events[since:] if event.kind is kind]

        with self._changed:
            if not self._changed.wait_for(lambda: len(found()) >= number, timeout):
                raise TimeoutError(f"no {kind.value} number {number}: {self.events}")
            return found()[number - 1]


class OnThread:
    """A worker that runs on a thread of its own, the asyncio one in a loop there."""

    def __init__(self, worker: Any, *, until: str | None = None) -> None:
        self.worker = worker
        self.error: BaseException | None = None
        self._until = until
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            if isinstance(self.worker, Worker):
                self.worker.run(self._until)  # type: ignore[arg-type]
            else:
                asyncio.run(self.worker.run(self._until))
        except BaseException as error:
            self.error = error

    def stop(self) -> None:
        """Drain; a second call stops at once."""
        self.worker.stop()

    def join(self, timeout: float = 30) -> None:
        """Wait for its end; raises what ended it, TimeoutError when it does not end."""
        self._thread.join(timeout)
        if self._thread.is_alive():
            raise TimeoutError("the worker does not end")
        if self.error is not None:
            raise self.error

    @property
    def running(self) -> bool:
        """Whether it has not ended."""
        return self._thread.is_alive()


@contextlib.contextmanager
def working(worker: Any) -> Iterator[OnThread]:
    """A worker at work while the block runs; drained at its end."""
    running = OnThread(worker)
    try:
        yield running
    finally:
        running.stop()
        try:
            running.join(30)
        except TimeoutError:
            running.stop()
            raise


def worker_of(
    face: str, stand: Any, handler: Callable[..., Any], *, module: Any = None, **options: Any
) -> Any:
    """A worker over a stand's table: `blocking`, `asyncio` over the blocking driver, or `native` over
    psycopg's AsyncConnection. The handler is a plain function; for the asyncio faces it is awaited."""
    settings = {**QUICK, "concurrency": 4, **options}
    queue = (module or stand.module).QUEUE
    if face == "blocking":
        return Worker(queue, handler, **{"connect": stand.connect, **settings})
    connect = stand.database.connect_async if face == "native" else stand.connect

    lanes = Lanes("test-handler")

    async def awaited(*arguments: Any) -> Any:
        # on a thread that nobody waits for: neither the loop nor its end is held up by the handler
        work = lanes.submit(lambda: handler(*arguments))
        await finished(work)
        return work.result()

    return AsyncWorker(queue, awaited, **{"connect": connect, **settings})


def leasing(module: Any, seconds: float) -> Any:
    """Give a module's queue another lease, also a part of a second."""
    module.QUEUE = dataclasses.replace(module.QUEUE, lease=timedelta(seconds=seconds))
    return module
