"""The row lock and advisory forms at work: slots that claim, each over a connection of its own."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterable
from typing import Any

from sqlclaimgen.runtime.errors import ClaimError, UnsupportedServer
from sqlclaimgen.runtime.protocols.held import HeldForm
from sqlclaimgen.runtime.protocols.scope import Scope
from sqlclaimgen.runtime.queue import Queue
from sqlclaimgen.runtime.worker.events import EventKind, Reporter, unsettled
from sqlclaimgen.runtime.worker.handlers import Runner
from sqlclaimgen.runtime.worker.held_delivery import HeldDeliverer
from sqlclaimgen.runtime.worker.held_gate import Gate
from sqlclaimgen.runtime.worker.held_rows import HeldRows
from sqlclaimgen.runtime.worker.held_slots import Slots
from sqlclaimgen.runtime.worker.held_work import Turn, Work
from sqlclaimgen.runtime.worker.lines import Line
from sqlclaimgen.runtime.worker.scopes import Scopes
from sqlclaimgen.runtime.worker.sessions import AsyncSession
from sqlclaimgen.runtime.worker.settings import Settings
from sqlclaimgen.runtime.worker.waking import Alarm
from sqlclaimgen.runtime.worker.work import Turns

GRACE = 5.0
"""Seconds that giving rows back, and settlements under way, may take after the drain's time limit."""


