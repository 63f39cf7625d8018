"""When the slots of the row lock and advisory forms claim: as they like while rows come, else in turn."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator

from sqlclaimgen.runtime.worker.events import EventKind, Reporter
from sqlclaimgen.runtime.worker.waking import Alarm


class Gate:
    """Lets slots claim as they like while rows come, and one at a time, at the poll interval, while
    none does or `slots` deliveries failed with none between them that did not."""

    def __init__(
        self, alarm: Alarm, stop: asyncio.Event, poll: float, slots: int, report: Reporter
    ) -> None:
        self._alarm = alarm
        self._stop = stop
        self._poll = poll
        self._slots = slots
        self._report = report
        self._lock = asyncio.Lock()
        self._rows = True
        self._failures = 0
        self.finds = 0
        """How many claims found something."""

    @property
    def failing(self) -> bool:
        """Whether deliveries fail one after another."""
        return self._failures >= self._slots

    @property
    def hot(self) -> bool:
        """Whether a claim need not wait."""
        return self._rows and not self.failing

    @contextlib.asynccontextmanager
    async def turn(self, *, waits: bool) -> AsyncGenerator[None, None]:
        """A claim's turn. `waits`: after an empty claim, not before the poll interval is over."""
        if self.hot or not (waits or self.failing):
            self._alarm.hush()
            yield
            return
        async with self._lock:
            # another slot may have found rows meanwhile
            if not self._stop.is_set() and not self.hot:
                await self._wait()
            self._alarm.hush()
            yield

    async def _wait(self) -> None:
        started = time.monotonic()
        ringing = asyncio.ensure_future(self._alarm.wait(self._poll))
        stopping = asyncio.ensure_future(self._stop.wait())
        try:
            await asyncio.wait({ringing, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if ringing.done() and not ringing.result():
                self._failures = 0  # time has passed, and only time mends them
        finally:
            ringing.cancel()
            stopping.cancel()
        self._report(EventKind.WAITED, seconds=time.monotonic() - started)

    def found(self) -> None:
        """A claim brought a row, or more may be due."""
        self.finds += 1
        self._rows = True

    def nothing(self, finds: int) -> None:
        """A claim brought nothing. `finds` as they were before it: what was found since counts more."""
        if self.finds == finds:
            self._rows = False

    def failed(self) -> None:
        """A handler raised, or its outcome was refused."""
        self._failures += 1

    def succeeded(self) -> None:
        """A handler's own outcome was written."""
        self._failures = 0
