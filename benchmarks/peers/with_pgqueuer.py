"""PgQueuer: `with_pgqueuer.py DSN ROWS asyncpg|psycopg BATCH`."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
import time

import asyncpg
import psycopg
from pgqueuer.db import AsyncpgDriver, PsycopgDriver
from pgqueuer.models import Job
from pgqueuer.qm import QueueManager
from pgqueuer.queries import Queries
from pgqueuer.types import QueueExecutionMode

logging.disable(logging.INFO)
CHUNK = 2_000


async def connect(driver: str, dsn: str) -> AsyncpgDriver | PsycopgDriver:
    if driver == "asyncpg":
        return AsyncpgDriver(await asyncpg.connect(dsn))
    return PsycopgDriver(await psycopg.AsyncConnection.connect(dsn, autocommit=True))


async def main(dsn: str, rows: int, driver: str, batch: int) -> None:
    queries = Queries(await connect(driver, dsn))
    await queries.install()
    for first in range(0, rows, CHUNK):
        count = min(CHUNK, rows - first)
        await queries.enqueue(["work"] * count, [b"x" * 64] * count, [0] * count)
    manager = QueueManager(Queries(await connect(driver, dsn)))

    @manager.entrypoint("work")
    async def work(job: Job) -> None:
        times.append(time.perf_counter())

    times: list[float] = []
    await manager.run(batch_size=batch, mode=QueueExecutionMode.drain)
    left = sum(one.count for one in await queries.queue_size())
    print(json.dumps({"seconds": times[-1] - times[0], "left": left}))


asyncio.run(main(sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4])))
