"""What happens to one delivery of the row lock and advisory forms, from its start to its settlement."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from sqlclaimgen.runtime.errors import (
    ClaimError,
    FaultKind,
    SettlementUnknown,
    StatementFailed,
    WriteIgnored,
)
from sqlclaimgen.runtime.outcomes import AnyOutcome
from sqlclaimgen.runtime.protocols import exhausted
from sqlclaimgen.runtime.protocols.held import HeldForm
from sqlclaimgen.runtime.protocols.outcomes import due_at_once, is_passing
from sqlclaimgen.runtime.protocols.transaction import jitter
from sqlclaimgen.runtime.queue import Queue
from sqlclaimgen.runtime.worker import failures, timing
from sqlclaimgen.runtime.worker.conflicts import RUNS, conflict_of
from sqlclaimgen.runtime.worker.events import EventKind, Reporter
from sqlclaimgen.runtime.worker.guarding import require_open
from sqlclaimgen.runtime.worker.handlers import Runner, checked
from sqlclaimgen.runtime.worker.held_gate import Gate
from sqlclaimgen.runtime.worker.held_rows import HeldRows
from sqlclaimgen.runtime.worker.held_slots import Slots
from sqlclaimgen.runtime.worker.held_work import Work
from sqlclaimgen.runtime.worker.lines import trouble
from sqlclaimgen.runtime.worker.running import CLEANING, ENDS, HandlerCancelled, stopped
from sqlclaimgen.runtime.worker.settings import Settings
from sqlclaimgen.runtime.worker.waking import Alarm


class HeldDeliverer:
    """Runs the handler on a row that is held, and settles it over the connection that holds it."""

    def __init__(
        self,
        queue: Queue[Any, Any, Any, Any],
        form: HeldForm,
        settings: Settings,
        runner: Runner,
        report: Reporter,
        alarm: Alarm,
        stop: asyncio.Event,
        *,
        rows: HeldRows,
        slots: Slots,
        gate: Gate,
    ) -> None:
        self._queue = queue
        self._form = form
        self._settings = settings
        self._runner = runner
        self._report = report
        self._alarm = alarm
        self._stop = stop
        self._rows = rows
        self._slots = slots
        self._gate = gate
        self.ended_by: BaseException | None = None
        """What a handler raised that is no failure of its own, SystemExit say: it ends the worker."""
        self.over = asyncio.Event()
        """The drain is over: no handler is waited for any more."""
        self.works: list[Work] = []
        """The rows in work."""
        self.overrun: list[Work] = []
        """Those whose handlers were at work when the drain was over."""
        self._frees = queue.fifo is not None or form.frees_others
        """Whether the end of a delivery makes rows claimable that no claim could take before."""

    async def deliver(self, work: Work) -> None:
        """Carry a delivery to its end, whatever that is. Raises nothing but a cancellation, which
        breaks the connection: the row is due again."""
        with self._slots.working():
            self._rows.hold(work)
            self.works.append(work)
            try:
                await self._handle(work)
            except asyncio.CancelledError:
                self._rows.lost(work)
                work.session.abort()
                work.session.lost = True
                raise
            finally:
                if work.turn is not None:
                    work.turn.leave()
                self._rows.forget(work)
                self.works.remove(work)
                work.over.set()

    async def _handle(self, work: Work) -> None:
        delivery = work.delivery
        if not (await self._turn(work) and await self._opened(work)):
            if not delivery.lost:
                await self._rows.give_back(work)
            return
        await self._run(work)
        while work.conflict is not None and not delivery.lost:
            await asyncio.sleep(jitter(work.runs))
            work.conflict = None
            if await self._opened(work):
                await self._run(work)
            elif not delivery.lost:
                await self._rows.give_back(work)

    async def _run(self, work: Work) -> None:
        """Run the handler, and write its outcome."""
        outcome = await self._outcome(work)
        if work.conflict is not None or work.delivery.lost:
            return
        if outcome is None:
            await self._keep(work)
        else:
            await self._settle(work, outcome)

    # -- the start -----------------------------------------------------------------------------

    async def _turn(self, work: Work) -> bool:
        """Wait until it may begin. False when it will not."""
        if work.turn is not None:
            stopping = asyncio.ensure_future(self._stop.wait())
            try:
                await self._rows.watch(work, work.turn.begun, stopping, at_work=False)
            finally:
                stopping.cancel()
        return not (self._stop.is_set() or work.delivery.lost)

    async def _opened(self, work: Work) -> bool:
        """Make the connection ready for the handler. False when it will not be: that is no failure of
        the handler, and neither is a wait for another writer."""
        if not self._settings.transactional:
            return True
        while not self._stop.is_set():
            try:
                await work.session.drive(self._form.opened(work.delivery))
            except StatementFailed as error:
                if not error.kind.passes:
                    await self._rows.lose(work, error)
                    return False
                await work.line.pause(error, self._stop)
            else:
                return True
        return False

    # -- the handler ---------------------------------------------------------------------------

    async def _outcome(self, work: Work) -> AnyOutcome | None:
        """What is to be written; None when nothing is."""
        delivery, transactional = work.delivery, self._settings.transactional
        delivery.started, work.started_at = True, time.monotonic()
        work.runs += 1
        try:
            self._report(EventKind.STARTED, seconds=0.0, **work.fields)
            work.running = (
                self._runner.start_on(work.session, delivery)
                if transactional
                else self._runner.start(delivery)
            )
            # not a task of its result: a SystemExit in a task ends the loop
            ended = asyncio.ensure_future(work.running.ended())
            stop_timing = timing.limited(work, self._settings, self._report)
            try:
                await self._watched(work, ended)
            finally:
                ended.cancel()
                stop_timing()
            if work.overrun:
                return None
            outcome = checked(self._queue.outcomes, await work.running.result())
            if transactional and not delivery.lost:
                commits = self._form.commits_with(outcome)
                require_open(work.session, self._queue.table, delivery.id, commits=commits)
        except asyncio.CancelledError:
            raise
        except BaseException as error:
            if delivery.lost:
                return None
            error = timing.why(work, self._settings, error, HandlerCancelled)
            if isinstance(error, HandlerCancelled) and await stopped(self._stop):
                # with the loop that it ran in: a shutdown is no failure of the handler
                await self._rows.give_back(work)
                return None
            if isinstance(error, ENDS):
                self.ended_by = error  # SystemExit and its like: put the row back, and end
                self._stop.set()
            return await self._failure(work, error)
        if delivery.lost:
            return None
        if transactional and not self._form.commits_with(outcome) and not await self._undone(work):
            return None
        return outcome

    async def _watched(self, work: Work, ended: asyncio.Future[None]) -> None:
        """Wait for a handler, and watch its connection. When the drain is over it is told to end; where it
        runs on its row has its attempt back and stays held until it ends."""
        watch = self._rows.watch_beside if self._settings.transactional else self._rows.watch
        over = asyncio.ensure_future(self.over.wait())
        try:
            await watch(work, ended, over)
        finally:
            over.cancel()
        if ended.done():
            return
        work.overrun = True
        self.overrun.append(work)
        work.let_go()
        await asyncio.wait({ended}, timeout=CLEANING)
        refunded = False
        if not ended.done():
            if not work.lost_told:
                self._report(EventKind.UNFINISHED, seconds=work.seconds, **work.fields)
            # a connection in the handler's hands is nobody else's
            refunded = not self._settings.transactional and await self._rows.refund(work)
            work.over.set()
            await watch(work, ended)
        if not work.lost_told:
            await self._rows.give_back(work, refund=not refunded)

    async def _failure(self, work: Work, error: BaseException) -> AnyOutcome | None:
        """The outcome of a failure, after what the handler wrote was undone."""
        if await self._conflicted(work, error):
            return None
        work.failed = True
        self._gate.failed()
        self._report(EventKind.FAILED, error=error, **work.fields)
        if self._settings.transactional and not await self._undone(work):
            return None
        work.invalid = failures.is_invalid(self._queue, work.delivery, error)
        return failures.outcome_of(self._queue, self._settings, work.delivery, error)

    async def _conflicted(self, work: Work, error: BaseException) -> bool:
        """Whether the handler runs again, with no attempt spent: its transaction was undone in favour of
        another one. Where that held the row, the row is due again, and comes back with a claim."""
        conflict = conflict_of(work.session, error) if self._settings.transactional else None
        if conflict is None or work.runs >= RUNS:
            return False
        self._report(EventKind.CONFLICT, error=conflict, **work.fields)
        if not self._form.reopens:
            await self._rows.give_back(work)
        elif await self._undone(work):
            work.conflict = conflict
        return True

    async def _undone(self, work: Work) -> bool:
        try:
            await work.session.drive(self._form.undone(work.delivery))
        except ClaimError as error:
            await self._rows.lose(work, error)
            return False
        return True

    # -- the end -------------------------------------------------------------------------------

    async def _settle(self, work: Work, outcome: AnyOutcome) -> None:
        outcome = exhausted.effective(work.delivery, outcome)
        fields = {**work.fields, "outcome": type(outcome).__name__}
        aside = self._rows.memory.aside
        if work.invalid and due_at_once(outcome):
            aside.add(work.delivery)
        try:
            refused = await work.session.drive(self._form.finish(work.delivery, outcome, aside))
        except SettlementUnknown as error:
            self._report(EventKind.UNKNOWN, error=error, **fields)
            await work.line.drop()
        except ClaimError as error:
            await self._refused(work, error)
        except Exception as error:
            await self._unsettled(work, error)
        else:
            work.line.worked()
            if refused is not None:
                self._report(EventKind.UNSETTLED, error=refused, **fields)
                return
            self._report(EventKind.SETTLED, seconds=work.seconds, **fields)
            if work.failed:
                return
            self._gate.succeeded()
            if self._frees and not due_at_once(outcome):
                self._alarm.ring()

    async def _refused(self, work: Work, error: ClaimError) -> None:
        """The outcome was not written, or not committed."""
        kind = error.kind if isinstance(error, StatementFailed) else None
        if work.session.lost or kind is FaultKind.LOST:
            await self._rows.lose(work, error)
        elif self._settings.transactional and not work.failed and self._form.holds(work.delivery):
            # what the handler wrote is in the way, at the COMMIT or on the row itself
            work.delivery.lost = False
            failure = await self._failure(work, error)
            if failure is not None:
                await self._settle(work, failure)
        elif kind is not None or isinstance(error, WriteIgnored):
            await self._unsettled(work, error)
        else:
            await self._rows.lose(work, error)

    async def _unsettled(self, work: Work, error: Exception) -> None:
        """The database refused the outcome: the row is due again, and left out of this worker's claims
        for a while. The slot waits too where that may be no matter of this row alone."""
        passes = trouble(error) is EventKind.CONFLICT
        kind = EventKind.CONFLICT if passes else EventKind.UNSETTLED
        self._report(kind, error=error, **work.fields)
        if not is_passing(error):
            self._rows.memory.aside.add(work.delivery)
        await self._rows.release(work, refund=False)
        work.let_go()
        fault = error.kind if isinstance(error, StatementFailed) else FaultKind.ROW
        if not fault.of_a_row:
            self._gate.failed()
            await work.line.drop()
            await work.line.rest(self._stop)

    async def _keep(self, work: Work) -> None:
        """Give a row back that does not decode, and leave it out of this worker's claims for a while."""
        self._rows.memory.aside.add(work.delivery)
        await self._rows.give_back(work)  # nothing was tried: no attempt is spent
