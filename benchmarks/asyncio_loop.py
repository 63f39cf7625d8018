"""An asyncio worker written by hand: claim, a task for each row, settle what has gathered together."""

from __future__ import annotations

import asyncio
from datetime import datetime, timezone
from typing import Any

import psycopg

from benchmarks.loops import LEASE, POSTGRES_CLAIM, POSTGRES_SETTLE
from benchmarks.tables import QUEUE

Held = tuple[int, datetime]
"""A row's id, and the expiry it is held by."""


class AsyncioLoop:
    """Works until a claim finds nothing and everything is settled. Two connections: one claims, one
    settles, so that neither waits for the other."""

    def __init__(self, dsn: str, concurrency: int) -> None:
        self._dsn = dsn
        self._free = concurrency
        self._finished: list[Held] = []
        self._room = asyncio.Event()
        self._some_finished = asyncio.Event()
        self._claimed_all = False
        self._tasks: set[asyncio.Task[None]] = set()
        self._failure: BaseException | None = None

    async def run(self) -> None:
        """Claim and settle. Raises what a handler or a settlement raised."""
        async with (
            await psycopg.AsyncConnection.connect(self._dsn, autocommit=True) as claims,
            await psycopg.AsyncConnection.connect(self._dsn, autocommit=True) as settles,
            asyncio.TaskGroup() as group,
        ):
            group.create_task(self._settle(settles))
            group.create_task(self._claim(claims))
        if self._failure is not None:
            raise self._failure

    async def _claim(self, connection: psycopg.AsyncConnection[Any]) -> None:
        while True:
            while not self._free:
                self._room.clear()
                await self._room.wait()
            now = datetime.now(timezone.utc)
            token = now + LEASE
            values = {"queue": QUEUE, "now": now, "limit": self._free, "token": token}
            cursor = await connection.execute(POSTGRES_CLAIM, values)
            rows = await cursor.fetchall()
            if not rows:
                break
            self._free -= len(rows)
            for row in rows:
                task = asyncio.create_task(self._work(row, token))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
        self._claimed_all = True
        self._some_finished.set()

    async def _work(self, row: tuple[Any, ...], token: datetime) -> None:
        try:
            await handle(row)
        except Exception as error:
            self._failure = error
        self._finished.append((row[0], token))
        self._some_finished.set()

    async def _settle(self, connection: psycopg.AsyncConnection[Any]) -> None:
        while self._finished or self._tasks or not self._claimed_all:
            await self._some_finished.wait()
            self._some_finished.clear()
            held, self._finished = self._finished, []
            if held:
                ids, tokens = [one for one, _ in held], [token for _, token in held]
                cursor = await connection.execute(POSTGRES_SETTLE, [ids, tokens])
                if cursor.rowcount != len(held):
                    raise RuntimeError(f"{len(held) - cursor.rowcount} leases were lost")
                self._free += len(held)
                self._room.set()


async def handle(row: tuple[Any, ...]) -> None:
    """The work: nothing."""
