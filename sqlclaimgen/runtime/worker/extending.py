"""The lease worker's extensions: every lease in work, each half lease, over a connection of their own."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable

from sqlclaimgen.runtime.errors import ClocksApart
from sqlclaimgen.runtime.protocols import lease
from sqlclaimgen.runtime.protocols.extending import Refused
from sqlclaimgen.runtime.worker.checks.clocks import Watch
from sqlclaimgen.runtime.worker.events import EventKind, Reporter
from sqlclaimgen.runtime.worker.lines import Line
from sqlclaimgen.runtime.worker.work import InWork, lost

LONG = 10
"""Leases after which a handler that still runs is told of."""


def long(item: InWork) -> TimeoutError:
    """What is told of a handler that runs for many leases: nobody else would."""
    delivery = item.delivery
    return TimeoutError(
        f"{delivery.bound.queue.table} {delivery.id!r}: the handler has run for {item.seconds:.0f} seconds, "
        f"{LONG} leases, and its lease is extended as long as it runs. Where it may hang, give the worker "
        "`handler_timeout`."
    )


class Extender:
    """Keeps leases alive until the last one is settled, also while the worker drains."""

    def __init__(
        self,
        line: Line,
        report: Reporter,
        seconds: float,
        items: Callable[[], Iterable[InWork]],
        stop: asyncio.Event | None = None,
    ) -> None:
        self._line = line
        self._report = report
        self._half = seconds / 2
        self._tick = max(min(seconds / 10, 1.0), 0.02)
        self._items = items
        self._stop = stop
        """Set when the clocks are too far apart; None: nobody compares them."""
        self._clocks = Watch(report)
        self.apart: ClocksApart | None = None
        """Why the worker had to stop claiming."""

    async def run(self) -> None:
        """Extend until cancelled."""
        while True:
            await asyncio.sleep(self._tick)
            self._tell()
            now = time.monotonic()
            due = [
                item
                for item in self._items()
                if item.is_live()
                and not (item.holds or item.timed_out or item.refused)
                and item.extend_at <= now
            ]
            if due:
                await self._extend(due)

    async def _extend(self, due: list[InWork]) -> None:
        at = time.monotonic() + self._half
        before = [item.delivery.token for item in due]
        refused: Refused = []
        try:
            await self._line.drive(
                lambda bound: lease.extend(bound, [i.delivery for i in due], refused)
            )
        except Exception as error:
            # a failed extension is tried again: leases outlive connections
            self._tell()
            await self._line.pause(error)
            return
        self._refuse(due, refused)
        kept = 0
        for item, token in zip(due, before, strict=True):
            # one whose row was locked was passed over, and is due still
            if item.is_live() and item.delivery.token != token:
                item.extend_at = at
                item.overdue_told = False
                kept += 1
        self._report(EventKind.EXTENDED, count=kept)
        self._tell()
        if self._stop is not None and not self._stop.is_set():
            await self._compare(self._stop)

    async def _compare(self, stop: asyncio.Event) -> None:
        try:
            await self._line.drive(self._clocks.look)
        except ClocksApart as apart:
            # what is in work is worth finishing: its tokens fence it
            self.apart = apart
            stop.set()
        except Exception as error:
            await self._line.pause(error)

    def _refuse(self, due: list[InWork], refused: Refused) -> None:
        """Report the rows that the database refuses to extend. Their leases run out; the others go on."""
        for delivery, error in refused:
            for item in due:
                if item.delivery is delivery and item.is_live():
                    item.refused = True
                    self._report(EventKind.UNSETTLED, error=error, **item.fields)

    def _is_long(self, item: InWork) -> bool:
        running = item.started_at is not None and not (item.ended or item.timed_out)
        return running and item.seconds > LONG * 2 * self._half

    def _tell(self) -> None:
        """Report losses once, and stop the handlers of lost rows."""
        for item in list(self._items()):
            delivery = item.delivery
            if item.unanswered or item.own or item.abandoned:
                continue  # given up, or gone perhaps because its settlement counted: it says so
            if delivery.lost and not item.lost_told:
                item.lost_told = True
                item.let_go()
                self._report(EventKind.LOST, error=lost(item), **item.fields)
            elif item.is_live() and not item.long_told and self._is_long(item):
                item.long_told = True
                self._report(EventKind.WARNED, error=long(item), **item.fields)
            elif item.is_live() and delivery.overdue and not (item.holds or item.overdue_told):
                item.overdue_told = True
                self._report(EventKind.OVERDUE, **item.fields)
