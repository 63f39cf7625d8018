"""Claims by hand: ours, the loop written by hand, and on PostgreSQL the server's own limit."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from benchmarks import pgbench
from benchmarks.case import Case, Contender, Kind, timed
from benchmarks.goals import OfHandWritten
from benchmarks.loops import LEASES, ROW_LOCK, Loop
from benchmarks.park import Park
from benchmarks.tables import QUEUE, Table
from benchmarks.threads import on_threads
from sqlclaimgen.runtime import transaction


def claim_and_acknowledge(table: Table, limit: int, threads: int) -> None:
    """Claim and acknowledge with the generated module until a claim finds nothing."""
    module = table.module

    def work() -> None:
        with contextlib.closing(table.connect()) as connection:
            claimed = limit
            while claimed:
                with module.claim(connection, group=QUEUE, limit=limit) as deliveries:
                    claimed = acknowledge(connection, deliveries, together=limit > 1)

    on_threads(threads, work)


def acknowledge(connection: Any, deliveries: Any, *, together: bool) -> int:
    """Acknowledge the rows of a claim: one by itself, several in one transaction."""
    count = 0
    with transaction(connection) if together else contextlib.nullcontext():
        for delivery in deliveries:
            delivery.ack(connection)
            count += 1
    return count


def contenders(
    table: Callable[[], Table],
    limit: int,
    threads: int,
    loop: Loop,
    script: str | None = None,
) -> tuple[Contender, ...]:
    """Ours and hand-written over one table, and pgbench where there is a script."""
    one = table()
    ours = partial(_ours, one, limit, threads)
    hand = partial(_hand, one, limit, threads, loop)
    found = [
        Contender(kind=kind, name=kind.value, run=timed(work), prepare=one.refill, left=one.left)
        for kind, work in ((Kind.OURS, ours), (Kind.HAND, hand))
    ]
    if script is not None:
        found.append(pgbench.contender(one, script, limit, clients=threads))
    return tuple(found)


def _ours(table: Table, limit: int, threads: int, rows: int) -> None:
    claim_and_acknowledge(table, limit, threads)


def _hand(table: Table, limit: int, threads: int, loop: Loop, rows: int) -> None:
    loop.work_off(table, limit, threads)


def cases(park: Park) -> list[Case]:
    """Leases on every database, row locks on PostgreSQL."""
    return [*_leases_on_postgres(park), *_row_locks(park), *_leases_elsewhere(park)]


def _leases_on_postgres(park: Park) -> Iterator[Case]:
    sizes = ((100, 1, 40_000, 8_000), (1, 1, 3_000, 600), (1, 8, 6_000, 1_200))
    for limit, threads, rows, quick in sizes:
        yield Case(
            title=f"by hand, claims of {limit}, {_threads(threads)}",
            server="postgres",
            rows=rows,
            quick=quick,
            contenders=partial(
                contenders,
                partial(park.table, "postgres", "lease_jobs"),
                limit,
                threads,
                LEASES["postgres"],
                pgbench.LEASE,
            ),
            goals=(OfHandWritten(0.8),),
        )


def _row_locks(park: Park) -> Iterator[Case]:
    sizes: tuple[tuple[int, int, int | None], ...] = ((1, 3_000, 600), (8, 6_000, None))
    for threads, rows, quick in sizes:
        yield Case(
            title=f"row lock by hand, claims of 1, {_threads(threads)}",
            server="postgres",
            rows=rows,
            quick=quick,
            contenders=partial(
                contenders,
                partial(park.table, "postgres", "row_lock_jobs"),
                1,
                threads,
                ROW_LOCK,
                pgbench.ROW_LOCK,
            ),
            goals=(OfHandWritten(0.8),),
        )


def _leases_elsewhere(park: Park) -> Iterator[Case]:
    sizes: tuple[tuple[str, float, int, int, int | None], ...] = (
        ("sqlite", 0.6, 10, 20_000, None),
        ("sqlite", 0.6, 100, 60_000, 20_000),
        ("mysql", 0.7, 10, 5_000, None),
        ("mysql", 0.7, 100, 20_000, 5_000),
        ("mariadb", 0.7, 10, 5_000, None),
        ("mariadb", 0.7, 100, 20_000, 5_000),
    )
    for dialect, part, limit, rows, quick in sizes:
        yield Case(
            title=f"by hand, claims of {limit}, {_threads(1)}",
            server=dialect,
            rows=rows,
            quick=quick,
            contenders=partial(
                contenders,
                partial(park.table, dialect, "lease_jobs"),
                limit,
                1,
                LEASES[dialect],
            ),
            goals=(OfHandWritten(part),),
        )


def _threads(count: int) -> str:
    return "1 thread" if count == 1 else f"{count} threads"
