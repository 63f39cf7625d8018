"""Handlers of a lease table that are given a connection: their writes commit with the ack."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from sqlclaimgen.runtime.errors import ClaimError, FaultKind, LeaseLost, StatementFailed
from sqlclaimgen.runtime.outcomes import Ack, AnyOutcome, Discard, Retry
from sqlclaimgen.runtime.protocols import exhausted, handler_transaction, lease
from sqlclaimgen.runtime.protocols.transaction import jitter
from sqlclaimgen.runtime.queue import Queue
from sqlclaimgen.runtime.steps import (
    CheckConstraints,
    Commit,
    Protocol,
    Rollback,
    RollbackToSavepoint,
)
from sqlclaimgen.runtime.worker.conflicts import RUNS, conflict_of
from sqlclaimgen.runtime.worker.events import EventKind, Reporter
from sqlclaimgen.runtime.worker.guarding import require_open
from sqlclaimgen.runtime.worker.handlers import Runner, checked
from sqlclaimgen.runtime.worker.lines import Line
from sqlclaimgen.runtime.worker.running import HandlerCancelled
from sqlclaimgen.runtime.worker.sessions import AsyncSession
from sqlclaimgen.runtime.worker.work import InWork, Lease


def opened(delivery: Lease, isolation: str | None) -> Protocol[None]:
    """Open the handler's transaction. Raises LeaseLost."""
    yield from handler_transaction.begun(isolation, lease.hold(delivery))


def rolled_back() -> Protocol[None]:
    """Undo what the handler wrote."""
    yield Rollback()


def acked(delivery: Lease, outcome: AnyOutcome) -> Protocol[None]:
    """The ack as the last statement of the handler's transaction, then its COMMIT. A lost lease rolls
    everything back."""
    yield from handler_transaction.proven(delivery.bound.queue.table, delivery.id)
    yield from lease.settle(delivery, outcome, joined=True)
    if delivery.bound.codec.checks_early:
        yield CheckConstraints()


def settled_alone(delivery: Lease, outcome: AnyOutcome) -> Protocol[None]:
    """Undo what the handler wrote, and write its outcome under the lock that holds the row."""
    yield RollbackToSavepoint(handler_transaction.SAVEPOINT)
    yield from lease.settle(delivery, outcome, joined=True)


def committed(delivery: Lease, ending: Protocol[None]) -> Protocol[None]:
    """Carry out the end of the handler's transaction, and its COMMIT. What fails rolls everything back."""
    try:
        yield from ending
        yield Commit()
    except GeneratorExit:
        raise
    except BaseException:
        delivery.settled = delivery.joined = False
        yield Rollback()
        raise
    delivery.joined = False


class TransactionalHandlers:
    """One connection for each handler at work, kept for the next one."""

    def __init__(
        self,
        queue: Queue[Any, Any, Any, Any],
        runner: Runner,
        make: Callable[[], Line],
        starts: Callable[[InWork], None],
        failed: Callable[[InWork, BaseException], Awaitable[AnyOutcome | None]],
        report: Reporter,
    ) -> None:
        self._queue = queue
        self._runner = runner
        self._make = make
        self._starts = starts
        self._failed = failed
        self._report = report
        self._idle: list[Line] = []
        self._all: list[Line] = []

    async def run(self, item: InWork) -> AnyOutcome | None:
        """Run the handler in a transaction. An ack or a discard is committed with it, and the delivery
        is settled then; anything else rolls it back, and the caller settles, unless the row is locked by
        this transaction, which settles then. After a conflict it runs again, RUNS times in all. None: it
        never started, or nothing is to be written. Raises what the handler raises, and LeaseLost."""
        line = self._idle.pop() if self._idle else self._new()
        try:
            for ran in range(1, RUNS + 1):
                session = await self._begun(line, item)
                if session is None:
                    return None
                try:
                    return await self._run(session, item, last=ran == RUNS)
                except Exception as error:
                    conflict = conflict_of(session, error)
                    if conflict is None or ran == RUNS or not item.is_live():
                        raise
                self._report(EventKind.CONFLICT, error=conflict, **item.fields)
                await asyncio.sleep(jitter(ran))
            raise AssertionError
        finally:
            item.session, item.holds = None, False
            self._idle.append(line)
            if item.abandoned:
                await (
                    line.drop()
                )  # what the handler wrote, and what it locked, ends with its connection

    def _new(self) -> Line:
        line = self._make()
        self._all.append(line)
        return line

    async def _begun(self, line: Line, item: InWork) -> AsyncSession | None:
        """A session with a transaction open. To wait for one is no failure of the handler."""
        while item.is_live() and not item.delivery.overdue:
            try:
                session = await line.open()
                await session.drive(opened(item.delivery, self._queue.isolation))
            except LeaseLost:
                return None
            except ClaimError as error:
                await line.pause(error)
                continue
            if item.is_live() and not item.delivery.overdue:
                return session
            await session.drive(rolled_back())
        return None

    async def _run(self, session: AsyncSession, item: InWork, *, last: bool) -> AnyOutcome | None:
        item.session, item.holds = session, session.bound.has("hold")
        self._starts(item)
        try:
            item.running = self._runner.start_on(session, item.delivery)
            outcome = checked(self._queue.outcomes, await item.running.result())
            commits = isinstance(outcome, Ack | Discard)
            require_open(session, self._queue.table, item.delivery.id, commits=commits)
        except asyncio.CancelledError:
            # the handler may be at work on the connection still: nothing of it is committed
            session.lost = True
            session.abort()
            raise
        except BaseException as error:
            again = not last and conflict_of(session, error) is not None
            if not item.holds or again or isinstance(error, HandlerCancelled):
                await self._undo(session)
                raise
            return await self._alone(session, item, await self._failed(item, error))
        if not isinstance(outcome, Ack | Discard):
            return await self._alone(session, item, outcome)
        try:
            await self._end(session, item, acked(item.delivery, outcome))
        except StatementFailed:
            if not item.unanswered:
                raise
            # an ack over another connection could commit without the handler's writes; this finds
            # the row without the token where the COMMIT counted
            return Retry("the server did not answer the COMMIT of the handler's transaction")
        return outcome

    async def _alone(
        self, session: AsyncSession, item: InWork, outcome: AnyOutcome | None
    ) -> AnyOutcome | None:
        """Undo what the handler wrote. Where the transaction holds the row, whose lease may be over, the
        outcome is written before it ends; the caller writes it where that fails."""
        if outcome is None or not item.holds:
            await self._undo(session)
            return outcome
        outcome = exhausted.effective(item.delivery, outcome)
        try:
            await self._end(session, item, settled_alone(item.delivery, outcome))
        except ClaimError:
            item.delivery.lost = False  # the caller writes it, and tells what comes of that
        return outcome

    async def _end(self, session: AsyncSession, item: InWork, ending: Protocol[None]) -> None:
        """Commit the handler's transaction. Takes note of a COMMIT that got no answer."""
        try:
            await session.drive(committed(item.delivery, ending))
        except StatementFailed as error:
            item.unanswered = error.kind is FaultKind.LOST and error.statement == "commit"
            raise

    async def _undo(self, session: AsyncSession) -> None:
        try:
            await session.drive(rolled_back())
        except ClaimError:
            session.lost = True  # closing it undoes everything

    async def close(self) -> None:
        """Close every connection."""
        await asyncio.gather(*(line.drop() for line in self._all))
