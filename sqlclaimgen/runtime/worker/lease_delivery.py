"""What happens to one delivery of the lease form, from its turn to the answer to its settlement."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

from sqlclaimgen.runtime.errors import LeaseLost, SettlementUnknown
from sqlclaimgen.runtime.outcomes import AnyOutcome
from sqlclaimgen.runtime.protocols import exhausted
from sqlclaimgen.runtime.protocols.outcomes import due_at_once
from sqlclaimgen.runtime.queue import Queue
from sqlclaimgen.runtime.worker import failures, timing
from sqlclaimgen.runtime.worker.events import EventKind, Reporter
from sqlclaimgen.runtime.worker.handlers import Runner, checked
from sqlclaimgen.runtime.worker.lines import Line
from sqlclaimgen.runtime.worker.running import ENDS, HandlerCancelled, stopped
from sqlclaimgen.runtime.worker.settings import Settings
from sqlclaimgen.runtime.worker.settling import Settler
from sqlclaimgen.runtime.worker.transactional import TransactionalHandlers
from sqlclaimgen.runtime.worker.waking import Alarm
from sqlclaimgen.runtime.worker.work import Hands, InWork, Lease, Turns, lost


class LeaseDeliverer:
    """Runs the handler on a row, and has its outcome written. `give_back` gives rows back unsettled;
    `make` makes a line for a transactional handler."""

    def __init__(
        self,
        queue: Queue[Any, Any, Any, Any],
        settings: Settings,
        runner: Runner,
        report: Reporter,
        alarm: Alarm,
        stop: asyncio.Event,
        *,
        hands: Hands,
        settler: Settler,
        give_back: Callable[[list[InWork]], Awaitable[None]],
        make: Callable[[], Line],
    ) -> None:
        self._queue = queue
        self._settings = settings
        self._runner = runner
        self._report = report
        self._alarm = alarm
        self._stop = stop
        self._hands = hands
        self._settler = settler
        self._give_back = give_back
        self._turns = Turns()
        self._transactional: TransactionalHandlers | None = None
        if settings.transactional:
            self._transactional = TransactionalHandlers(
                queue, runner, make, self._starts, self._failed, report
            )
        self.ended_by: BaseException | None = None
        """What a handler raised that is no failure of its own, SystemExit say: it ends the worker."""

    async def close(self) -> None:
        """Close the connections of transactional handlers."""
        if self._transactional is not None:
            await self._transactional.close()

    async def deliver(self, item: InWork) -> None:
        """Carry a delivery to its end, whatever that is."""
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
                self._report(EventKind.LOST, error=lost(item), **item.fields)

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
                item.stop_timing()
            if outcome is not None and not item.abandoned:
                self._settled(item, outcome, await self._settler.settle(item, outcome))
        if item.is_live() and not delivery.started:
            # its lease ended before it could start, or the worker stops: given back, not run
            await self._give_back([item])

    async def _outcome(self, item: InWork) -> AnyOutcome | None:
        """What is to be written; None when nothing is."""
        delivery = item.delivery
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
            outcome = await self._failed(item, error)
        if not item.failed:
            self._hands.failures = 0
        if delivery.lost or item.abandoned or (delivery.settled and not delivery.joined):
            return None
        # a settlement of the handler's own that joined a transaction counts where that was committed:
        # then this one finds nothing
        item.own = delivery.settled and not item.failed
        return outcome and exhausted.effective(delivery, outcome)

    async def _failed(self, item: InWork, error: BaseException) -> AnyOutcome | None:
        """The outcome of what the handler raised; None when nothing is to be written."""
        if item.delivery.lost or item.abandoned:
            return None
        error = timing.why(item, self._settings, error, HandlerCancelled)
        if isinstance(error, HandlerCancelled) and await stopped(self._stop):
            # with the loop that it ran in: a shutdown is no failure of the handler
            await self._give_back([item])
            return None
        if isinstance(error, ENDS):
            self.ended_by = error  # SystemExit and its like: put the row back, and end
            self._stop.set()
        self._hands.failures += 1
        item.failed = True
        self._report(EventKind.FAILED, error=error, **item.fields)
        return failures.outcome_of(self._queue, self._settings, item.delivery, error)

    def _starts(self, item: InWork) -> None:
        item.delivery.started, item.started_at = True, time.monotonic()
        item.stop_timing = timing.limited(item, self._settings, self._report)
        self._report(EventKind.STARTED, seconds=item.started_at - item.claimed_at, **item.fields)

    def _settled(self, item: InWork, outcome: AnyOutcome, error: Exception | None) -> None:
        fields = {**item.fields, "outcome": type(outcome).__name__}
        if item.own and isinstance(error, LeaseLost):
            # the handler's own counted, whatever it was
            item.lost_told, error = True, None
            del fields["outcome"]
        if error is None:
            self._report(EventKind.SETTLED, seconds=item.seconds, **fields)
            if self._queue.fifo is not None and not (self._hands.failures or due_at_once(outcome)):
                self._alarm.ring()  # the group's next row is its head now
        elif isinstance(error, SettlementUnknown):
            self._report(EventKind.UNKNOWN, error=error, **fields)
            item.lost_told = True
        elif isinstance(error, LeaseLost):
            if not item.lost_told:
                self._report(EventKind.LOST, error=error, **fields)
            item.lost_told = True
        else:
            self._report(EventKind.UNSETTLED, error=error, **fields)
