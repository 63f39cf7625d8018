"""A worker's own thread and event loop: what both faces start, stop and wait for."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import replace
from typing import Any

from sqlclaimgen.runtime.clock import Reading
from sqlclaimgen.runtime.errors import ClaimError
from sqlclaimgen.runtime.protocols.held_forms import held_form_of
from sqlclaimgen.runtime.queue import Queue
from sqlclaimgen.runtime.worker import checks, waking
from sqlclaimgen.runtime.worker.connecting import Connector
from sqlclaimgen.runtime.worker.events import EventKind, Reporter
from sqlclaimgen.runtime.worker.handlers import Runner
from sqlclaimgen.runtime.worker.held_engine import HeldEngine
from sqlclaimgen.runtime.worker.lease_engine import LeaseEngine
from sqlclaimgen.runtime.worker.listening import Listener
from sqlclaimgen.runtime.worker.settings import Settings
from sqlclaimgen.runtime.worker.waking import Alarm


class Unfinished(ClaimError):
    """Handlers were still running when the drain's time limit was over. `rows` are the ids of their rows."""

    def __init__(self, text: str, *, table: str, rows: Sequence[Any] = ()) -> None:
        super().__init__(text, table=table)
        self.rows = tuple(rows)

    @classmethod
    def of(cls, table: str, rows: Sequence[Any]) -> Unfinished:
        """The error for these rows."""
        named = ", ".join(repr(id) for id in rows[:10])
        more = f" and {len(rows) - 10} more" if len(rows) > 10 else ""
        return cls(
            f"{table} {named}{more}: handlers were still running when the worker had to end. A row whose "
            "handler has ended since is due again; one whose handler runs on stays held until it ends, or "
            "the process does. Give the worker a longer `drain_timeout`, or let handlers look at "
            "`delivery.lost`.",
            table=table,
            rows=rows,
        )


