"""What generated modules call to look after a table: redrive, stats, purge. Blocking."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Any, TypeVar

from sqlclaimgen.runtime import caring
from sqlclaimgen.runtime.connections import Connection
from sqlclaimgen.runtime.driving import drive, session_of
from sqlclaimgen.runtime.protocols.care import Redriven as Redriven
from sqlclaimgen.runtime.protocols.piecewise import Kept as Kept
from sqlclaimgen.runtime.protocols.purging import Purged as Purged
from sqlclaimgen.runtime.protocols.scope import Scope
from sqlclaimgen.runtime.protocols.stats import Count as Count
from sqlclaimgen.runtime.protocols.stats import S
from sqlclaimgen.runtime.protocols.stats import Stats as Stats
from sqlclaimgen.runtime.protocols.stats import StatsWithDead as StatsWithDead
from sqlclaimgen.runtime.queue import Queue

Id = TypeVar("Id")


def redrive(
    queue: Queue[Any, Any, Any, Id],
    conn: Connection,
    ids: Iterable[Id] | None,
    limit: int | None = None,
    stay: dict[Any, str] | None = None,
) -> Redriven[Id]:
    """Bring dead letters back: these, all or none, or up to `limit` of the oldest. Returns the ids
    of those that came back. Joins the transaction open on `conn`, or commits its own.

    Raises AlreadyQueued when the id or the key of one of `ids` is queued again, and StatementFailed when
    the database refuses one. With `limit` both are passed over; what was refused is in the result's
    `kept`, and in the log. `stay` has the letters that an earlier call of the same run passed over: this
    one does not try them again, and adds its own. Raises ValueError when both or neither are given, and
    for a limit below 1.
    """
    session = session_of(conn, table=queue.table)
    return drive(session, caring.redrive(queue, session, ids, limit, stay), table=queue.table)


def stats(queue: Queue[Any, Any, Any, Any], conn: Connection, scope: Scope, kind: type[S]) -> S:
    """Count due, delayed, leased and dead rows, as far as 10,000 of each, into a `kind` of Stats. Leaves
    no transaction open that was not open before."""
    session = session_of(conn, table=queue.table)
    return drive(session, caring.stats(queue, session, scope, kind), table=queue.table)


def row_security(queue: Queue[Any, Any, Any, Any], conn: Connection) -> bool:
    """Whether row level security decides which rows of the table this login sees. Leaves no transaction
    open that was not open before."""
    session = session_of(conn, table=queue.table)
    return drive(session, caring.row_security(queue, session), table=queue.table)


def purge(
    queue: Queue[Any, Any, Any, Any],
    conn: Connection,
    older_than: timedelta,
    limit: int | None,
    pause: timedelta,
) -> Purged:
    """Delete rows that were finished longer than `older_than` ago, a thousand a transaction,
    waiting `pause` between them; at most `limit` rows, all of them for None. Returns how many.

    A row that the database refuses to delete stays and holds up no other: it is in the result's `kept`,
    and in the log. Raises TransactionOpen when `conn` has a transaction open, and ValueError for a
    negative time.
    """
    session = session_of(conn, table=queue.table)
    purging = caring.purge(queue, session, older_than, limit, pause)
    return drive(session, purging, table=queue.table)
