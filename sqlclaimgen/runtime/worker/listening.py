"""LISTEN on a connection of its own: a notification rings the alarm, and polling stays the floor."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable
from typing import Any

from sqlclaimgen.runtime.backoff import Backoff
from sqlclaimgen.runtime.drivers.servers import SERVERS
from sqlclaimgen.runtime.queue import Queue
from sqlclaimgen.runtime.steps import Protocol, Run
from sqlclaimgen.runtime.worker.events import EventKind, Reporter
from sqlclaimgen.runtime.worker.opening import NativeSession, open_session
from sqlclaimgen.runtime.worker.sessions import AsyncSession
from sqlclaimgen.runtime.worker.settings import Settings
from sqlclaimgen.runtime.worker.waking import Alarm

PROBE = 30.0
"""Seconds of silence after which the listening connection is asked whether it is still there."""
SPREAD = 0.05
"""Seconds: the most that a worker waits after a notification, so that what comes with it is one
wake-up, and a fleet does not claim at one moment."""


def listen(channel: str) -> Protocol[None]:
    """Subscribe. The name is quoted: it is taken as it is, in pg_notify as in LISTEN."""
    quoted = channel.replace('"', '""')
    yield Run("listen", f'LISTEN "{quoted}"', {})


def probed() -> Protocol[None]:
    """Ask whether the server is there."""
    yield Run("probe", "SELECT 1", {})


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

    async def run(self) -> None:
        """Listen until cancelled. Returns at once on a database that has no notifications."""
        backoff = Backoff(0.1, self._settings.max_backoff)
        while True:
            began = time.monotonic()
            try:
                session = await open_session(
                    self._queue, self._connect, self._settings.statement_timeout
                )
                try:
                    if not SERVERS[session.bound.codec.dialect].notifies:
                        return
                    await self._listen(session)
                finally:
                    # lost: a wait on the socket ends when it is closed, and not before
                    session.lost = True
                    await session.close()
            except Exception as error:
                self._report(EventKind.DISCONNECTED, error=error)
            if time.monotonic() - began > self._settings.max_backoff:
                backoff.reset()
            await asyncio.sleep(backoff.next())

    async def _listen(self, session: AsyncSession) -> None:
        await session.drive(listen(str(self._queue.channel)))
        while True:
            # the first time for what was committed before LISTEN; after a probe for what came during it
            self._alarm.ring()
            if await _notified(session, PROBE):
                await asyncio.sleep(random.uniform(0, SPREAD))
                await _notified(session, 0)
            else:
                await session.drive(probed())


async def _notified(session: AsyncSession, seconds: float) -> bool:
    """Wait for notifications, at most so long. Those that came together are one."""
    connection = session.connection
    if isinstance(session, NativeSession):
        from sqlclaimgen.runtime.drivers.psycopg_async import notified

        return await notified(connection, seconds)

    from sqlclaimgen.runtime.drivers import psycopg

    return await session.call(lambda: psycopg.notified(connection, seconds))
