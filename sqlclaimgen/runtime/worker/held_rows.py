"""The rows that a worker's connections hold: looked at meanwhile, given up, or lost with a connection."""

from __future__ import annotations

import asyncio
import contextlib
import time
from datetime import timedelta
from typing import Any

from sqlclaimgen.runtime.drivers.servers import SERVERS
from sqlclaimgen.runtime.errors import ClaimError, FaultKind, StatementFailed
from sqlclaimgen.runtime.protocols.aside import Aside
from sqlclaimgen.runtime.protocols.held import HeldForm, Memory
from sqlclaimgen.runtime.steps import (
    Protocol,
    ReleaseSavepoint,
    RollbackToSavepoint,
    Run,
    Savepoint,
)
from sqlclaimgen.runtime.worker.events import EventKind, Reporter
from sqlclaimgen.runtime.worker.held_work import Work
from sqlclaimgen.runtime.worker.lines import trouble

CHECK_EVERY = 10.0
"""Seconds between two questions over a connection that holds a row."""

LOOK = "sqlclaimgen_look"
"""Set before a question that the server may refuse, and that must not abort the claim's transaction."""

LOOK_EVERY = 1.0
"""Seconds between two looks at its socket, which cost the server nothing."""


def ping() -> Protocol[None]:
    """Ask whether the session is still there."""
    yield Run("ping", "SELECT 1", {})


def waiting(query: str) -> Protocol[list[int]]:
    """Ask for the sessions that wait for the end of the open transaction. That is a question more: where it
    is refused, nobody waits."""
    yield Savepoint(LOOK)
    try:
        found = yield Run("blocked", query, {})
    except StatementFailed as error:
        if error.kind is FaultKind.LOST:
            raise
        yield RollbackToSavepoint(LOOK)
        return []
    yield ReleaseSavepoint(LOOK)
    return [int(row[0]) for row in found.rows]


def waited_for(work: Work, sessions: list[int]) -> ClaimError:
    """What is told of a row that another session waits for while its handler runs."""
    delivery, table = work.delivery, work.delivery.bound.queue.table
    numbers = ", ".join(map(str, sessions))
    return ClaimError(
        f"{table} {delivery.id!r}: the handler has run for {work.seconds:.0f} seconds, and another session "
        f"of the server (pid {numbers}) waits for the lock on its row. Where that is the handler's own, it "
        "waits for itself, for ever: the row stays locked until the handler ends. Return an outcome "
        "instead of writing the row over another connection, or make the handler transactional and use "
        "the connection that it is given.",
        table=table,
        id=delivery.id,
        attempt=delivery.number,
        statement="blocked",
    )


class HeldRows:
    """Holds rows by the connections that claimed them, and tells once when one is lost."""

    def __init__(self, form: HeldForm, report: Reporter, pace: float) -> None:
        self._form = form
        self._report = report
        self.memory = Memory(Aside(timedelta(seconds=pace)))
        """What the next claim has to know of them."""

    def hold(self, work: Work) -> None:
        """One more."""
        self.memory.deliveries.append(work.delivery)

    def forget(self, work: Work) -> None:
        """Its key is free, as far as this worker is concerned. A second time is no mistake."""
        with contextlib.suppress(ValueError):
            self.memory.deliveries.remove(work.delivery)

    async def watch(self, work: Work, *awaited: asyncio.Future[Any], at_work: bool = True) -> None:
        """Wait until one of `awaited` is done. Look at the connection's socket every LOOK_EVERY seconds, and
        ask something over it every CHECK_EVERY. When it is dead the row is lost; a handler `at_work` is
        waited for all the same."""
        asked = time.monotonic()
        while not any(future.done() for future in awaited):
            every = None if work.lost_told else min(LOOK_EVERY, CHECK_EVERY)
            done, _ = await asyncio.wait(
                awaited, timeout=every, return_when=asyncio.FIRST_COMPLETED
            )
            if done or work.lost_told:
                continue
            if work.session.gone:
                await self.lose(work, ConnectionError("the server has closed the connection"))
            elif time.monotonic() - asked >= CHECK_EVERY:
                asked = time.monotonic()
                try:
                    await self._ask(work)
                except ClaimError as error:
                    await self.lose(work, error)
            if work.lost_told and not at_work:
                return

    async def _ask(self, work: Work) -> None:
        """Ask something over the connection: who waits for its transaction, where that could be for ever."""
        query = SERVERS[work.session.codec.dialect].blocked
        looks = work.handled and work.session.in_transaction and not work.waited_told
        if query is None or not looks:
            await work.session.drive(ping())
            return
        sessions = await work.session.drive(waiting(query))
        if sessions:
            work.waited_told = True
            error = waited_for(work, sessions)
            self._report(EventKind.WARNED, error=error, **work.fields)

    async def watch_beside(self, work: Work, *awaited: asyncio.Future[Any]) -> None:
        """Wait for a handler that uses the connection itself. Nothing is asked over it meanwhile: a
        look every LOOK_EVERY seconds tells whether the server has closed it."""
        while not any(future.done() for future in awaited):
            every = None if work.lost_told else LOOK_EVERY
            done, _ = await asyncio.wait(
                awaited, timeout=every, return_when=asyncio.FIRST_COMPLETED
            )
            if not (done or work.lost_told) and work.session.gone:
                work.session.lost = True
                self.lost(work, ConnectionError("the server has closed the connection"))

    def lost(self, work: Work, error: BaseException | None = None) -> None:
        """Tell the handler, and the world, once. Its key is free, whatever the handler does still."""
        work.let_go()
        self.forget(work)
        if not work.lost_told:
            work.lost_told = True
            self._report(EventKind.LOST, error=error, **work.fields)

    async def lose(self, work: Work, error: BaseException) -> None:
        """The row is another's now, or may be; nothing more is sent over this connection."""
        self.lost(work, error)
        await work.line.drop()

    async def give_back(self, work: Work, *, refund: bool = True) -> None:
        """Give the row up, unsettled, and with its attempt unless it has that already, and say so."""
        await self.release(work, refund=refund)
        self._report(EventKind.GIVEN_BACK, **work.fields)

    async def release(self, work: Work, *, refund: bool) -> None:
        """Give the row up. Closing the connection does so as well, where that is refused."""
        delivery = work.delivery
        delivery.lost, delivery.started = False, not refund
        try:
            await work.session.drive(self._form.abandon(delivery))
        except Exception as error:
            self._report(trouble(error), error=error)
            await work.line.drop()
        delivery.lost = True

    async def refund(self, work: Work) -> bool:
        """Give the attempt of a row back that stays held. False when that was refused."""
        try:
            await work.session.drive(self._form.refunded(work.delivery))
        except Exception as error:
            self._report(trouble(error), error=error)
            return False
        return True
