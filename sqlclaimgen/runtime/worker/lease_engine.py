"""The lease form at work: three connections for any number of handlers."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import time
from collections.abc import Callable, Coroutine
from typing import Any

from sqlclaimgen.runtime.errors import (
    LeaseLost,
    SettlementUnknown,
)
from sqlclaimgen.runtime.outcomes import AnyOutcome
from sqlclaimgen.runtime.protocols import lease
from sqlclaimgen.runtime.protocols.outcomes import due_at_once
from sqlclaimgen.runtime.protocols.scope import Scope
from sqlclaimgen.runtime.queue import Queue
from sqlclaimgen.runtime.worker import failures
from sqlclaimgen.runtime.worker.events import EventKind, Reporter
from sqlclaimgen.runtime.worker.extending import Extender
from sqlclaimgen.runtime.worker.handlers import HandlerCancelled, Runner, checked, stopped
from sqlclaimgen.runtime.worker.lease_claiming import Claimer
from sqlclaimgen.runtime.worker.lines import Line
from sqlclaimgen.runtime.worker.settings import Settings
from sqlclaimgen.runtime.worker.settling import Settler
from sqlclaimgen.runtime.worker.transactional import TransactionalHandlers
from sqlclaimgen.runtime.worker.waking import Alarm
from sqlclaimgen.runtime.worker.work import Hands, InWork, Lease, Turns

GRACE = 5.0
"""Seconds that giving rows back, and settlements under way, may take after the drain's time limit."""


