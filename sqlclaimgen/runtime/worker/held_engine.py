"""The row lock and advisory forms at work: one connection for each delivery in work."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

from sqlclaimgen.runtime.deliveries import Delivery
from sqlclaimgen.runtime.errors import ClaimError, SettlementUnknown, StatementFailed
from sqlclaimgen.runtime.outcomes import AnyOutcome
from sqlclaimgen.runtime.protocols.held import HeldForm, Memory
from sqlclaimgen.runtime.protocols.scope import Scope
from sqlclaimgen.runtime.queue import Queue
from sqlclaimgen.runtime.steps import Protocol, Run
from sqlclaimgen.runtime.worker import failures
from sqlclaimgen.runtime.worker.events import EventKind, Reporter
from sqlclaimgen.runtime.worker.handlers import Runner, Running, checked
from sqlclaimgen.runtime.worker.lines import Line
from sqlclaimgen.runtime.worker.scopes import Scopes
from sqlclaimgen.runtime.worker.sessions import AsyncSession
from sqlclaimgen.runtime.worker.settings import Settings
from sqlclaimgen.runtime.worker.waking import Alarm

AnyDelivery = Delivery[Any, Any]

CHECK_EVERY = 10.0
"""Seconds between two looks at a connection that holds a row."""


def ping() -> Protocol[None]:
    """Ask whether the session is still there."""
    yield Run("ping", "SELECT 1", {})


class Gate:
    """Lets slots claim as they like while rows come, and one at a time, at the poll interval, while
    none does."""

    def __init__(self, alarm: Alarm, stop: asyncio.Event, poll: float, report: Reporter) -> None:
        self._alarm = alarm
        self._stop = stop
        self._poll = poll
        self._report = report
        self._lock = asyncio.Lock()
        self._hot = True

    @property
    def hot(self) -> bool:
        """Whether rows come."""
        return self._hot

    @contextlib.asynccontextmanager
    async def turn(self, *, waits: bool) -> AsyncIterator[None]:
        """A claim's turn. `waits`: after an empty claim, not before the poll interval is over."""
        if self.hot or not waits:
            self._alarm.hush()
            yield
            return
        async with self._lock:
            # another slot may have found rows meanwhile
            if not self._stop.is_set() and not self.hot:
                started = time.monotonic()
                ringing = asyncio.ensure_future(self._alarm.wait(self._poll))
                stopping = asyncio.ensure_future(self._stop.wait())
                try:
                    await asyncio.wait({ringing, stopping}, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    ringing.cancel()
                    stopping.cancel()
                self._report(EventKind.WAITED, seconds=time.monotonic() - started)
            self._alarm.hush()
            yield

    def found(self, some: bool) -> None:
        """What a claim brought."""
        self._hot = some


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
        self._runner = runner
        self._report = report
        self._stop = stop
        self._alarm = alarm
        self._lines = [Line(queue, connect, settings, report) for _ in range(settings.concurrency)]
        self._gate = Gate(alarm, stop, settings.poll_interval, report)
        self._memory = Memory()
        self._busy = 0
        self._ended = asyncio.Event()
        self._failures = 0

    async def run(self, *, until_empty: bool) -> bool:
        """Work. Returns whether every handler ended before the drain's time limit."""
        slots = [asyncio.ensure_future(self._slot(line, until_empty)) for line in self._lines]
        stopping = asyncio.ensure_future(self._stop.wait())
        clean = True
        try:
            pending: set[asyncio.Future[Any]] = set(slots)
            while pending and not self._stop.is_set():
                done, _ = await asyncio.wait(
                    {*pending, stopping}, return_when=asyncio.FIRST_COMPLETED
                )
                for task in done - {stopping}:
                    task.result()
                pending -= done
            if pending:
                _, left = await asyncio.wait(pending, timeout=self._settings.drain_timeout)
                clean = not left
        finally:
            for task in (*slots, stopping):
                task.cancel()
            await asyncio.gather(*slots, stopping, return_exceptions=True)
            for line in self._lines:
                # a connection that is closed gives up what it holds
                await line.drop()
        return clean

    async def _slot(self, line: Line, until_empty: bool) -> None:
        scopes: Scopes | None = None
        while not self._stop.is_set():
            try:
                session = await line.open()
                scopes = scopes or Scopes(session.bound, self._settings.groups)
                delivery = await self._next(session, scopes, waits=not until_empty)
            except ClaimError as error:
                if type(error) is ClaimError:
                    raise  # the worker was called wrongly; waiting mends nothing
                await line.pause(error, self._stop)
                continue
            except asyncio.CancelledError:
                raise
            except Exception as error:
                await line.pause(error, self._stop)
                continue
            if delivery is None:
                if until_empty and self._busy == 0:
                    return
                if until_empty:
                    self._ended.clear()
                    with contextlib.suppress(TimeoutError):
                        await asyncio.wait_for(self._ended.wait(), self._settings.poll_interval)
                continue
            self._busy += 1
            self._memory.deliveries.append(delivery[0])
            try:
                await self._deliver(line, session, *delivery)
            finally:
                self._memory.deliveries.remove(delivery[0])
                self._busy -= 1
                self._ended.set()

    async def _next(
        self, session: AsyncSession, scopes: Scopes, *, waits: bool
    ) -> tuple[AnyDelivery, Scope] | None:
        async with self._gate.turn(waits=waits):
            if self._stop.is_set():
                return None
            for scope in scopes.round():
                started = time.monotonic()
                taken = await session.drive(
                    self._form.claim_one(session.bound, scope, self._memory)
                )
                scopes.went_on(scope, taken.resume)
                if taken.exhausted:
                    self._report(EventKind.EXHAUSTED, count=taken.exhausted, group=scope.group)
                if taken.deliveries:
                    spent = time.monotonic() - started
                    self._report(EventKind.CLAIMED, count=1, group=scope.group, seconds=spent)
                    self._gate.found(self._failures < self._settings.concurrency)
                    return taken.deliveries[0], scope
                if taken.full:
                    # rows were moved, or others were faster: look again at once
                    self._gate.found(True)
                    return None
            self._gate.found(False)
            self._failures = 0
            return None

    # -- one delivery --------------------------------------------------------------------------

    async def _deliver(
        self, line: Line, session: AsyncSession, delivery: AnyDelivery, scope: Scope
    ) -> None:
        fields: dict[str, Any] = {
            "id": delivery.id,
            "attempt": delivery.number,
            "group": scope.group,
        }
        delivery.connection = session.connection
        if self._stop.is_set():
            await self._abandon(line, session, delivery)
            self._report(EventKind.GIVEN_BACK, **fields)
            return
        started = time.monotonic()
        try:
            outcome = await self._outcome(session, delivery, fields)
        except asyncio.CancelledError:
            delivery.lost = True
            session.abort()
            raise
        if delivery.lost:
            self._report(EventKind.LOST, **fields)
            await line.drop()
            return
        if outcome is None:
            await self._abandon(line, session, delivery)
            return
        try:
            await session.drive(self._form.finish(delivery, outcome))
        except SettlementUnknown as error:
            self._report(EventKind.UNKNOWN, error=error, **fields)
            await line.drop()
        except ClaimError as error:
            self._failures += 1
            delivery.lost = True
            self._report(EventKind.LOST, error=error, **fields)
            await line.drop()
        else:
            self._report(
                EventKind.SETTLED,
                outcome=type(outcome).__name__,
                seconds=time.monotonic() - started,
                **fields,
            )

    async def _outcome(
        self, session: AsyncSession, delivery: AnyDelivery, fields: dict[str, Any]
    ) -> AnyOutcome | None:
        delivery.started = True
        try:
            row = delivery.row  # decoded here: a row that does not decode is a failure of its own
            del row
            self._report(EventKind.STARTED, seconds=0.0, **fields)
            if self._settings.transactional:
                await session.drive(self._form.opened(delivery))
                running = self._runner.start_on(session, delivery)
                returned = await running.result()
                outcome = checked(self._queue.outcomes, returned)
                if not self._form.commits_with(outcome):
                    await session.drive(self._form.undone(delivery))
            else:
                running = self._runner.start(delivery)
                returned = await self._watched(session, delivery, running)
                outcome = checked(self._queue.outcomes, returned)
        except asyncio.CancelledError:
            raise
        except BaseException as error:
            if delivery.lost:
                return None
            self._failures += 1
            self._report(EventKind.FAILED, error=error, **fields)
            if not isinstance(error, Exception):
                self._stop.set()
            if self._settings.transactional and not await self._undo(session, delivery):
                return None
            return failures.outcome_of(self._queue, self._settings, delivery.number, error)
        self._failures = 0
        return outcome

    async def _undo(self, session: AsyncSession, delivery: AnyDelivery) -> bool:
        try:
            await session.drive(self._form.undone(delivery))
        except ClaimError:
            delivery.lost = True
            return False
        return True

    async def _watched(self, session: AsyncSession, delivery: AnyDelivery, running: Running) -> Any:
        """The handler's result, with a look at the connection every CHECK_EVERY seconds."""
        ended = asyncio.ensure_future(running.result())
        try:
            while not ended.done():
                await asyncio.wait({ended}, timeout=CHECK_EVERY)
                if ended.done():
                    break
                try:
                    await session.drive(ping())
                except StatementFailed as error:
                    delivery.lost = True
                    running.cancel()
                    self._report(
                        EventKind.LOST, id=delivery.id, attempt=delivery.number, error=error
                    )
                    break
            return await ended
        finally:
            ended.cancel()

    async def _abandon(self, line: Line, session: AsyncSession, delivery: AnyDelivery) -> None:
        try:
            await session.drive(self._form.abandon(delivery))
        except ClaimError as error:
            # closing the connection gives it up as well
            self._report(EventKind.DISCONNECTED, error=error)
            await line.drop()
