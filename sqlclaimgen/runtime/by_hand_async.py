"""What generated modules call over the caller's own asyncio connection."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any, TypeVar

from sqlclaimgen.runtime import calls, caring
from sqlclaimgen.runtime.claims_async import AsyncClaim
from sqlclaimgen.runtime.connections import AsyncPostgresConnection
from sqlclaimgen.runtime.deliveries import Delivery, LeaseDelivery
from sqlclaimgen.runtime.driving_async import async_session_of, drive_async
from sqlclaimgen.runtime.outcomes import AnyOutcome
from sqlclaimgen.runtime.protocols.care import Redriven
from sqlclaimgen.runtime.protocols.purging import Purged
from sqlclaimgen.runtime.protocols.scope import Scope
from sqlclaimgen.runtime.protocols.stats import S
from sqlclaimgen.runtime.queue import Queue

D = TypeVar("D")
N = TypeVar("N")
I = TypeVar("I")
L = TypeVar("L", bound=LeaseDelivery[Any, Any])

_NOW = timedelta(0)


async def enqueue_async(
    queue: Queue[Any, Any, N, I],
    conn: AsyncPostgresConnection,
    new: N,
    delay: timedelta = _NOW,
    at: datetime | None = None,
) -> I:
    """Add a row in the transaction of `conn`, never committing it. Returns the row's id."""
    return (await enqueue_many_async(queue, conn, [new], delay, at))[0]


async def enqueue_many_async(
    queue: Queue[Any, Any, N, I],
    conn: AsyncPostgresConnection,
    rows: Iterable[N],
    delay: timedelta = _NOW,
    at: datetime | None = None,
) -> list[I]:
    """Add rows in the transaction of `conn`. Returns their ids, in order."""
    session = async_session_of(conn, table=queue.table)
    adding = calls.enqueue_many(queue, session, rows, delay, at)
    return await drive_async(session, adding, table=queue.table)


def claim_async(
    queue: Queue[D, Any, Any, Any], conn: AsyncPostgresConnection, scope: Scope, limit: int
) -> AsyncClaim[D]:
    """A claim of up to `limit` due rows, which is made when its `async with` block is entered; that
    raises TransactionOpen when `conn` has a transaction open, and ValueError for a limit below 1."""
    return AsyncClaim(queue, conn, scope, limit)


async def settle_async(
    conn: AsyncPostgresConnection, delivery: Delivery[Any, Any], outcome: AnyOutcome
) -> None:
    """Write an outcome. Joins the transaction open on `conn`, or commits its own."""
    table = delivery.bound.queue.table
    session = async_session_of(conn, table=table)
    await drive_async(session, calls.settle(session, delivery, outcome), table=table)


async def extend_async(
    queue: Queue[L, Any, Any, Any], conn: AsyncPostgresConnection, deliveries: Iterable[L]
) -> list[L]:
    """Move the expiry of every delivery in work and commit. Returns those that are lost."""
    session = async_session_of(conn, table=queue.table)
    extending = calls.extend(queue, session, deliveries)
    return await drive_async(session, extending, table=queue.table)


async def release_async(
    queue: Queue[L, Any, Any, Any], conn: AsyncPostgresConnection, deliveries: Iterable[L]
) -> None:
    """Give unsettled deliveries back at once. Those that were lost are passed over."""
    session = async_session_of(conn, table=queue.table)
    releasing = calls.release(queue, session, deliveries)
    await drive_async(session, releasing, table=queue.table)


async def redrive_async(
    queue: Queue[Any, Any, Any, I],
    conn: AsyncPostgresConnection,
    ids: Iterable[I] | None,
    limit: int | None = None,
) -> Redriven[I]:
    """Bring dead letters back, as `redrive` does."""
    session = async_session_of(conn, table=queue.table)
    redriving = caring.redrive(queue, session, ids, limit)
    return await drive_async(session, redriving, table=queue.table)


async def stats_async(
    queue: Queue[Any, Any, Any, Any], conn: AsyncPostgresConnection, scope: Scope, kind: type[S]
) -> S:
    """Count rows, as `stats` does."""
    session = async_session_of(conn, table=queue.table)
    return await drive_async(session, caring.stats(queue, session, scope, kind), table=queue.table)


async def purge_async(
    queue: Queue[Any, Any, Any, Any],
    conn: AsyncPostgresConnection,
    older_than: timedelta,
    limit: int | None,
    pause: timedelta,
) -> Purged:
    """Delete rows that were finished long ago, as `purge` does, and with its errors."""
    session = async_session_of(conn, table=queue.table)
    purging = caring.purge(queue, session, older_than, limit, pause)
    return await drive_async(session, purging, table=queue.table)
