"""The lease form at work: three connections for any number of handlers."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import time
from collections.abc import Awaitable, Callable
from typing import Any

from sqlclaimgen.runtime.protocols import lease
from sqlclaimgen.runtime.protocols.scope import Scope
from sqlclaimgen.runtime.queue import Queue
from sqlclaimgen.runtime.worker.events import EventKind, Reporter
from sqlclaimgen.runtime.worker.extending import Extender
from sqlclaimgen.runtime.worker.handlers import Runner
from sqlclaimgen.runtime.worker.lease_claiming import Claimer
from sqlclaimgen.runtime.worker.lease_delivery import LeaseDeliverer
from sqlclaimgen.runtime.worker.lines import Line, trouble
from sqlclaimgen.runtime.worker.overrun import Overrun
from sqlclaimgen.runtime.worker.settings import Settings
from sqlclaimgen.runtime.worker.settling import Settler
from sqlclaimgen.runtime.worker.waking import Alarm
from sqlclaimgen.runtime.worker.work import Hands, InWork, Lease

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
        self._settings = settings
        self._report = report
        self._stop = stop
        self._hands = Hands()
        self._tasks: set[asyncio.Task[None]] = set()
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
        self._deliverer = LeaseDeliverer(
            queue,
            settings,
            runner,
            report,
            alarm,
            stop,
            hands=self._hands,
            settler=self._settler,
            give_back=self._give_back,
            make=functools.partial(Line, queue, connect, settings, report, most=seconds / 10),
        )
        self._overrun = Overrun(queue, connect, settings, report, seconds)
        self.unfinished: list[Any] = []
        """The ids of rows whose handlers ran on at the end, or whose outcomes were not written."""

    @property
    def ended_by(self) -> BaseException | None:
        """What a handler raised that is no failure of its own, SystemExit say: it ends the worker."""
        return self._deliverer.ended_by

    @property
    def lines(self) -> tuple[Line, ...]:
        """The connections, as the price counts them."""
        return (self._claims, self._settles, self._extends)

    async def run(self, *, until_empty: bool) -> None:
        """Work, until what is left is held by `overrun` alone."""
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
            await self._drain(claiming)
            if claiming.done():
                claiming.result()
            if self._extender.apart is not None:
                raise self._extender.apart
        finally:
            self._overrun.add(self._running())
            unsettled = [item.delivery.id for item in self._hands.now() if item.is_live()]
            self.unfinished = [*self._overrun.ids, *unsettled]
            for item in self._hands.now():
                item.abandon()
                item.let_go()
            every: set[asyncio.Future[Any]] = {claiming, stopping, *helpers, *self._tasks}
            tasks = every - self._overrun.tasks
            for one in tasks:
                one.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await asyncio.gather(*(line.drop() for line in self.lines))

    async def overrun(self) -> None:
        """Hold the rows of handlers that run on until they end."""
        try:
            await self._overrun.hold()
        finally:
            await self._deliverer.close()

    def _running(self) -> list[InWork]:
        """What handlers are at work on."""
        return [
            item
            for item in self._hands.now()
            if item.is_live() and item.running is not None and not item.ended
        ]

    def _begin(self, delivery: Any, scope: Scope, extend_at: float) -> None:
        for other in self._hands.now():
            if other.delivery.id == delivery.id and not other.delivery.settled:
                # its lease had run out, and this is the claim that took it
                other.let_go()
        delivery.worked = self._settings.transactional
        item = InWork(delivery, scope.group, extend_at)
        self._hands.take(item)
        item.task = task = asyncio.ensure_future(self._deliverer.deliver(item))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # -- the end -------------------------------------------------------------------------------

    async def _give_back(self, items: list[InWork]) -> None:
        """Give rows back with their attempt. What another claim holds is passed over; where the
        database cannot be asked the leases give them back."""
        deliveries = [item.delivery for item in items]
        if deliveries and await self._left(deliveries):
            for item in items:
                self._report(EventKind.GIVEN_BACK, **item.fields)

    async def _left(self, deliveries: list[Lease]) -> bool:
        while True:
            try:
                await self._settles.drive(functools.partial(lease.give_back, deliveries=deliveries))
                return True
            except Exception as error:
                # over a new connection too, until the leases give them back
                await self._settles.pause(error)
                if all(delivery.overdue for delivery in deliveries):
                    return False

    async def _drain(self, claiming: asyncio.Future[None]) -> None:
        """Let handlers end; extension goes on. After the time limit their rows are held alone."""
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
            self._overrun.add(self._running())
            await self._within(
                GRACE, giving, self._overrun.begin(), self._settlements(), self._last_forgo()
            )
        finally:
            giving.cancel()

    async def _settlements(self) -> None:
        """Wait for the outcomes that are on their way."""
        while ended := [item.task for item in self._hands.now() if item.is_live() and item.task]:
            await asyncio.wait(ended)

    async def _last_forgo(self) -> None:
        try:
            await self._claimer.forgo()
        except Exception as error:
            self._report(trouble(error), error=error)

    async def _within(self, seconds: float, *work: Awaitable[None]) -> None:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(asyncio.gather(*work), seconds)
