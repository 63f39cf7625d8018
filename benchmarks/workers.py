"""Workers: ours on threads and on asyncio, a worker written by hand, and peers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

import psycopg

from benchmarks import peers
from benchmarks.asyncio_loop import AsyncioLoop
from benchmarks.case import Case, Contender, Kind, timed
from benchmarks.goals import AtLeast, OfBestPeer, OfHandWritten
from benchmarks.loops import ROW_LOCK
from benchmarks.park import Park
from benchmarks.tables import QUEUE, Table
from sqlclaimgen.runtime import AsyncWorker, Worker


def handle(delivery: Any) -> None:
    """The work: nothing."""


async def handle_async(delivery: Any) -> None:
    """The work: nothing."""


def on_threads(table: Table, concurrency: int, rows: int) -> None:
    """A Worker, from its start to the end of its run, start-up checks included."""
    Worker(
        table.module.QUEUE,
        handle,
        connect=table.connect,
        groups=[QUEUE],
        concurrency=concurrency,
        signals=False,
    ).run(until="empty")


def on_asyncio(table: Table, concurrency: int, rows: int) -> None:
    """An AsyncWorker, likewise."""

    async def run() -> None:
        def connect() -> Any:
            return psycopg.AsyncConnection.connect(table.dsn)

        await AsyncWorker(
            table.module.QUEUE,
            handle_async,
            connect=connect,
            groups=[QUEUE],
            concurrency=concurrency,
            signals=False,
        ).run(until="empty")

    asyncio.run(run())


def _hand_on_asyncio(table: Table, concurrency: int, rows: int) -> None:
    async def run() -> None:
        await AsyncioLoop(table.dsn, concurrency).run()

    asyncio.run(run())


def _hand_row_lock(table: Table, threads: int, rows: int) -> None:
    ROW_LOCK.work_off(table, 1, threads)


def contender(
    kind: Kind,
    table: Table,
    work: Callable[[Table, int, int], None],
    concurrency: int,
    keys: int = 1,
) -> Contender:
    """One way of working the table off."""
    return Contender(
        kind=kind,
        name=kind.value,
        run=timed(partial(work, table, concurrency)),
        prepare=partial(table.refill, keys=keys),
        left=table.left,
    )


def _asyncio(park: Park, concurrency: int) -> tuple[Contender, ...]:
    table = park.table("postgres", "lease_jobs")
    return (
        contender(Kind.OURS, table, on_asyncio, concurrency),
        contender(Kind.HAND, table, _hand_on_asyncio, concurrency),
        *peers.on_postgres(park, concurrency),
    )


def _threads(park: Park, name: str, concurrency: int, keys: int = 1) -> tuple[Contender, ...]:
    table = park.table("postgres", name)
    return (contender(Kind.OURS, table, on_threads, concurrency, keys),)


def _row_lock(park: Park) -> tuple[Contender, ...]:
    table = park.table("postgres", "row_lock_jobs")
    return (
        contender(Kind.OURS, table, on_threads, 8),
        contender(Kind.HAND, table, _hand_row_lock, 8),
    )


def _sqlite(park: Park) -> tuple[Contender, ...]:
    table = park.table("sqlite", "lease_jobs")
    return (contender(Kind.OURS, table, on_threads, 64), *peers.on_sqlite(park))


def cases(park: Park) -> list[Case]:
    """On PostgreSQL every form, on SQLite leases."""
    found = [
        Case(
            title=f"AsyncWorker, concurrency {concurrency:,}",
            server="postgres",
            rows=30_000,
            quick=quick,
            contenders=partial(_asyncio, park, concurrency),
            goals=(OfHandWritten(0.6), OfBestPeer(2)),
        )
        for concurrency, quick in ((100, 6_000), (1_000, None))
    ]
    found += [
        Case(
            title=f"Worker, concurrency {concurrency}",
            server="postgres",
            rows=10_000,
            quick=quick,
            contenders=partial(_threads, park, "lease_jobs", concurrency),
            goals=(AtLeast(4_000),),
        )
        for concurrency, quick in ((8, 2_000), (64, None))
    ]
    found += [
        Case(
            title="Worker, row lock, concurrency 8",
            server="postgres",
            rows=6_000,
            quick=1_200,
            contenders=partial(_row_lock, park),
            goals=(OfHandWritten(0.7),),
        ),
        Case(
            title="Worker, advisory lock, concurrency 8, 1,000 keys",
            server="postgres",
            rows=5_000,
            quick=1_000,
            contenders=partial(_threads, park, "advisory_jobs", 8, 1_000),
            goals=(AtLeast(1_200),),
        ),
        Case(
            title="Worker, concurrency 64",
            server="sqlite",
            rows=20_000,
            quick=4_000,
            contenders=partial(_sqlite, park),
            goals=(AtLeast(8_000),),
        ),
    ]
    return found
