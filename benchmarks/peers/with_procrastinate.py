"""procrastinate: `with_procrastinate.py DSN ROWS CONCURRENCY`."""

from __future__ import annotations

import asyncio
import json
import sys
import time

import procrastinate


async def main(dsn: str, rows: int, concurrency: int) -> None:
    app = procrastinate.App(
        connector=procrastinate.PsycopgConnector(conninfo=dsn, min_size=2, max_size=20)
    )

    @app.task(name="work")
    async def work(payload: str) -> None:
        times.append(time.perf_counter())

    times: list[float] = []

    async with app.open_async():
        await app.schema_manager.apply_schema_async()
        await work.batch_defer_async(*({"payload": "x" * 64} for _ in range(rows)))
        await app.run_worker_async(
            wait=False,
            concurrency=concurrency,
            delete_jobs="always",
            install_signal_handlers=False,
        )
        left = len(list(await app.job_manager.list_jobs_async()))
    print(json.dumps({"seconds": times[-1] - times[0], "left": left}))


asyncio.run(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
