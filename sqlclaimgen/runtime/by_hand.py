"""What generated modules call: claim, settle and enqueue on the caller's own blocking connection."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any, TypeVar

from sqlclaimgen.runtime import calls
from sqlclaimgen.runtime.claims import Claim
from sqlclaimgen.runtime.connections import Connection
from sqlclaimgen.runtime.deliveries import Delivery, LeaseDelivery
from sqlclaimgen.runtime.driving import drive, session_of
from sqlclaimgen.runtime.outcomes import AnyOutcome
from sqlclaimgen.runtime.protocols.scope import Scope
from sqlclaimgen.runtime.queue import Queue

D = TypeVar("D")
N = TypeVar("N")
I = TypeVar("I")
L = TypeVar("L", bound=LeaseDelivery[Any, Any])

_NOW = timedelta(0)


def enqueue(
    queue: Queue[Any, Any, N, I],
    conn: Connection,
    new: N,
    delay: timedelta = _NOW,
    at: datetime | None = None,
) -> I:
    """Add a row in the transaction of `conn`, never committing it. Returns the row's id."""
    return enqueue_many(queue, conn, [new], delay, at)[0]


def enqueue_many(
    queue: Queue[Any, Any, N, I],
    conn: Connection,
    rows: Iterable[N],
    delay: timedelta = _NOW,
    at: datetime | None = None,
) -> list[I]:
    """Add rows in the transaction of `conn`. Returns their ids, in order."""
    session = session_of(conn, table=queue.table)
    return drive(session, calls.enqueue_many(queue, session, rows, delay, at), table=queue.table)


def claim(queue: Queue[D, Any, Any, Any], conn: Connection, scope: Scope, limit: int) -> Claim[D]:
    """Take up to `limit` due rows. Raises TransactionOpen when `conn` has a transaction open, and
    ValueError for a limit below 1."""
    session = session_of(conn, table=queue.table)
    opened = drive(session, calls.claim(queue, session, scope, limit), table=queue.table)
    return Claim(session, opened)


def settle(conn: Connection, delivery: Delivery[Any, Any], outcome: AnyOutcome) -> None:
    """Write an outcome. Joins the transaction open on `conn`, or commits its own."""
    table = delivery.bound.queue.table
    session = session_of(conn, table=table)
    drive(session, calls.settle(session, delivery, outcome), table=table)


def extend(queue: Queue[L, Any, Any, Any], conn: Connection, deliveries: Iterable[L]) -> list[L]:
    """Move the expiry of every delivery in work and commit. Returns those that are lost."""
    session = session_of(conn, table=queue.table)
    return drive(session, calls.extend(queue, session, deliveries), table=queue.table)


def release(queue: Queue[L, Any, Any, Any], conn: Connection, deliveries: Iterable[L]) -> None:
    """Give unsettled deliveries back at once, with their attempt. Those that were lost are passed over."""
    session = session_of(conn, table=queue.table)
    drive(session, calls.release(queue, session, deliveries), table=queue.table)
