"""What the slots of the row lock and advisory forms know of each other: who is busy, when all is done."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Generator


class Slots:
    """Counts the slots that look for a row and that work on one."""

    def __init__(self, number: int) -> None:
        self._number = number
        self._busy = 0
        self._looking = 0
        self.until_empty = False
        """Whether the worker ends when nothing is due."""
        self.ended = asyncio.Event()
        """A delivery has ended."""
        self.over = asyncio.Event()
        """Nothing is due, and nothing that could be due again is in work."""

    @property
    def busy(self) -> bool:
        """Whether a delivery is in work."""
        return self._busy > 0

    @property
    def taken(self) -> int:
        """Slots that have a row."""
        return self._busy

    @contextlib.contextmanager
    def looking(self) -> Generator[None]:
        """While the block runs, one more slot claims."""
        self._looking += 1
        try:
            yield
        finally:
            self._looking -= 1

    @contextlib.contextmanager
    def working(self) -> Generator[None]:
        """While the block runs, one more delivery is in work."""
        self._busy += 1
        self.over.clear()
        try:
            yield
        finally:
            self._busy -= 1
            self.ended.set()

    async def after_nothing(self, seconds: float, stop: asyncio.Event, *, idle: bool) -> None:
        """A claim of a run until empty found nothing. `idle`: nothing was in work before it; then that
        was all, unless another slot is at it. Else wait for what is in work, at most so long."""
        if idle and not (self._busy or self._looking):
            self.over.set()
        else:
            await first(seconds, self.ended, self.over, stop)


async def first(seconds: float, *events: asyncio.Event) -> None:
    """Wait for the first of some events, at most so many seconds."""
    waits = [asyncio.ensure_future(event.wait()) for event in events]
    try:
        await asyncio.wait(waits, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()
