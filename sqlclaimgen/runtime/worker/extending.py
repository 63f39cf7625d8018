"""The lease worker's extensions: every lease in work, each half lease, over a connection of their own."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from typing import Any

from sqlclaimgen.runtime.protocols import lease
from sqlclaimgen.runtime.worker.events import EventKind, Reporter
from sqlclaimgen.runtime.worker.lines import Line
from sqlclaimgen.runtime.worker.work import InWork


class Extender:
    """Keeps leases alive until the last one is settled, also while the worker drains."""

    def __init__(
        self,
        line: Line,
        report: Reporter,
        seconds: float,
        items: Callable[[], Iterable[InWork]],
    ) -> None:
        self._line = line
        self._report = report
        self._half = seconds / 2
        self._tick = max(min(seconds / 10, 1.0), 0.02)
        self._items = items
        self._never = asyncio.Event()

    async def run(self) -> None:
        """Extend until cancelled."""
        while True:
            await asyncio.sleep(self._tick)
            self.tell()
            now = time.monotonic()
            due = [
                item
                for item in self._items()
                if item.extend_at <= now and not (item.delivery.lost or item.delivery.settled)
            ]
            if due:
                await self._extend(due)

    async def _extend(self, due: list[InWork]) -> None:
        at = time.monotonic() + self._half
        try:
            await self._line.drive(lambda bound: lease.extend(bound, [i.delivery for i in due]))
        except asyncio.CancelledError:
            raise
        except Exception as error:
            # a failed extension is tried again: leases outlive connections
            self.tell()
            await self._line.pause(error, self._never)
            return
        kept = 0
        for item in due:
            if item.delivery.lost or item.delivery.settled:
                continue
            if item.delivery.token > item.delivery.bound.now():
                kept += 1
            if not _skipped(item):
                item.extend_at = at
        self._report(EventKind.EXTENDED, count=kept)
        self.tell()

    def tell(self) -> None:
        """Report losses once, and stop the handlers of lost rows."""
        for item in list(self._items()):
            delivery: Any = item.delivery
            if delivery.lost and not item.lost_told:
                item.lost_told = True
                self._report(
                    EventKind.LOST, id=delivery.id, attempt=delivery.number, group=item.group
                )
                if item.running is not None:
                    item.running.cancel()
            elif delivery.overdue and not (delivery.settled or item.overdue_told):
                item.overdue_told = True
                self._report(
                    EventKind.OVERDUE, id=delivery.id, attempt=delivery.number, group=item.group
                )


def _skipped(item: InWork) -> bool:
    """Whether the row was locked by somebody, so that its lease was not moved and is tried again."""
    delivery = item.delivery
    left = (delivery.token - delivery.bound.now()).total_seconds()
    lease_seconds = delivery.bound.queue.lease
    return lease_seconds is not None and left < lease_seconds.total_seconds() * 0.75
