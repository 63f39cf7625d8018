"""The lease form's rows whose handlers run on after their worker's end."""

from __future__ import annotations

import asyncio
import functools
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from sqlclaimgen.runtime.clock import ceiling
from sqlclaimgen.runtime.errors import FaultKind, StatementFailed
from sqlclaimgen.runtime.protocols import extending, lease
from sqlclaimgen.runtime.queue import Queue
from sqlclaimgen.runtime.worker.events import EventKind, Reporter
from sqlclaimgen.runtime.worker.lines import Line
from sqlclaimgen.runtime.worker.running import CLEANING
from sqlclaimgen.runtime.worker.settings import Settings
from sqlclaimgen.runtime.worker.work import InWork, Lease

SHORTEST = 10.0
"""Seconds that a row is held beyond the end of its process, at least."""

TICK = 0.1
"""Seconds between two looks at the handlers that still run."""


@dataclass(eq=False, slots=True)
class _Row:
    item: InWork
    lease: Lease
    """The row in this worker's hands: the handler's own delivery says that it is lost."""
    told: bool = False

    @property
    def ended(self) -> bool:
        return self.item.task is None or self.item.task.done()

    @property
    def shortened(self) -> bool:
        return self.lease.started


class Overrun:
    """Holds rows until their handlers end, or the process does, and gives them back then.

    Their attempt is given back at once, and their leases are short ones from here on, a quarter of the
    table's: so a row waits no longer than that for a process that ends, and is not free before its
    handler can no longer act.
    """

    def __init__(
        self,
        queue: Queue[Any, Any, Any, Any],
        connect: Callable[[], Any],
        settings: Settings,
        report: Reporter,
        seconds: float,
    ) -> None:
        self._report = report
        self._seconds = min(seconds, max(seconds / 4, SHORTEST))
        short = replace(queue, lease=timedelta(seconds=self._seconds))
        limit = max(self._seconds / 4, 1.0)
        self._line = Line(short, connect, settings, report, limit=limit, most=self._seconds / 10)
        self._precision = queue.token_precision
        self._rows: list[_Row] = []
        self.ids: list[Any] = []
        """The rows whose handlers ran when their worker ended."""
        self._sent: list[datetime] = []
        self._extend_at = 0.0

    @property
    def tasks(self) -> set[asyncio.Task[None]]:
        """What ends when their handlers do."""
        return {row.item.task for row in self._rows if row.item.task is not None}

    def add(self, items: Iterable[InWork]) -> None:
        """Take rows over whose handlers run. Nothing else may write to them from here on."""
        for item in items:
            delivery = item.delivery
            copy = extending.copied(delivery, delivery.number, delivery.token, delivery.sent)
            item.abandon()
            item.let_go()
            self._rows.append(_Row(item, copy))
            self.ids.append(delivery.id)

    async def begin(self) -> None:
        """Give handlers a moment to end, give the rows back of those that did, and hold the others'."""
        if self._rows:
            await asyncio.wait(self.tasks, timeout=CLEANING)
        while self._rows and not all(row.told and row.shortened for row in self._rows):
            await self._look()
            if self._rows:
                await asyncio.sleep(TICK)

    async def hold(self) -> None:
        """Hold what is left until every handler has ended."""
        try:
            while self._rows:
                await self._look()
                if self._rows:
                    await asyncio.sleep(TICK)
        finally:
            await self._line.drop()

    async def _look(self) -> None:
        for row in self._rows:
            if not (row.ended or row.told):
                row.told = True
                self._report(EventKind.UNFINISHED, seconds=row.item.seconds, **row.item.fields)
        try:
            await self._release([row for row in self._rows if row.ended])
            await self._shorten([row for row in self._rows if not (row.ended or row.shortened)])
            await self._extend([row for row in self._rows if row.shortened])
        except Exception as error:
            await self._line.pause(error)
            # where nobody can be asked, the leases give them back
            self._drop([row for row in self._rows if row.ended and row.lease.overdue])

    def _drop(self, rows: list[_Row]) -> None:
        self._rows = [row for row in self._rows if row not in rows]

    async def _release(self, rows: list[_Row]) -> None:
        if not rows:
            return
        leases = [row.lease for row in rows]
        await self._line.drive(functools.partial(lease.leave, deliveries=leases))
        self._drop(rows)
        for row in rows:
            self._report(EventKind.GIVEN_BACK, **row.item.fields)

    async def _shorten(self, rows: list[_Row]) -> None:
        if not rows:
            return
        session = await self._line.open()
        until = ceiling(session.bound.now() + timedelta(seconds=self._seconds), self._precision)
        leases = [row.lease for row in rows]
        before, self._sent = self._sent, [*self._sent, until][-2:]
        try:
            done = await self._line.drive(
                lambda bound: extending.shorten(bound, leases, until, before)
            )
        except StatementFailed as error:
            if error.kind is not FaultKind.LOST:
                self._sent = before  # it is certain that nothing was written now
            raise
        self._sent = []
        self._extend_at = time.monotonic() + self._seconds / 3
        found = {one.id: one for one in done}
        for row in rows:
            if row.lease.id in found:
                row.lease = found[row.lease.id]
                row.lease.started = True  # its attempt is back already

    async def _extend(self, rows: list[_Row]) -> None:
        if not rows or time.monotonic() < self._extend_at:
            return
        at = time.monotonic() + self._seconds / 3
        leases = [row.lease for row in rows]
        refused: extending.Refused = []
        await self._line.drive(lambda bound: lease.extend(bound, leases, refused))
        self._extend_at = at
        over = [
            delivery for delivery, _ in refused
        ]  # nothing holds these when their leases run out
        for row in rows:
            for delivery, error in refused:
                if row.lease is delivery:
                    self._report(EventKind.UNSETTLED, error=error, **row.item.fields)
        self._drop([row for row in rows if row.lease.lost or row.lease in over])
