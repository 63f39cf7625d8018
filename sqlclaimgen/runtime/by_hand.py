"""What generated modules call: claim, settle and enqueue on the caller's own connection."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from datetime import timedelta
from typing import Any, TypeVar

from sqlclaimgen.runtime import batches, held_by_key, held_by_transaction, joined, publishing
from sqlclaimgen.runtime.claims import Claim
from sqlclaimgen.runtime.connections import Connection
from sqlclaimgen.runtime.deliveries import Delivery, LeaseDelivery
from sqlclaimgen.runtime.drivers.base import Session
from sqlclaimgen.runtime.driving import run, session_of
from sqlclaimgen.runtime.errors import AlreadySettled, ClaimError, Closed, TransactionOpen
from sqlclaimgen.runtime.outcomes import AnyOutcome
from sqlclaimgen.runtime.protocols import enqueuing, lease
from sqlclaimgen.runtime.protocols.forms import form_of
from sqlclaimgen.runtime.protocols.scope import Scope
from sqlclaimgen.runtime.queue import Queue

D = TypeVar("D")
N = TypeVar("N")
I = TypeVar("I")
L = TypeVar("L", bound=LeaseDelivery[Any, Any])

_log = logging.getLogger("sqlclaimgen")


def enqueue(queue: Queue[Any, Any, N, I], conn: Connection, new: N, delay: timedelta) -> I:
    """Add a row in the transaction of `conn`, never committing it. Returns the row's id."""
    return enqueue_many(queue, conn, [new], delay)[0]


def enqueue_many(
    queue: Queue[Any, Any, N, I], conn: Connection, rows: Iterable[N], delay: timedelta
) -> list[I]:
    """Add rows in the transaction of `conn`. Returns their ids, in order."""
    session = session_of(conn, table=queue.table)
    bound = queue.bind(session.dialect)
    _proven(session)
    ids: list[I] = []
    for new in rows:
        ids.append(run(session, bound, enqueuing.enqueue(bound, new, delay)))
        publishing.enqueued(queue, session)
    return ids


def claim(queue: Queue[D, Any, Any, Any], conn: Connection, scope: Scope, limit: int) -> Claim[D]:
    """Take up to `limit` due rows. Raises TransactionOpen when `conn` has a transaction open, and
    ValueError for a limit below 1."""
    if limit < 1:
        raise ValueError(f"limit is {limit}; a claim takes at least one row")
    session = session_of(conn, table=queue.table)
    held_by_key.refuse_second(queue, conn)
    _idle(session, queue.table, "claim")
    form = form_of(queue)
    bound = queue.bind(session.dialect)
    taken = run(session, bound, form.claim(bound, scope, limit))
    deliveries: Any = taken.deliveries
    for delivery in taken.deliveries:
        delivery.connection = conn
    holder = held_by_transaction.hold(session, taken)
    held_by_key.hold(conn, taken)

    def leave(failed: bool) -> bool:
        if session.broken and form.survives_sessions:
            # nothing can run on this connection; what it held comes back when its lease ends
            _log.warning("%s: left a claim on a broken transaction", queue.table)
            return False
        # what was settled in a transaction that broke is rolled back, and that is told
        pending = any(delivery.joined for delivery in deliveries)
        inside = session.in_transaction or (session.broken and pending)
        try:
            run(session, bound, form.leave(bound, deliveries, failed=failed, joined=inside))
        finally:
            if holder is not None:
                holder.close()
        return True

    ready = None if holder is None else holder.ready
    return Claim(queue.table, deliveries, leave, ready, taken.resume, more=taken.more)


def settle(conn: Connection, delivery: Delivery[Any, Any], outcome: AnyOutcome) -> None:
    """Write an outcome. Joins the transaction open on `conn`, or commits its own."""
    _refuse(delivery, type(outcome).__name__)
    session = session_of(conn, table=delivery.bound.queue.table)
    form = form_of(delivery.bound.queue)
    form.check(delivery, conn)
    _proven(session)
    settling = form.settle(delivery, outcome, joined=session.in_transaction)
    run(session, delivery.bound, settling)
    if delivery.joined:
        joined.settled(session, delivery)


def _refuse(delivery: Delivery[Any, Any], outcome: str) -> None:
    """Raise for a delivery that an outcome is not to be written for: by nobody but its worker, no more,
    or not again."""
    kind: type[ClaimError] = ClaimError
    if delivery.worked:
        why = (
            f"the worker settles this delivery, with what its handler returns: {outcome} was refused. "
            "Return the outcome instead of writing it."
        )
    elif delivery.given_back:
        kind = Closed
        why = (
            "the row was given back without an outcome when the claim's block was left, or by a release; "
            f"{outcome} was refused. Settle inside the block."
        )
    elif delivery.settled:
        kind = AlreadySettled
        where = (
            " in a transaction of yours. Where that was rolled back, leave the claim's block: it gives the "
            "row back. A rollback of transaction(conn) tells the delivery by itself"
        )
        inside = where if delivery.joined else ""
        why = f"this delivery is settled{inside}; a second outcome ({outcome}) was refused."
    else:
        return
    table = delivery.bound.queue.table
    raise kind(
        f"{table} {delivery.id!r}: {why}", table=table, id=delivery.id, attempt=delivery.number
    )


def extend(queue: Queue[L, Any, Any, Any], conn: Connection, deliveries: Iterable[L]) -> list[L]:
    """Move the expiry of every delivery in work and commit. Returns those that are lost."""
    session = session_of(conn, table=queue.table)
    _idle(session, queue.table, "extend")
    bound = queue.bind(session.dialect)
    lost: Any = run(session, bound, lease.extend(bound, deliveries))
    return list(lost)


def release(queue: Queue[L, Any, Any, Any], conn: Connection, deliveries: Iterable[L]) -> None:
    """Give unsettled deliveries back at once. Those that were lost are passed over."""
    session = session_of(conn, table=queue.table)
    bound = queue.bind(session.dialect)
    inside = session.in_transaction
    given = [delivery for delivery in deliveries if delivery.joined or not delivery.settled]
    run(session, bound, lease.leave(bound, given, failed=False, joined=inside))
    for delivery in given:
        delivery.given_back = not inside
        if inside:
            delivery.joined = True
            joined.settled(session, delivery)


def _proven(session: Session) -> None:
    """Raise StatementFailed inside a block of `transaction` whose transaction is over: what runs there
    would be committed alone."""
    if joined.inside(session) and batches.on(session.connection) is None:
        joined.look(session)


def _idle(session: Session, table: str, statement: str) -> None:
    if session.in_transaction:
        raise TransactionOpen(
            f"{table}: {statement} begins and commits a transaction of its own, and this connection has "
            "one open. Commit it first, or use another connection.",
            table=table,
            statement=statement,
        )