class HeldEngine:
    """A slot for each handler: a connection that claims a row, holds it, and settles it."""

    def __init__(
        self,
        queue: Queue[Any, Any, Any, Any],
        form: HeldForm,
        settings: Settings,
        runner: Runner,
        connect: Callable[[], Any],
        report: Reporter,
        alarm: Alarm,
        stop: asyncio.Event,
    ) -> None:
        self._queue = queue
        self._form = form
        self._settings = settings
        self._report = report
        self._stop = stop
        number = settings.concurrency
        self._lines = [Line(queue, connect, settings, report) for _ in range(number)]
        self._slots = Slots(number)
        self._tasks: list[asyncio.Task[None]] = []
        self._opened = asyncio.Event()
        """A slot was opened."""
        self._gate = Gate(alarm, stop, settings.poll_interval, number, report)
        self._rows = HeldRows(form, report, settings.max_backoff)
        self._deliverer = HeldDeliverer(
            queue,
            form,
            settings,
            runner,
            report,
            alarm,
            stop,
            rows=self._rows,
            slots=self._slots,
            gate=self._gate,
        )
        self._resume: dict[Scope, Any] | None = None
        """Where claims go on, for all slots; None: each has its own."""
        self.unfinished: list[Any] = []
        """The ids of rows whose handlers ran on at the end, or whose outcomes were not written."""
        self._turns = Turns()
        # rows of one partition key begin in the order in which they were claimed
        self._claiming: Any = (
            contextlib.nullcontext() if queue.partition is None else asyncio.Lock()
        )

    @property
    def ended_by(self) -> BaseException | None:
        """What a handler raised that is no failure of its own, SystemExit say: it ends the worker."""
        return self._deliverer.ended_by

    async def run(self, *, until_empty: bool) -> None:
        """Work, until what is left is held by `overrun` alone."""
        self._slots.until_empty = until_empty
        if self._form.frees_others and not until_empty:
            # slots take turns while nothing is found; a slot that tells the end has looked at all by itself
            self._resume = {}
        self._open_slot()
        stopping = asyncio.ensure_future(self._stop.wait())
        seen: set[asyncio.Future[Any]] = set()
        try:
            while (pending := {*self._tasks} - seen) and not self._stop.is_set():
                self._opened.clear()
                opened = asyncio.ensure_future(self._opened.wait())
                done, _ = await asyncio.wait(
                    {*pending, stopping, opened}, return_when=asyncio.FIRST_COMPLETED
                )
                opened.cancel()
                seen |= done & pending
                for task in done & pending:
                    task.result()
            if pending:
                await asyncio.wait(pending, timeout=self._settings.drain_timeout)
            self._deliverer.over.set()
            over = [asyncio.ensure_future(work.over.wait()) for work in self._deliverer.works]
            if over:
                await asyncio.wait(over, timeout=GRACE)
        finally:
            stopping.cancel()
            self._stop.set()
            self._deliverer.over.set()
            left = self._deliverer.works
            self.unfinished = [work.delivery.id for work in {*self._deliverer.overrun, *left}]
            # a row stays held while a handler is at work on it
            kept = {work.line for work in left if work.handled}
            await self._ended([n for n, line in enumerate(self._lines) if line not in kept])

    async def overrun(self) -> None:
        """Hold the rows of handlers that run on until they end."""
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._ended(range(len(self._lines)))

    async def _ended(self, numbers: Iterable[int]) -> None:
        """End slots, and close their connections, which give up what they hold."""
        tasks = [self._tasks[number] for number in numbers if number < len(self._tasks)]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.gather(*(self._lines[number].drop() for number in numbers))

    def _open_slot(self, *, taking: int = 0) -> None:
        """One more slot, and with it a connection, unless one is free or all are open. `taking`: slots
        that are about to have a row."""
        number = len(self._tasks)
        if number < len(self._lines) and self._slots.taken + taking >= number:
            self._tasks.append(asyncio.ensure_future(self._slot(self._lines[number])))
            self._opened.set()

    async def _slot(self, line: Line) -> None:
        scopes: Scopes | None = None
        slots = self._slots
        whole = True  # the look before was not broken off
        while not (self._stop.is_set() or slots.over.is_set()):
            slots.ended.clear()
            idle = (
                whole and not slots.busy
            )  # before the claim: what ends during it may be due again
            try:
                session = await line.open()
                scopes = scopes or Scopes(session.bound, self._settings.groups, self._resume)
                with slots.looking():
                    work = await self._next(line, session, scopes)
            except Exception as error:
                if type(error) is ClaimError or isinstance(error, UnsupportedServer):
                    raise  # the worker was called wrongly; waiting mends nothing
                whole = False
                await line.pause(error, self._stop)
                continue
            whole = True
            if work is not None:
                self._open_slot(taking=1)
                await self._deliverer.deliver(work)
                continue
            line.worked()
            if slots.until_empty:
                await slots.after_nothing(self._settings.poll_interval, self._stop, idle=idle)

    async def _next(self, line: Line, session: AsyncSession, scopes: Scopes) -> Work | None:
        while True:
            async with self._claiming, self._gate.turn(waits=not self._slots.until_empty):
                if self._stop.is_set():
                    return None
                finds, more = self._gate.finds, False
                for scope in scopes.round():
                    work, more = await self._claim(line, session, scopes, scope)
                    if work is not None or more:
                        self._gate.found()
                        if work is not None:
                            return work
                        break
                if not more:
                    self._gate.nothing(finds)
                    return None

    async def _claim(
        self, line: Line, session: AsyncSession, scopes: Scopes, scope: Scope
    ) -> tuple[Work | None, bool]:
        """One row, or whether rows were moved or others were faster: it looks again at once then."""
        started = time.monotonic()
        while True:
            claiming = self._form.claim_one(session.bound, scope, self._rows.memory)
            taken = await session.drive(claiming)
            scopes.went_on(scope, taken.resume)
            # a run until empty reads all due rows of a group; else that is for the next poll
            if not (taken.unread and self._slots.until_empty) or taken.full or self._stop.is_set():
                break
            scope = scope.resuming(taken.resume)
        if taken.exhausted:
            self._report(EventKind.EXHAUSTED, count=taken.exhausted, group=scope.group)
        for refused in taken.refused:
            unsettled(self._report, refused, scope.group)
        if not taken.deliveries:
            return None, taken.full
        if self._rows.memory.aside.holds(taken.deliveries[0]):
            # it was left out after this claim was sent
            await session.drive(self._form.abandon(taken.deliveries[0]))
            return None, True
        spent = time.monotonic() - started
        self._report(EventKind.CLAIMED, count=1, group=scope.group, seconds=spent)
        work = Work(taken.deliveries[0], scope.group, line, session)
        work.delivery.connection = session.connection
        work.delivery.worked = True
        field = self._queue.partition
        value = None if field is None else work.delivery.raw[self._queue.index(field)]
        if value is not None:
            work.turn = Turn(self._turns, (type(value), value))
        return work, False