class Core:
    """One run of a worker. Its loop is not the handlers': a handler that blocks stops no extension."""

    def __init__(
        self,
        queue: Queue[Any, Any, Any, Any],
        settings: Settings,
        connect: Callable[[], Any],
        runner: Runner,
        *,
        until_empty: bool,
    ) -> None:
        # every connection of a worker leads to one database: they share what its clock said
        self._queue = replace(queue, reading=Reading()) if queue.database_clock else queue
        self._settings = settings
        self._connect = connect
        self._runner = runner
        self._until_empty = until_empty
        self._report = Reporter(queue.table, settings.on_event)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._main: asyncio.Task[None] | None = None
        self._running: LeaseEngine | HeldEngine | None = None
        self._asked = 0
        self._lock = threading.RLock()  # a signal's handler may come while its thread is inside
        self.ended: Future[None] = Future()
        """Done when the run has ended; raises what ended it."""

    def start(self) -> None:
        """Start the thread."""
        threading.Thread(target=self._run, name="sqlclaimgen-worker", daemon=True).start()

    def stop(self) -> None:
        """Drain: claim no more, let handlers end within the time limit. A second call stops at once.
        From any thread, and from a signal handler."""
        with self._lock:
            self._asked += 1
            loop, asked = self._loop, self._asked
        if loop is not None:
            try:
                loop.call_soon_threadsafe(self._stopping, asked)
            except RuntimeError:
                return  # ended already

    def _stopping(self, asked: int) -> None:
        if self._stop is not None:
            self._stop.set()
        if asked > 1 and self._main is not None:
            self._main.cancel()

    def _run(self) -> None:
        try:
            asyncio.run(self._work())
        except BaseException as error:
            self._end(error)

    def _end(self, error: BaseException | None) -> None:
        if self.ended.done():
            return
        if error is None:
            self.ended.set_result(None)
        else:
            self.ended.set_exception(error)

    async def _work(self) -> None:
        self._stop = asyncio.Event()
        self._main = asyncio.ensure_future(self._engine_run(self._stop))
        with self._lock:
            self._loop = asyncio.get_running_loop()
            asked = self._asked
        if asked:
            self._stopping(asked)
        await asyncio.wait({self._main})
        error = self._ended_by()
        self._runner.close()
        self._report(EventKind.STOPPED, error=error)
        self._end(error)
        if self._running is not None:
            await self._overrun(self._running)

    def _ended_by(self) -> BaseException | None:
        """What ended the run: SystemExit, or its like, that a handler raised; an error; or a time limit."""
        engine, main = self._running, self._main
        if engine is not None and engine.ended_by is not None:
            return engine.ended_by
        if main is not None and not main.cancelled() and main.exception() is not None:
            return main.exception()
        if engine is None or not engine.unfinished:
            return None
        return Unfinished.of(self._queue.table, engine.unfinished)

    async def _overrun(self, engine: LeaseEngine | HeldEngine) -> None:
        """Hold the rows of handlers that run on, with the thread and the connections that takes, while
        the process lives. It waits for nobody: the run is over."""
        watching = asyncio.ensure_future(self._deserted(asyncio.Event()))
        try:
            await engine.overrun()
        finally:
            watching.cancel()

    async def _engine_run(self, stop: asyncio.Event) -> None:
        alarm = Alarm(asyncio.get_running_loop())
        waking.register(self._queue.table, alarm)
        connector = Connector(
            self._queue.table,
            self._connect,
            self._settings,
            stop.set,
            in_loop=self._runner.in_loop,
            until_empty=self._until_empty,
        )
        beside: list[asyncio.Future[None]] = []
        try:
            if self._settings.check:
                await self._checked(connector, stop)
            if not stop.is_set():
                beside.append(asyncio.ensure_future(self._tell(connector, stop)))
                if (
                    self._settings.notify
                    and self._queue.channel is not None
                    and not self._until_empty
                ):
                    listener = Listener(self._queue, connector, self._settings, self._report, alarm)
                    beside.append(asyncio.ensure_future(listener.run()))
                beside.append(asyncio.ensure_future(self._deserted(stop)))
                self._running = self._engine(connector, alarm, stop)
                await self._running.run(until_empty=self._until_empty)
            if connector.fatal is not None:
                raise connector.fatal
        finally:
            waking.unregister(self._queue.table, alarm)
            for task in beside:
                task.cancel()
            await asyncio.gather(*beside, return_exceptions=True)

    async def _deserted(self, stop: asyncio.Event) -> None:
        """Stop when the handlers' loop has ended: nobody would run what is claimed."""
        while not self._runner.deserted():
            await asyncio.sleep(0.5)
        stop.set()

    async def _checked(self, connector: Connector, stop: asyncio.Event) -> None:
        """Look at the server; after a stop no longer than the drain's time limit."""
        checking = asyncio.ensure_future(
            checks.run(self._queue, self._settings, connector, self._report, stop)
        )
        stopping = asyncio.ensure_future(stop.wait())
        try:
            await asyncio.wait({checking, stopping}, return_when=asyncio.FIRST_COMPLETED)
            await asyncio.wait({checking}, timeout=self._settings.drain_timeout)
            if checking.done():
                checking.result()
        finally:
            stopping.cancel()
            checking.cancel()
            await asyncio.gather(checking, return_exceptions=True)

    async def _tell(self, connector: Connector, stop: asyncio.Event) -> None:
        """Report when claiming begins, and when it ends."""
        await connector.connected.wait()
        self._report(EventKind.READY)
        await stop.wait()
        self._report(EventKind.DRAINING, seconds=self._settings.drain_timeout)

    def _engine(
        self, connector: Connector, alarm: Alarm, stop: asyncio.Event
    ) -> LeaseEngine | HeldEngine:
        form = held_form_of(self._queue)
        shared = (self._settings, self._runner, connector, self._report, alarm, stop)
        if form is None:
            return LeaseEngine(self._queue, *shared)
        return HeldEngine(self._queue, form, *shared)