class LeaseEngine:
    """Claims, hands out, settles and extends until it is stopped or, when asked, nothing is due."""

    def __init__(
        self,
        queue: Queue[Any, Any, Any, Any],
        settings: Settings,
        runner: Runner,
        connect: Callable[[], Any],
        report: Reporter,
        alarm: Alarm,
        stop: asyncio.Event,
    ) -> None:
        self._queue = queue
        self._settings = settings
        self._runner = runner
        self._report = report
        self._alarm = alarm
        self._stop = stop
        self.ended_by: BaseException | None = None
        """What a handler raised that is no failure of its own, SystemExit say: it ends the worker."""
        self._hands = Hands()
        self._tasks: set[asyncio.Task[None]] = set()
        self._turns = Turns()
        seconds = queue.lease.total_seconds() if queue.lease is not None else 30.0
        # a settlement or an extension that hangs for longer would cost the lease
        quick = functools.partial(
            Line, queue, connect, settings, report, limit=max(seconds / 4, 1.0), most=seconds / 10
        )
        self._claims, self._settles, self._extends = (
            Line(queue, connect, settings, report),
            quick(),
            quick(),
        )
        self._claimer = Claimer(
            self._claims, settings, report, alarm, stop, self._hands, seconds, self._begin
        )
        self._settler = Settler(self._settles)
        self._extender = Extender(
            self._extends,
            report,
            seconds,
            self._hands.now,
            stop if settings.check else None,
        )
        self._transactional: TransactionalHandlers | None = None
        if settings.transactional:
            make = functools.partial(Line, queue, connect, settings, report, most=seconds / 10)
            self._transactional = TransactionalHandlers(queue, runner, make, self._starts)

    @property
    def lines(self) -> tuple[Line, ...]:
        """The connections, as the price counts them."""
        return (self._claims, self._settles, self._extends)

    async def run(self, *, until_empty: bool) -> bool:
        """Work. Returns whether every handler ended before the drain's time limit."""
        claiming = asyncio.ensure_future(self._claimer.run(until_empty=until_empty))
        helpers = [
            asyncio.ensure_future(self._settler.run()),
            asyncio.ensure_future(self._extender.run()),
        ]
        stopping = asyncio.ensure_future(self._stop.wait())
        try:
            done, _ = await asyncio.wait(
                {claiming, stopping, *helpers}, return_when=asyncio.FIRST_COMPLETED
            )
            for task in done:
                task.result()  # a helper ends by an error of ours only: let it be seen
            clean = await self._drain(claiming)
            if claiming.done():
                claiming.result()
            if self._extender.apart is not None:
                raise self._extender.apart
            return clean
        finally:
            for item in self._hands.now():
                item.abandon()
                item.let_go()
            tasks = (claiming, stopping, *helpers, *self._tasks)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            closing: list[Coroutine[Any, Any, None]] = [line.drop() for line in self.lines]
            if self._transactional is not None:
                closing.append(self._transactional.close())
            await asyncio.gather(*closing)

    # -- one delivery --------------------------------------------------------------------------

    def _begin(self, delivery: Any, scope: Scope, extend_at: float) -> None:
        for other in self._hands.now():
            if other.delivery.id == delivery.id and not other.delivery.settled:
                # its lease had run out, and this is the claim that took it
                other.delivery.lost = True
        delivery.worked = self._transactional is not None
        item = InWork(delivery, scope.group, extend_at)
        self._hands.take(item)
        item.task = task = asyncio.ensure_future(self._deliver(item))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _deliver(self, item: InWork) -> None:
        key = self._partition(item.delivery)
        try:
            if key is not None:
                await self._turns.take(key)
            try:
                await self._handle(item)
            finally:
                if key is not None:
                    self._turns.leave(key)
        finally:
            self._hands.let_go(item)
            if item.delivery.lost and not (item.lost_told or item.abandoned):
                self._report(EventKind.LOST, **item.fields)

    def _partition(self, delivery: Lease) -> Any:
        field = self._queue.partition
        if field is None:
            return None
        value = delivery.raw[self._queue.index(field)]
        return None if value is None else (type(value), value)

    async def _handle(self, item: InWork) -> None:
        delivery = item.delivery
        if not item.is_live():
            return
        if not (self._stop.is_set() or delivery.overdue):
            try:
                outcome = await self._outcome(item)
            finally:
                item.ended = True
            if outcome is not None and not item.abandoned:
                self._settled(item, outcome, await self._settler.settle(item, outcome))
        if item.is_live() and not delivery.started:
            # its lease ended before it could start, or the worker stops: given back, not run
            await self._give_back([item])

    async def _outcome(self, item: InWork) -> AnyOutcome | None:
        """What is to be written; None when nothing is."""
        delivery = item.delivery
        failed = False
        try:
            outcome: AnyOutcome | None
            if self._transactional is not None:
                outcome = await self._transactional.run(item)
                if outcome is not None and delivery.settled:
                    self._settled(item, outcome, None)
            else:
                self._starts(item)
                item.running = self._runner.start(delivery)
                outcome = checked(self._queue.outcomes, await item.running.result())
        except asyncio.CancelledError:
            raise
        except BaseException as error:
            if delivery.lost or item.abandoned:
                return None
            if isinstance(error, HandlerCancelled) and await stopped(self._stop):
                # with the loop that it ran in: a shutdown is no failure of the handler
                await self._give_back([item])
                return None
            if not isinstance(error, Exception):
                self.ended_by = error  # SystemExit and its like: put the row back, and end
                self._stop.set()
            self._hands.failures += 1
            failed = True
            self._report(EventKind.FAILED, error=error, **item.fields)
            outcome = failures.outcome_of(self._queue, self._settings, delivery, error)
        else:
            self._hands.failures = 0
        if delivery.lost or item.abandoned or (delivery.settled and not delivery.joined):
            return None
        # a settlement of the handler's own that joined a transaction counts where that was committed:
        # then this one finds nothing
        item.own = delivery.settled and not failed
        return outcome and failures.effective(delivery, outcome)

    def _starts(self, item: InWork) -> None:
        item.delivery.started, item.started_at = True, time.monotonic()
        self._report(EventKind.STARTED, seconds=item.started_at - item.claimed_at, **item.fields)

    def _settled(self, item: InWork, outcome: AnyOutcome, error: Exception | None) -> None:
        fields = {**item.fields, "outcome": type(outcome).__name__}
        if item.own and isinstance(error, LeaseLost):
            item.lost_told, error = True, None
        if error is None:
            self._report(EventKind.SETTLED, seconds=item.seconds, **fields)
            if self._queue.fifo is not None and not (self._hands.failures or due_at_once(outcome)):
                self._alarm.ring()  # the group's next row is its head now
        elif isinstance(error, SettlementUnknown):
            self._report(EventKind.UNKNOWN, error=error, **fields)
            item.lost_told = True
        elif isinstance(error, LeaseLost):
            self._report(EventKind.LOST, error=error, **fields)
            item.lost_told = True
        else:
            self._report(EventKind.UNSETTLED, error=error, **fields)

    # -- the end -------------------------------------------------------------------------------

    async def _give_back(self, items: list[InWork]) -> None:
        """Give rows back, unstarted ones with their attempt. What another claim holds is passed over;
        where the database cannot be asked the leases give them back."""
        if not items:
            return
        deliveries = [item.delivery for item in items]
        while True:
            try:
                await self._settles.drive(functools.partial(lease.leave, deliveries=deliveries))
                break
            except Exception as error:
                # over a new connection too, until the leases give them back
                await self._settles.pause(error)
                if all(delivery.overdue for delivery in deliveries):
                    return
        for item in items:
            self._report(EventKind.GIVEN_BACK, **item.fields)

    async def _drain(self, claiming: asyncio.Future[None]) -> bool:
        """Let handlers end; extension goes on. After the time limit give their rows back."""
        deadline = time.monotonic() + self._settings.drain_timeout
        waiting = [
            item for item in self._hands.now() if item.is_live() and not item.delivery.started
        ]
        for item in waiting:
            item.abandon()
        giving = asyncio.ensure_future(self._give_back(waiting))
        try:
            while pending := {t for t in (claiming, giving, *self._tasks) if not t.done()}:
                left = deadline - time.monotonic()
                if left <= 0:
                    break
                await asyncio.wait(pending, timeout=left)
        finally:
            giving.cancel()
        running = [item for item in self._hands.now() if item.is_live() and not item.ended]
        for item in running:
            item.abandon()
        await self._within(GRACE, self._give_back(running), self._settlements(), self._last_forgo())
        unsettled = any(item.is_live() for item in self._hands.now())
        for item in running:
            item.let_go()
        return not (running or unsettled)

    async def _settlements(self) -> None:
        """Wait for the outcomes that are on their way."""
        while ended := [item.task for item in self._hands.now() if item.is_live() and item.task]:
            await asyncio.wait(ended)

    async def _last_forgo(self) -> None:
        try:
            await self._claimer.forgo()
        except Exception as error:
            self._report(EventKind.DISCONNECTED, error=error)

    async def _within(self, seconds: float, *work: Coroutine[Any, Any, None]) -> None:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(asyncio.gather(*work), seconds)
