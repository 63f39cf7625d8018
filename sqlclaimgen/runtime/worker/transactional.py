"""Handlers of a lease table that are given a connection: their writes commit with the ack."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from sqlclaimgen.runtime.errors import FaultKind, LeaseLost, StatementFailed
from sqlclaimgen.runtime.outcomes import Ack, AnyOutcome, Discard
from sqlclaimgen.runtime.protocols import lease
from sqlclaimgen.runtime.queue import Queue
from sqlclaimgen.runtime.steps import Begin, Commit, Protocol, Rollback
from sqlclaimgen.runtime.worker.events import Reporter
from sqlclaimgen.runtime.worker.guarding import commits_refused
from sqlclaimgen.runtime.worker.handlers import Runner, checked
from sqlclaimgen.runtime.worker.lines import Line
from sqlclaimgen.runtime.worker.settings import Settings
from sqlclaimgen.runtime.worker.work import InWork


def begun() -> Protocol[None]:
    """Open the handler's transaction."""
    yield Begin()


def rolled_back() -> Protocol[None]:
    """Undo what the handler wrote."""
    yield Rollback()


def acked(item: InWork, outcome: AnyOutcome) -> Protocol[None]:
    """The ack as the last statement of the handler's transaction, then its COMMIT. A lost lease rolls
    everything back."""
    try:
        yield from lease.settle(item.delivery, outcome, joined=True)
        yield Commit()
    except GeneratorExit:
        raise
    except BaseException:
        item.delivery.settled = item.delivery.joined = False
        yield Rollback()
        raise
    item.delivery.joined = False


class TransactionalHandlers:
    """One connection for each handler at work, kept for the next one."""

    def __init__(
        self,
        queue: Queue[Any, Any, Any, Any],
        connect: Callable[[], Any],
        settings: Settings,
        runner: Runner,
        report: Reporter,
    ) -> None:
        self._queue = queue
        self._runner = runner
        self._make: Callable[[], Line] = lambda: Line(queue, connect, settings, report)
        self._idle: list[Line] = []
        self._all: list[Line] = []

    async def run(self, item: InWork) -> AnyOutcome:
        """Run the handler in a transaction. An ack or a discard is committed with it, and the delivery
        is settled then; anything else rolls it back, and the caller settles."""
        line = self._idle.pop() if self._idle else self._new()
        try:
            return await self._run(line, item)
        finally:
            self._idle.append(line)

    def _new(self) -> Line:
        line = self._make()
        self._all.append(line)
        return line

    async def _run(self, line: Line, item: InWork) -> AnyOutcome:
        session = await line.open()
        await session.drive(begun())
        try:
            with commits_refused(session.connection):
                item.running = self._runner.start_on(session, item.delivery)
                outcome = checked(self._queue.outcomes, await item.running.result())
        except BaseException:
            await asyncio.shield(session.drive(rolled_back()))
            raise
        if not isinstance(outcome, Ack | Discard):
            await session.drive(rolled_back())
            return outcome
        try:
            await session.drive(acked(item, outcome))
        except LeaseLost:
            item.delivery.lost = True
            raise
        except StatementFailed as error:
            item.unanswered = error.kind is FaultKind.LOST and error.statement == "commit"
            if not item.unanswered:
                raise
            # settle it again over another connection: the token tells whether this COMMIT counted
        return outcome

    async def close(self) -> None:
        """Close every connection."""
        for line in self._all:
            await line.drop()
