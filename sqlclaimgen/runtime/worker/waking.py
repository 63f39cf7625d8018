"""When to claim: after a poll interval, after a publish in this process, after a NOTIFY."""

from __future__ import annotations

import asyncio
import os
import random
import sys
import threading
import weakref
from typing import Any


class Alarm:
    """A worker's wake-up call: any thread may ring, many rings in a row are one."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._event = asyncio.Event()

    def ring(self) -> None:
        """Wake the worker. From any thread; quick; never fails."""
        try:
            self._loop.call_soon_threadsafe(self._event.set)
        except RuntimeError:
            return  # the loop has ended, and with it the worker

    def hush(self) -> None:
        """Forget the rings so far. Call it before a claim, never between a claim and the wait: a row
        that was committed in the gap rang in the gap."""
        self._event.clear()

    async def wait(self, seconds: float) -> bool:
        """Wait for a ring, at most about `seconds`; jitter keeps a fleet from polling in step. Returns
        whether it rang."""
        try:
            await asyncio.wait_for(self._event.wait(), seconds * random.uniform(0.9, 1.1))
        except TimeoutError:
            return False
        return True


_lock = threading.Lock()
_alarms: dict[str, weakref.WeakSet[Alarm]] = {}


def _forked() -> None:
    """The parent's workers are not this process's, and its lock may be held by a thread of its own."""
    global _lock
    _lock = threading.Lock()
    _alarms.clear()


if sys.platform != "win32":
    os.register_at_fork(after_in_child=_forked)


def register(table: str, alarm: Alarm) -> None:
    """Let publishes to `table` in this process ring `alarm`."""
    with _lock:
        _alarms.setdefault(table, weakref.WeakSet()).add(alarm)


def unregister(table: str, alarm: Alarm) -> None:
    """The inverse of register."""
    with _lock:
        _alarms.get(table, weakref.WeakSet()).discard(alarm)


def wake(queue: Any) -> None:
    """Wake this process's workers of a table. Call it after the COMMIT of an enqueue: before it they
    would find nothing, and the poll is their floor either way."""
    with _lock:
        alarms = list(_alarms.get(queue.table, ()))
    for alarm in alarms:
        alarm.ring()
