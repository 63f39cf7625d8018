"""What generated modules call to look after a table: redrive, stats, purge. Blocking."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Any, TypeVar

from sqlclaimgen.runtime.connections import Connection
from sqlclaimgen.runtime.driving import read_clock, run, session_of
from sqlclaimgen.runtime.errors import TransactionOpen
from sqlclaimgen.runtime.protocols import care
from sqlclaimgen.runtime.protocols import stats as counting
from sqlclaimgen.runtime.protocols.care import PAGE
from sqlclaimgen.runtime.protocols.scope import Scope
from sqlclaimgen.runtime.protocols.stats import Count as Count
from sqlclaimgen.runtime.protocols.stats import Stats as Stats
from sqlclaimgen.runtime.queue import Bound, Queue
from sqlclaimgen.runtime.steps import Protocol

Id = TypeVar("Id")
T = TypeVar("T")


def redrive(
    queue: Queue[Any, Any, Any, Id],
    conn: Connection,
    ids: Iterable[Id] | None,
    limit: int | None = None,
) -> list[Id]:
    """Bring dead letters back: these, all or none, or up to `limit` of the oldest. Returns the ids
    of those that came back. Joins the transaction open on `conn`, or commits its own.

    Raises AlreadyQueued when the id or the key of one of `ids` is queued again; with `limit` such
    rows are passed over. Raises ValueError when both or neither are given, and for a limit below 1.
    """
    if (ids is None) is (limit is None):
        raise ValueError("redrive takes either ids or limit")
    if limit is not None and limit < 1:
        raise ValueError(f"limit is {limit}; a redrive brings back at least one row")
    session = session_of(conn, table=queue.table)
    bound = queue.bind(session.dialect)
    joined = session.in_transaction
    if ids is not None:
        protocol = care.redrive(bound, list(ids), joined=joined)
    else:
        protocol = care.redrive_oldest(bound, limit or PAGE, joined=joined)
    back: list[Id] = run(session, bound, protocol)
    return back


def stats(queue: Queue[Any, Any, Any, Any], conn: Connection, scope: Scope) -> Stats:
    """Count due, delayed, leased and dead rows, as far as 10,000 of each. Leaves no transaction open
    that was not open before."""
    return _look(queue, conn, lambda bound: counting.stats(bound, scope))


def row_security(queue: Queue[Any, Any, Any, Any], conn: Connection) -> bool:
    """Whether row level security decides which rows of the table this login sees. Leaves no transaction
    open that was not open before."""
    return _look(queue, conn, counting.row_security)


def _look(
    queue: Queue[Any, Any, Any, Any], conn: Connection, protocol: Callable[[Bound], Protocol[T]]
) -> T:
    session = session_of(conn, table=queue.table)
    joined = session.in_transaction
    try:
        bound = queue.bind(session.dialect)
        return run(session, bound, protocol(bound))
    finally:
        if not joined and session.in_transaction:
            # drivers open one for a plain select
            session.rollback()


def purge(
    queue: Queue[Any, Any, Any, Any],
    conn: Connection,
    older_than: timedelta,
    limit: int | None,
    pause: timedelta,
) -> int:
    """Delete rows that were finished longer than `older_than` ago, a thousand a transaction,
    waiting `pause` between them; at most `limit` rows, all of them for None. Returns how many.

    Raises TransactionOpen when `conn` has a transaction open, and ValueError for a negative time.
    """
    if older_than < timedelta(0) or pause < timedelta(0):
        raise ValueError("older_than and pause must not be negative")
    session = session_of(conn, table=queue.table)
    if session.in_transaction:
        raise TransactionOpen(
            f"{queue.table}: purge commits each of its batches, and this connection has a "
            "transaction open. Commit it first, or use another connection.",
            table=queue.table,
            statement="purge",
        )
    bound = queue.bind(session.dialect)
    read_clock(session, bound)
    before = bound.now() - older_than
    deleted = 0
    while limit is None or deleted < limit:
        size = PAGE if limit is None else min(PAGE, limit - deleted)
        count = run(session, bound, care.purge(bound, before, size))
        deleted += count
        if count < size:
            break
        time.sleep(pause.total_seconds())
    return deleted
