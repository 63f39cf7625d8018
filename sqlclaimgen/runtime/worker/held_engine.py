"""The row lock and advisory forms at work: one connection for each delivery in work."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable
from typing import Any

from sqlclaimgen.runtime.errors import (
    ClaimError,
    FaultKind,
    SettlementUnknown,
    StatementFailed,
    UnsupportedServer,
)
from sqlclaimgen.runtime.outcomes import AnyOutcome
from sqlclaimgen.runtime.protocols.held import HeldForm, Memory
from sqlclaimgen.runtime.protocols.outcomes import due_at_once
from sqlclaimgen.runtime.protocols.scope import Scope
from sqlclaimgen.runtime.queue import Queue
from sqlclaimgen.runtime.steps import Protocol, Run
from sqlclaimgen.runtime.worker import failures
from sqlclaimgen.runtime.worker.events import EventKind, Reporter
from sqlclaimgen.runtime.worker.guarding import CommitRefused
from sqlclaimgen.runtime.worker.handlers import Runner, checked
from sqlclaimgen.runtime.worker.held_gate import Gate
from sqlclaimgen.runtime.worker.held_work import Work
from sqlclaimgen.runtime.worker.lines import Line
from sqlclaimgen.runtime.worker.scopes import Scopes
from sqlclaimgen.runtime.worker.sessions import AsyncSession
from sqlclaimgen.runtime.worker.settings import Settings
from sqlclaimgen.runtime.worker.waking import Alarm
from sqlclaimgen.runtime.worker.work import Turns

CHECK_EVERY = 10.0
"""Seconds between two looks at a connection that holds a row."""


def ping() -> Protocol[None]:
    """Ask whether the session is still there."""
    yield Run("ping", "SELECT 1", {})


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
        slots = settings.concurrency
        self._lines = [Line(queue, connect, settings, report) for _ in range(slots)]
        self._gate = Gate(alarm, stop, settings.poll_interval, slots, report)
        self._memory = Memory()
        self._turns = Turns()
        # rows of one partition key begin in the order in which they were claimed
        self._claiming: Any = (
            contextlib.nullcontext() if queue.partition is None else asyncio.Lock()
        )
        self._frees = queue.fifo is not None or form.frees_others
        """Whether the end of a delivery makes rows claimable that no claim could take before."""
        self._until_empty = False
        self._busy = 0
        self._kept = 0
        self._ended = asyncio.Event()
        """A delivery has ended."""
        self._over = asyncio.Event()
        """Nothing is due, and nothing that could be due again is in work."""

    async def run(self, *, until_empty: bool) -> bool:
        """Work. Returns whether every handler ended before the drain's time limit."""
        self._until_empty = until_empty
        slots = [asyncio.ensure_future(self._slot(line)) for line in self._lines]
        stopping = asyncio.ensure_future(self._stop.wait())
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
                await asyncio.wait(pending, timeout=self._settings.drain_timeout)
            return not self._busy
        finally:
            stopping.cancel()
            for slot in slots:
                slot.cancel()
            await asyncio.gather(*slots, return_exceptions=True)
            # a connection that is closed gives up what it holds
            await asyncio.gather(*(line.drop() for line in self._lines))

    # -- claiming ------------------------------------------------------------------------------

    async def _slot(self, line: Line) -> None:
        scopes: Scopes | None = None
        while not (self._stop.is_set() or self._over.is_set()):
            self._ended.clear()
            idle = not self._busy  # before the claim: what ends during it may be due again
            try:
                session = await line.open()
                scopes = scopes or Scopes(session.bound, self._settings.groups)
                work = await self._next(line, session, scopes)
            except Exception as error:
                if type(error) is ClaimError or isinstance(error, UnsupportedServer):
                    raise  # the worker was called wrongly; waiting mends nothing
                await line.pause(error, self._stop)
                continue
            if work is not None:
                await self._deliver(work)
                continue
            line.worked()
            if self._until_empty and idle and not self._busy:
                self._over.set()
            elif self._until_empty:
                poll = self._settings.poll_interval
                await self._first(poll, self._ended, self._over, self._stop)

    async def _next(self, line: Line, session: AsyncSession, scopes: Scopes) -> Work | None:
        while True:
            async with self._claiming, self._gate.turn(waits=not self._until_empty):
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
        taken = await session.drive(self._form.claim_one(session.bound, scope, self._memory))
        scopes.went_on(scope, taken.resume)
        if taken.exhausted:
            self._report(EventKind.EXHAUSTED, count=taken.exhausted, group=scope.group)
        if not taken.deliveries:
            return None, taken.full
        spent = time.monotonic() - started
        self._report(EventKind.CLAIMED, count=1, group=scope.group, seconds=spent)
        work = Work(taken.deliveries[0], scope.group, line, session)
        work.delivery.connection = session.connection
        field = self._queue.partition
        value = None if field is None else work.delivery.raw[self._queue.index(field)]
        if value is not None:
            # a task begins after those that were made before it
            work.turn = asyncio.ensure_future(self._turns.take((type(value), value)))
        return work, False

    async def _first(self, seconds: float | None, *events: asyncio.Event) -> None:
        waits = [asyncio.ensure_future(event.wait()) for event in events]
        try:
            await asyncio.wait(waits, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()

    # -- one delivery --------------------------------------------------------------------------

    async def _deliver(self, work: Work) -> None:
        delivery = work.delivery
        self._busy += 1
        self._over.clear()
        self._memory.deliveries.append(delivery)
        try:
            await self._handle(work)
        except asyncio.CancelledError:
            self._lost(work)
            work.session.abort()
            work.session.lost = True
            raise
        finally:
            self._leave_turn(work)
            self._memory.deliveries.remove(delivery)
            self._busy -= 1
            self._ended.set()

    async def _handle(self, work: Work) -> None:
        delivery = work.delivery
        if not (await self._turn(work) and await self._opened(work)):
            if not delivery.lost:
                await self._abandon(work)
                self._report(EventKind.GIVEN_BACK, **work.fields)
            return
        outcome = await self._outcome(work)
        if not delivery.lost and outcome is None:
            await self._keep(work)
        elif not delivery.lost and outcome is not None:
            await self._settle(work, outcome)

    def _leave_turn(self, work: Work) -> None:
        turn, work.turn = work.turn, None
        if turn is None:
            return
        if turn.done() and not turn.cancelled():
            field = self._queue.partition
            assert field is not None
            value = work.delivery.raw[self._queue.index(field)]
            self._turns.leave((type(value), value))
        turn.cancel()

    async def _turn(self, work: Work) -> bool:
        """Wait until it may begin. False when it will not."""
        if work.turn is not None:
            stopping = asyncio.ensure_future(self._stop.wait())
            try:
                await self._watched(work, work.turn, stopping, at_work=False)
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
                if error.kind is not FaultKind.CONFLICT:
                    await self._lose(work, error)
                    return False
                await work.line.pause(error, self._stop)
            else:
                return True
        return False

    async def _outcome(self, work: Work) -> AnyOutcome | None:
        """What is to be written; None when nothing is."""
        delivery, transactional = work.delivery, self._settings.transactional
        delivery.started, work.started_at = True, time.monotonic()
        try:
            self._report(EventKind.STARTED, seconds=0.0, **work.fields)
            if transactional:
                work.running = self._runner.start_on(work.session, delivery)
                outcome = checked(self._queue.outcomes, await work.running.result())
                self._require_open(work)
            else:
                work.running = self._runner.start(delivery)
                # not a task of its result: a SystemExit in a task ends the loop
                ended = asyncio.ensure_future(work.running.ended())
                try:
                    await self._watched(work, ended)
                finally:
                    ended.cancel()
                outcome = checked(self._queue.outcomes, await work.running.result())
        except asyncio.CancelledError:
            raise
        except BaseException as error:
            if delivery.lost:
                return None
            if not isinstance(error, Exception):
                self._stop.set()  # SystemExit and its like: put the row back, and end
            return await self._failure(work, error)
        if delivery.lost:
            return None
        if transactional and not self._form.commits_with(outcome) and not await self._undone(work):
            return None
        return outcome

    def _require_open(self, work: Work) -> None:
        """Raise when a transactional handler's transaction cannot be committed with its ack: a COMMIT
        of an aborted one would be a silent ROLLBACK."""
        session, table = work.session, self._queue.table
        if session.aborted:
            raise StatementFailed(
                f"{table} {work.delivery.id!r}: a statement of the handler failed and aborted its "
                "transaction, and the handler went on. Let the error out, or run the statement in a "
                "savepoint.",
                table=table,
                id=work.delivery.id,
                kind=FaultKind.ABORTED,
            )
        if not session.in_transaction:
            raise CommitRefused(
                f"{table} {work.delivery.id!r}: the transaction of the handler is over before its ack: by "
                "a COMMIT in its SQL, by a statement that commits by itself (DDL on MySQL), or with its "
                "connection.",
                table=table,
                id=work.delivery.id,
            )

    async def _failure(self, work: Work, error: BaseException) -> AnyOutcome | None:
        """The outcome of a failure, after what the handler wrote was undone."""
        work.failed = True
        self._gate.failed()
        self._report(EventKind.FAILED, error=error, **work.fields)
        if self._settings.transactional and not await self._undone(work):
            return None
        return failures.outcome_of(self._queue, self._settings, work.delivery.number, error)

    async def _undone(self, work: Work) -> bool:
        try:
            await work.session.drive(self._form.undone(work.delivery))
        except ClaimError as error:
            await self._lose(work, error)
            return False
        return True

    async def _settle(self, work: Work, outcome: AnyOutcome) -> None:
        fields = {**work.fields, "outcome": type(outcome).__name__}
        try:
            await work.session.drive(self._form.finish(work.delivery, outcome))
        except SettlementUnknown as error:
            self._report(EventKind.UNKNOWN, error=error, **fields)
            await work.line.drop()
        except StatementFailed as error:
            if error.kind is FaultKind.LOST or work.session.lost:
                await self._lose(work, error)
            elif (
                self._settings.transactional and not work.failed and self._form.holds(work.delivery)
            ):
                # what the handler wrote was refused at the COMMIT; the row is held still
                failure = await self._failure(work, error)
                if failure is not None:
                    await self._settle(work, failure)
            else:
                await self._unsettled(work, error)
        except ClaimError as error:
            await self._lose(work, error)
        except Exception as error:
            await self._unsettled(work, error)
        else:
            work.line.worked()
            self._report(EventKind.SETTLED, seconds=work.seconds, **fields)
            if work.failed:
                return
            self._gate.succeeded()
            if self._frees and not due_at_once(outcome):
                self._alarm.ring()

    async def _unsettled(self, work: Work, error: Exception) -> None:
        """The database refused the outcome: the row is due again. The slot waits, for it is refused
        again perhaps."""
        self._gate.failed()
        self._report(EventKind.UNSETTLED, error=error, **work.fields)
        work.let_go()
        await work.line.drop()
        await work.line.rest(self._stop)

    async def _keep(self, work: Work) -> None:
        """Hold a row that does not decode, and its slot with it, for as long as a worker waits after an
        error; then others may have a look at it."""
        self._busy -= 1
        self._kept += 1
        self._ended.set()
        if self._until_empty and self._kept >= self._settings.concurrency:
            self._over.set()
        enough = asyncio.ensure_future(
            self._first(self._settings.max_backoff, self._over, self._stop)
        )
        try:
            await self._watched(work, enough, at_work=False)
        finally:
            self._kept -= 1
            self._busy += 1
            enough.cancel()
        if not work.delivery.lost:
            await self._abandon(work)

    # -- the connection ------------------------------------------------------------------------

    async def _watched(
        self, work: Work, *awaited: asyncio.Future[Any], at_work: bool = True
    ) -> None:
        """Wait until one of `awaited` is done, with a look at the connection every CHECK_EVERY
        seconds. When it is dead the row is lost; a handler `at_work` is waited for all the same."""
        while not any(future.done() for future in awaited):
            every = None if work.delivery.lost else CHECK_EVERY
            done, _ = await asyncio.wait(
                awaited, timeout=every, return_when=asyncio.FIRST_COMPLETED
            )
            if done or work.delivery.lost:
                continue
            try:
                await work.session.drive(ping())
            except ClaimError as error:
                await self._lose(work, error)
                if not at_work:
                    return

    def _lost(self, work: Work, error: BaseException | None = None) -> None:
        """Tell the handler, and the world, once."""
        work.let_go()
        if not work.lost_told:
            work.lost_told = True
            self._report(EventKind.LOST, error=error, **work.fields)

    async def _lose(self, work: Work, error: BaseException) -> None:
        """The row is another's now, or may be; nothing more is sent over this connection."""
        self._lost(work, error)
        await work.line.drop()

    async def _abandon(self, work: Work) -> None:
        try:
            await work.session.drive(self._form.abandon(work.delivery))
        except Exception as error:
            # closing the connection gives it up as well
            self._report(EventKind.DISCONNECTED, error=error)
            await work.line.drop()
