"""The lease form at work: three connections for any number of handlers."""

from __future__ import annotations

import asyncio
import functools
import time
from collections.abc import Callable
from typing import Any

from sqlclaimgen.runtime.errors import ClaimError, LeaseLost, RowInvalid, SettlementUnknown
from sqlclaimgen.runtime.outcomes import AnyOutcome
from sqlclaimgen.runtime.protocols import lease
from sqlclaimgen.runtime.protocols.scope import Scope
from sqlclaimgen.runtime.protocols.taken import Taken
from sqlclaimgen.runtime.queue import Queue
from sqlclaimgen.runtime.worker import failures
from sqlclaimgen.runtime.worker.events import EventKind, Reporter
from sqlclaimgen.runtime.worker.extending import Extender
from sqlclaimgen.runtime.worker.handlers import Runner, checked
from sqlclaimgen.runtime.worker.lines import Line
from sqlclaimgen.runtime.worker.scopes import Scopes
from sqlclaimgen.runtime.worker.settings import Settings
from sqlclaimgen.runtime.worker.settling import Settler
from sqlclaimgen.runtime.worker.transactional import TransactionalHandlers
from sqlclaimgen.runtime.worker.waking import Alarm
from sqlclaimgen.runtime.worker.work import InWork, Lease, Turns


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
        self._connect = connect
        self._claims, self._settles, self._extends = (
            Line(queue, connect, settings, report) for _ in range(3)
        )
        self._work: dict[int, InWork] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._freed = asyncio.Event()
        self._turns = Turns()
        self._failures = 0
        self._settler = Settler(self._settles, report, stop, settings.max_backoff)
        seconds = queue.lease.total_seconds() if queue.lease is not None else 30.0
        self._half = seconds / 2
        self._extender = Extender(self._extends, report, seconds, lambda: list(self._work.values()))
        self._transactional = (
            TransactionalHandlers(queue, connect, settings, runner, report)
            if settings.transactional
            else None
        )

    @property
    def lines(self) -> tuple[Line, ...]:
        """The connections, as the price counts them."""
        return (self._claims, self._settles, self._extends)

    async def run(self, *, until_empty: bool) -> bool:
        """Work. Returns whether every handler ended before the drain's time limit."""
        helpers = [
            asyncio.ensure_future(self._settler.run()),
            asyncio.ensure_future(self._extender.run()),
        ]
        try:
            claiming = asyncio.ensure_future(self._claim_loop(until_empty))
            done, _ = await asyncio.wait({claiming, *helpers}, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()  # a helper ends by an error of ours only: let it be seen
            return await self._drain()
        finally:
            for task in (claiming, *helpers, *self._tasks):
                task.cancel()
            await asyncio.gather(claiming, *helpers, *self._tasks, return_exceptions=True)
            if self._transactional is not None:
                await self._transactional.close()
            for line in self.lines:
                await line.drop()

    # -- claiming ------------------------------------------------------------------------------

    async def _claim_loop(self, until_empty: bool) -> None:
        scopes: Scopes | None = None
        while not self._stop.is_set():
            free = self._settings.concurrency - len(self._work)
            if free <= 0:
                await self._wait_for_room()
                continue
            self._alarm.hush()
            try:
                if scopes is None:
                    scopes = Scopes((await self._claims.open()).bound, self._settings.groups)
                taken, full = await self._claim_round(scopes, free)
            except ClaimError as error:
                if type(error) is ClaimError:
                    raise  # the worker was called wrongly; waiting mends nothing
                await self._claims.pause(error, self._stop)
                await self._forgo(error)
                continue
            except asyncio.CancelledError:
                raise
            except Exception as error:
                await self._claims.pause(error, self._stop)
                continue
            if until_empty and not taken and not self._work:
                return
            if full and self._failures < max(taken, 1):
                continue
            self._failures = 0
            await self._idle(until_empty)

    async def _wait_for_room(self) -> None:
        self._freed.clear()
        if len(self._work) >= self._settings.concurrency:
            await self._first(self._freed.wait(), self._stop.wait())

    async def _idle(self, until_empty: bool) -> None:
        started = time.monotonic()
        if until_empty and self._work:
            # what is in work may come back due: look again as soon as one of them is settled
            self._freed.clear()
            await self._first(self._freed.wait(), self._stop.wait())
            return
        await self._first(self._alarm.wait(self._settings.poll_interval), self._stop.wait())
        self._report(EventKind.WAITED, seconds=time.monotonic() - started)

    async def _first(self, *waits: Any) -> None:
        tasks = [asyncio.ensure_future(wait) for wait in waits]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()

    async def _claim_round(self, scopes: Scopes, free: int) -> tuple[int, bool]:
        """Claim from each scope in its turn until the handlers are busy. Returns how many rows came,
        and whether more may be due."""
        total, full = 0, False
        for scope in scopes.round():
            limit = free - total
            started = time.monotonic()
            taken: Taken = await self._claims.drive(
                functools.partial(lease.claim, scope=scope, limit=limit)
            )
            if taken.exhausted:
                self._report(EventKind.EXHAUSTED, count=taken.exhausted, group=scope.group)
            if taken.deliveries:
                spent = time.monotonic() - started
                self._report(
                    EventKind.CLAIMED, count=len(taken.deliveries), group=scope.group, seconds=spent
                )
            for delivery in taken.deliveries:
                # half a lease after the claim was sent, not after it was answered
                self._begin(delivery, scope, started + self._half)
            total += len(taken.deliveries)
            full = full or taken.full
            if total >= free or self._stop.is_set():
                break
        return total, full

    async def _forgo(self, error: ClaimError) -> None:
        """Give back what a claim may hold whose COMMIT got no answer, by its token."""
        taken = getattr(error, "unanswered", None)
        if not isinstance(taken, Taken) or not taken.deliveries:
            return
        deliveries: Any = taken.deliveries
        try:
            await self._claims.drive(lambda bound: lease.leave(bound, deliveries))
        except Exception as again:
            self._report(EventKind.DISCONNECTED, error=again)  # their leases give them back

    # -- one delivery --------------------------------------------------------------------------

    def _begin(self, delivery: Any, scope: Scope, extend_at: float) -> None:
        item = InWork(delivery, scope.group, extend_at)
        self._work[id(item)] = item
        task = asyncio.ensure_future(self._deliver(item))
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
            self._work.pop(id(item), None)
            self._freed.set()

    def _partition(self, delivery: Lease) -> Any:
        field = self._queue.partition
        if field is None:
            return None
        value = delivery.raw[self._queue.index(field)]
        return None if value is None else (type(value), value)

    async def _handle(self, item: InWork) -> None:
        delivery = item.delivery
        if self._stop.is_set() or delivery.lost or delivery.overdue:
            # its lease ended before it started, or the worker stops: given back, not run
            await self._give_back([item])
            return
        outcome = await self._outcome(item)
        if item.abandoned:
            return
        if outcome is None or delivery.settled:
            return
        error = await self._settler.settle(item, outcome)
        self._settled(item, outcome, error)

    async def _outcome(self, item: InWork) -> AnyOutcome | None:
        """What the handler's end comes to; None when nothing is to be written."""
        delivery = item.delivery
        delivery.started = True
        item.started_at = time.monotonic()
        fields: dict[str, Any] = {
            "id": delivery.id,
            "attempt": delivery.number,
            "group": item.group,
        }
        try:
            row = delivery.row  # decoded here: a row that does not decode is a failure of its own
            del row
            self._report(EventKind.STARTED, seconds=item.started_at - item.claimed_at, **fields)
            if self._transactional is not None:
                outcome = await self._transactional.run(item)
                if delivery.settled:
                    self._settled(item, outcome, None)
                    return None
            else:
                item.running = self._runner.start(delivery)
                outcome = checked(self._queue.outcomes, await item.running.result())
        except LeaseLost:
            return None
        except SettlementUnknown as unknown:
            self._report(EventKind.UNKNOWN, error=unknown, **fields)
            return None
        except asyncio.CancelledError:
            raise
        except BaseException as error:
            if delivery.lost or item.abandoned:
                return None
            self._failures += 1
            self._report(EventKind.FAILED, error=error, **fields)
            if not isinstance(error, Exception) and not isinstance(error, RowInvalid):
                self._stop.set()  # SystemExit and its like: put the row back, and end
            return failures.outcome_of(self._queue, self._settings, delivery.number, error)
        self._failures = 0
        return None if delivery.lost else outcome

    def _settled(self, item: InWork, outcome: AnyOutcome, error: ClaimError | None) -> None:
        delivery = item.delivery
        fields: dict[str, Any] = {
            "id": delivery.id,
            "attempt": delivery.number,
            "group": item.group,
            "outcome": type(outcome).__name__,
        }
        if error is None:
            self._report(EventKind.SETTLED, seconds=item.seconds, **fields)
        elif isinstance(error, SettlementUnknown):
            self._report(EventKind.UNKNOWN, error=error, **fields)
        else:
            item.lost_told = True
            delivery.lost = True
            self._report(EventKind.LOST, error=error, **fields)

    # -- the end -------------------------------------------------------------------------------

    async def _give_back(self, items: list[InWork]) -> None:
        chosen = [item for item in items if not (item.delivery.lost or item.delivery.settled)]
        if not chosen:
            return
        deliveries = [item.delivery for item in chosen]
        try:
            await self._settles.drive(lambda bound: lease.leave(bound, deliveries))
        except Exception as error:
            # the lease gives it back
            self._report(EventKind.DISCONNECTED, error=error)
            return
        for item in chosen:
            self._report(EventKind.GIVEN_BACK, id=item.delivery.id, attempt=item.delivery.number)

    async def _drain(self) -> bool:
        """Let handlers end; extension goes on. After the time limit give their rows back."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=self._settings.drain_timeout)
        left = [item for item in self._work.values() if not item.delivery.settled]
        for item in left:
            item.abandoned = True
        await self._give_back(left)
        for item in left:
            item.delivery.lost = True
            if item.running is not None:
                item.running.cancel()
        return not left
