"""The lease worker's claims: no more rows than it has free handlers."""

from __future__ import annotations

import asyncio
import functools
import time
from collections.abc import Callable, Coroutine, Sequence
from datetime import timedelta
from typing import Any

from sqlclaimgen.runtime.errors import ClaimError, StatementFailed, UnsupportedServer
from sqlclaimgen.runtime.protocols import lease
from sqlclaimgen.runtime.protocols.aside import Aside
from sqlclaimgen.runtime.protocols.scope import Scope
from sqlclaimgen.runtime.protocols.taken import Taken
from sqlclaimgen.runtime.worker.events import EventKind, Reporter, unsettled
from sqlclaimgen.runtime.worker.lines import Line
from sqlclaimgen.runtime.worker.scopes import Scopes
from sqlclaimgen.runtime.worker.settings import Settings
from sqlclaimgen.runtime.worker.waking import Alarm
from sqlclaimgen.runtime.worker.work import Hands


class Claimer:
    """Claims over one connection and hands the rows to `begin`, with the time at which their leases
    are to be extended first. `lease` is in seconds."""

    def __init__(
        self,
        line: Line,
        settings: Settings,
        report: Reporter,
        alarm: Alarm,
        stop: asyncio.Event,
        hands: Hands,
        lease: float,
        begin: Callable[[Any, Scope, float], None],
    ) -> None:
        self._line = line
        self._settings = settings
        self._report = report
        self._alarm = alarm
        self._stop = stop
        self._hands = hands
        self._half = lease / 2
        self._begin = begin
        self._unanswered: list[Taken] = []
        self._aside = Aside(timedelta(seconds=settings.max_backoff))

    async def run(self, *, until_empty: bool) -> None:
        """Claim until stopped or, when asked, until nothing is due and nothing is in work."""
        scopes: Scopes | None = None
        while not self._stop.is_set():
            free = self._settings.concurrency - len(self._hands)
            if free <= 0:
                self._hands.freed.clear()
                await self._first(self._hands.freed.wait(), self._stop.wait())
                continue
            self._alarm.hush()
            busy = bool(self._hands)  # before the claim: what is settled during it may be due again
            try:
                session = await self._line.open()
                if scopes is None:
                    scopes = Scopes(session.bound, self._settings.groups)
                await self.forgo()
                await self._recovered()
                found, full = await self._round(scopes, free)
            except Exception as error:
                if type(error) is ClaimError or isinstance(error, UnsupportedServer):
                    raise  # the worker was called wrongly; waiting mends nothing
                if isinstance(error, StatementFailed) and isinstance(error.unanswered, Taken):
                    self._unanswered.append(error.unanswered)
                for item in self._hands.now():
                    item.waited_for = True
                await self._line.pause(error, self._stop)
                continue
            if until_empty and not (found or busy or full):
                return
            if full and self._hands.failures < self._settings.concurrency:
                continue
            await self._idle(until_empty)

    async def _recovered(self) -> None:
        """After an outage: let leases that ran out be extended and settled first, so that this worker
        does not take its own rows from itself. Each is waited for once, for one lease at most."""
        until = time.monotonic() + 2 * self._half
        while not self._stop.is_set():
            held = [
                item
                for item in self._hands.now()
                if item.waited_for and item.is_live() and not item.refused
            ]
            late = [item for item in held if item.delivery.overdue and not item.holds]
            if not late:
                return
            if time.monotonic() > until:
                for item in late:
                    item.waited_for = False
            await self._first(asyncio.sleep(0.02), self._stop.wait())

    async def _idle(self, until_empty: bool) -> None:
        """Wait for what may bring rows. When every handler fails, that is time alone."""
        self._hands.failures = 0
        if until_empty:
            # what is in work may come back due: look again as soon as one of them is settled
            self._hands.freed.clear()
            if self._hands:
                await self._first(self._hands.freed.wait(), self._stop.wait())
            if not self._hands.failures:
                return
        started = time.monotonic()
        await self._first(self._alarm.wait(self._settings.poll_interval), self._stop.wait())
        self._report(EventKind.WAITED, seconds=time.monotonic() - started)

    async def _first(self, *waits: Coroutine[Any, Any, Any]) -> None:
        tasks = [asyncio.ensure_future(wait) for wait in waits]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()

    async def _round(self, scopes: Scopes, free: int) -> tuple[int, bool]:
        """Claim from each scope in its turn until the handlers are busy. Returns how many rows were
        found, those that became dead letters among them, and whether more may be due."""
        taken_all, found, full = 0, 0, False
        for scope in scopes.round():
            limit = free - taken_all
            started = time.monotonic()
            taken: Taken = await self._line.drive(
                functools.partial(lease.claim, scope=scope, limit=limit, aside=self._aside)
            )
            scopes.went_on(scope, taken.resume)
            if taken.exhausted:
                self._report(EventKind.EXHAUSTED, count=taken.exhausted, group=scope.group)
            for refused in taken.refused:
                unsettled(self._report, refused, scope.group)
            if taken.deliveries:
                spent = time.monotonic() - started
                self._report(
                    EventKind.CLAIMED, count=len(taken.deliveries), group=scope.group, seconds=spent
                )
            for delivery in taken.deliveries:
                # half a lease after the claim was sent, not after it was answered
                self._begin(delivery, scope, started + self._half)
            taken_all += len(taken.deliveries)
            found += len(taken.deliveries) + taken.exhausted + len(taken.refused)
            full = full or taken.full
            if taken_all >= free or self._stop.is_set():
                break
        return found, full

    async def forgo(self) -> None:
        """Give back what claims may hold whose COMMIT got no answer, by its token. Raises what the
        connection raises; it is tried again before the next claim, until the leases have run out."""
        while self._unanswered:
            deliveries: Sequence[Any] = self._unanswered[0].deliveries
            if any(not delivery.overdue for delivery in deliveries):
                await self._line.drive(functools.partial(lease.leave, deliveries=deliveries))
            del self._unanswered[0]
