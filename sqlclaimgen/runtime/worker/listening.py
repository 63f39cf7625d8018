"""LISTEN on a connection of its own: a notification rings the alarm, and polling stays the floor."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

from sqlclaimgen.runtime.backoff import Backoff
from sqlclaimgen.runtime.queue import Queue
from sqlclaimgen.runtime.worker.events import EventKind, Reporter
from sqlclaimgen.runtime.worker.lanes import Lane
from sqlclaimgen.runtime.worker.settings import Settings
from sqlclaimgen.runtime.worker.waking import Alarm

PROBE = 30.0
"""Seconds of silence after which the listening connection is asked whether it is still there."""


class Listener:
    """Listens for ever: after a loss it connects again with back-off, listens, and rings once, for
    what may have been committed meanwhile. It never stops the worker: the poll goes on either way."""

    def __init__(
        self,
        queue: Queue[Any, Any, Any, Any],
        connect: Callable[[], Any],
        settings: Settings,
        report: Reporter,
        alarm: Alarm,
    ) -> None:
        self._queue = queue
        self._connect = connect
        self._settings = settings
        self._report = report
        self._alarm = alarm
        self._lane = Lane("sqlclaimgen-listen")
        self._connection: Any = None
        self._ended = False

    async def run(self) -> None:
        """Listen until cancelled."""
        backoff = Backoff(0.1, self._settings.max_backoff)
        try:
            while True:
                began = time.monotonic()
                try:
                    await asyncio.wrap_future(self._lane.submit(self._listen))
                except asyncio.CancelledError:
                    raise
                except Exception as error:
                    self._report(EventKind.DISCONNECTED, error=error)
                if time.monotonic() - began > self._settings.max_backoff:
                    backoff.reset()
                await asyncio.sleep(backoff.next())
        finally:
            self._ended = True
            self._break()
            self._lane.close()

    def _listen(self) -> None:
        from sqlclaimgen.runtime.drivers.psycopg import notifications

        connection = self._connect()
        self._connection = connection
        try:
            for _ in notifications(connection, str(self._queue.channel), PROBE):
                if self._ended:
                    return
                self._alarm.ring()
        finally:
            self._connection = None
            connection.close()

    def _break(self) -> None:
        from sqlclaimgen.runtime.drivers.psycopg import shut

        connection = self._connection
        if connection is not None:
            shut(connection)
