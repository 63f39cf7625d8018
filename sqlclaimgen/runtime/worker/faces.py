"""Worker and AsyncWorker: what a team's code starts."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Awaitable, Callable, Generator
from typing import Any, Generic, Literal, TypeVar, Unpack

from sqlclaimgen.runtime.errors import ClaimError
from sqlclaimgen.runtime.queue import Queue
from sqlclaimgen.runtime.worker import signals
from sqlclaimgen.runtime.worker.arguments import (
    ends_when_empty,
    opening,
    require_callable,
    require_fitting,
    require_queue,
    settings_of,
)
from sqlclaimgen.runtime.worker.core import Core
from sqlclaimgen.runtime.worker.events import log
from sqlclaimgen.runtime.worker.handlers import Runner, ThreadRunner, is_async, surrounded
from sqlclaimgen.runtime.worker.loop_handlers import LoopRunner
from sqlclaimgen.runtime.worker.running import CLEANING
from sqlclaimgen.runtime.worker.settings import Options

D = TypeVar("D")
O = TypeVar("O")


class _Face(Generic[D, O]):
    """What both workers have."""

    def __init__(
        self,
        queue: Queue[D, O, Any, Any],
        handler: Callable[..., Any],
        connect: Callable[[], Any],
        options: Options,
    ) -> None:
        require_queue(queue)
        self.queue = queue
        self.settings = settings_of(type(self).__name__, options)
        require_callable(handler, transactional=self.settings.transactional)
        require_fitting(queue, self.settings)
        if self.settings.around is not None and is_async(handler):
            raise TypeError(
                "`around` is for plain handlers, and this one is `async`: use `async with` in it"
            )
        self._handler = surrounded(handler, self.settings.around)
        self._connect = opening(connect)
        self._core: Core | None = None
        self._running = False
        self._ran = False
        self._stopped = False
        self._lock = threading.RLock()  # a signal's handler may come while its thread is inside

    def stop(self) -> None:
        """Drain: claim no more, keep extending, end when the handlers have, or when the time limit is
        over. A second call stops at once. From any thread, and from a handler.

        Before the first run it ends that run as soon as it begins; after a run it means nothing.
        """
        with self._lock:
            if self._core is not None:
                self._core.stop()
            elif self._running or not self._ran:
                self._stopped = True
            else:
                log.info("%s: stop() came after the run, and means nothing", self.queue.table)

    @contextlib.contextmanager
    def _started(self, runner: Runner, *, until_empty: bool) -> Generator[Core]:
        """One run, with the signals handled while the block runs. Raises ClaimError when one is
        going on."""
        with self._lock:
            if self._running:
                raise ClaimError(
                    f"{self.queue.table}: this worker runs already, and a worker runs once at a time. Make "
                    "another worker, or raise `concurrency`.",
                    table=self.queue.table,
                )
            self._running = True
        try:
            core = Core(self.queue, self.settings, self._connect, runner, until_empty=until_empty)
            with self._signals():
                with self._lock:
                    self._core = core
                    if self._stopped:
                        log.warning(
                            "%s: stop() was called before run(): nothing is claimed",
                            self.queue.table,
                        )
                        core.stop()
                core.start()
                yield core
        finally:
            with self._lock:
                self._core = None
                self._running = self._stopped = False
                self._ran = True

    @contextlib.contextmanager
    def _signals(self) -> Generator[None]:
        if not self.settings.signals:
            yield
            return
        with signals.heard(self.stop) as main:
            if not main:
                log.warning(
                    "%s: this worker runs off the main thread, where Python lets nobody handle signals: "
                    "SIGTERM and SIGINT drain it only while another worker of the process runs on the main "
                    "thread. Call stop() from a handler of your own, and pass signals=False.",
                    self.queue.table,
                )
            yield


class Worker(_Face[D, O]):
    """Claims rows and runs a plain handler on threads.

    `connect` opens a new connection at each call, the worker's own: three under a lease, whatever
    `concurrency` is, and one for each handler in the other forms. Handlers return one of the table's
    outcomes, or None for an ack; an exception is a failure under the table's retry policy. Options
    describes the rest.

    Raises TypeError, ValueError or ClaimError for what it cannot be called with.
    """

    def __init__(
        self,
        queue: Queue[D, O, Any, Any],
        handler: Callable[[D], O | None] | Callable[[D, Any], O | None],
        *,
        connect: Callable[[], Any],
        **options: Unpack[Options],
    ) -> None:
        if is_async(handler):
            raise TypeError("the handler is `async`; an AsyncWorker runs it")
        super().__init__(queue, handler, connect, options)

    def run(self, until: Literal["empty"] | None = None) -> None:
        """Work until stopped, or until nothing is due. SIGTERM and SIGINT drain when this runs on the
        main thread. Raises Unfinished when handlers were still running at the end, and ClaimError when
        it is running already."""
        until_empty = ends_when_empty(until)
        with self._started(ThreadRunner(self._handler), until_empty=until_empty) as core:
            _wait(core)
        core.ended.result()


def _wait(core: Core) -> None:
    """Wait so that signals are still handled: a plain wait on the main thread would hold them up. A
    KeyboardInterrupt, where the worker handles no signals, drains like one and is raised at the end."""
    over = threading.Event()
    core.ended.add_done_callback(lambda _: over.set())
    interrupted: KeyboardInterrupt | None = None
    while not over.is_set():
        try:
            # the loop is inside: an interrupt may be raised between two waits as well
            while not over.wait(0.2):
                pass
        except KeyboardInterrupt as error:
            interrupted = error
            core.stop()
    if interrupted is not None:
        raise interrupted


class AsyncWorker(_Face[D, O]):
    """Claims rows and runs an `async` handler in the caller's event loop, or a plain one on threads.

    `connect` gives a connection, or something to await for one (`psycopg.AsyncConnection.connect`).
    The rest is as with Worker. The handler of a row that was lost is cancelled.
    """

    def __init__(
        self,
        queue: Queue[D, O, Any, Any],
        handler: (
            Callable[[D], Awaitable[O | None]]
            | Callable[[D, Any], Awaitable[O | None]]
            | Callable[[D], O | None]
            | Callable[[D, Any], O | None]
        ),
        *,
        connect: Callable[[], Any],
        **options: Unpack[Options],
    ) -> None:
        options.setdefault("concurrency", 100)
        super().__init__(queue, handler, connect, options)

    async def run(self, until: Literal["empty"] | None = None) -> None:
        """Work until stopped, until nothing is due, or until the task is cancelled, which drains.
        Raises Unfinished when handlers were still running at the end."""
        until_empty = ends_when_empty(until)
        runner = LoopRunner(self._handler, asyncio.get_running_loop())
        with self._started(runner, until_empty=until_empty) as core:
            ended = asyncio.wrap_future(core.ended)
            cancelled: asyncio.CancelledError | None = None
            while not ended.done():
                try:
                    # short waits, so that a signal is handled while nothing happens in the loop
                    await asyncio.wait({ended}, timeout=0.2)
                except asyncio.CancelledError as error:
                    cancelled = error
                    core.stop()
            await runner.gone(CLEANING)
        if cancelled is not None:
            ended.exception()
            raise cancelled
        ended.result()
