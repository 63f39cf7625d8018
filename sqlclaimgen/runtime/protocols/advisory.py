"""The advisory lock form: a session lock on a key holds the row, on the connection that claimed it.

Session locks are re-entrant, so a connection claims one row at a time, and gives its key back before
the next. Every step of a claim knows what it has locked; where that cannot be told any more the
connection is closed, and the database gives the lock back.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, TypeAlias

from sqlclaimgen.runtime.deliveries import AdvisoryDelivery, Delivery
from sqlclaimgen.runtime.errors import (
    ClaimLost,
    FaultKind,
    SettlementUnknown,
    StatementFailed,
    TransactionOpen,
    WrongConnection,
)
from sqlclaimgen.runtime.keys import KeyLock
from sqlclaimgen.runtime.outcomes import Ack, AnyOutcome, DeadLetter, Discard, Retry, RetryAfter
from sqlclaimgen.runtime.protocols import exhausted, keyed, outcomes
from sqlclaimgen.runtime.protocols.claimed import Claimed, claimed, decoded_id
from sqlclaimgen.runtime.protocols.held import Memory
from sqlclaimgen.runtime.protocols.keyed import Candidate
from sqlclaimgen.runtime.protocols.scope import Scope
from sqlclaimgen.runtime.protocols.taken import Taken
from sqlclaimgen.runtime.protocols.transaction import in_transaction, joining
from sqlclaimgen.runtime.queue import Bound
from sqlclaimgen.runtime.steps import Begin, Close, Commit, Protocol, Rollback

Held: TypeAlias = AdvisoryDelivery[Any, Any]

survives_sessions = False
frees_others = True
"""The other rows of its key."""

MOST_PASSED = 100
"""Rows that were settled between look and lock, before a claim leaves the rest to the next poll."""

_TRIES = 5
"""Settlements are tried so often after a conflict."""

_log = logging.getLogger("sqlclaimgen")


def claim(
    bound: Bound, scope: Scope, limit: int = 1, *, held: Iterable[Held] = ()
) -> Protocol[Taken]:
    """Take one due row whose key nobody holds, count its attempt, and commit: one row, whatever the
    limit. `held` are deliveries of this process whose keys need not be tried."""
    now = bound.now()
    locks = [delivery.lock.name for delivery in held if delivery.lock is not None]
    won: list[KeyLock] = []
    yield Begin()
    try:
        taken = yield from _claim(bound, scope, now, locks, won)
        yield Commit()
    except GeneratorExit:
        raise
    except BaseException:
        yield Rollback()
        for lock in won:
            yield from _unlock(bound, lock)
        raise
    if not taken.deliveries:
        for lock in won:
            yield from _unlock(bound, lock)
    return taken


def claim_one(bound: Bound, scope: Scope, memory: Memory) -> Protocol[Taken]:
    """Take one due row, for a worker."""
    held: Any = memory.deliveries
    return claim(bound, scope, held=held)


def _claim(
    bound: Bound, scope: Scope, now: datetime, locks: Sequence[Any], won: list[KeyLock]
) -> Protocol[Taken]:
    parameters: dict[str, Any] = {"now": bound.codec.time(now)}
    if scope.group is not None and bound.queue.group is not None:
        parameters["group"] = bound.codec.encode(bound.queue.group.kind, scope.group)
    for _ in range(MOST_PASSED):
        found = yield from keyed.candidate(bound, scope, parameters, locks)
        if found is None:
            break
        won.append(found.lock)
        row = yield from _take(bound, scope, parameters, found)
        if row is None:
            # settled between look and lock
            confirmed = yield from _given_back(bound, found.lock)
            won.clear()
            if not confirmed:
                raise _unconfirmed(bound, found.lock)
        elif _is_spent(bound, row):
            fenced = _fence(row, found.lock)
            if not (yield from outcomes.write(bound, DeadLetter(exhausted.REASON), fenced, row.id)):
                raise _unconfirmed(bound, found.lock)
            return Taken([], 1, exhausted=1)
        else:
            return Taken([_delivery(bound, row, found.lock)], 1)
    else:
        return Taken([], 1, more=True)
    return Taken([], 1)


def _take(
    bound: Bound, scope: Scope, parameters: dict[str, Any], found: Candidate
) -> Protocol[Claimed | None]:
    """The row, read again under its full condition now that its key is held, its attempt counted."""
    named = {**parameters, **found.named}
    id = decoded_id(bound, found.id)
    result = yield from bound.run("take" + scope.suffix, named, row=id)
    rows = claimed(bound, result.rows)
    if rows and bound.has("take_write"):
        yield from bound.run("take_write", named, row=id)
    return rows[0] if rows else None


def _is_spent(bound: Bound, row: Claimed) -> bool:
    most = bound.queue.max_attempts
    return most is not None and row.attempt > most and not exhausted.row_in_dead_group(bound, row)


def _delivery(bound: Bound, row: Claimed, lock: KeyLock) -> Held:
    made: Held = bound.queue.delivery(
        bound, decoded_id(bound, row.id), row.attempt, row.values, lock
    )
    return made


def _fence(row: Claimed, lock: KeyLock) -> dict[str, Any]:
    return {
        "id": row.id,
        "attempt": row.attempt + 1,
        "lock": lock.name,
        "lock_name": lock.name,
        "session": lock.session,
    }


def fence(delivery: Held, lock: KeyLock) -> dict[str, Any]:
    """The parameters that a fenced statement compares with the row and the session."""
    row = Claimed(delivery.bound.id(delivery.id), delivery.number, (), ())
    return _fence(row, lock)


def settle(delivery: Held, outcome: AnyOutcome, *, joined: bool = False) -> Protocol[None]:
    """Write an outcome, in the open transaction or one of its own; then, and only after its own
    COMMIT, give the key back. Raises ClaimLost when the row is not this delivery's any more, and
    SettlementUnknown when a COMMIT of its own got no answer."""
    try:
        yield from joining(_write(delivery, outcome), joined=joined)
    except ClaimLost:
        delivery.lost = True
        raise
    except StatementFailed as error:
        if error.kind is not FaultKind.LOST:
            raise
        yield from _gone(delivery)
        if error.statement == "commit":
            raise _unknown(delivery) from error
        raise _lost(delivery, f"its session is gone: {error}") from error
    delivery.settled, delivery.joined = True, joined
    if not joined:
        yield from unlock(delivery)


def _write(delivery: Held, outcome: AnyOutcome) -> Protocol[None]:
    bound, lock = delivery.bound, delivery.lock
    if lock is None:
        raise _lost(delivery, "its key was given back")
    outcome = outcomes.effective(
        bound, outcome, delivery.number, in_dead_group=exhausted.in_dead_group(delivery)
    )
    parameters = fence(delivery, lock)
    if (yield from outcomes.write(bound, outcome, parameters, delivery.id)):
        return
    if bound.has("present") and isinstance(outcome, Retry | RetryAfter):
        # the driver may count rows that changed, and the row held these values already
        if (yield from bound.run("present", parameters, row=delivery.id)).rows:
            return
    raise _lost(
        delivery,
        "the row is finished, another claim has it, or the session that held its key was replaced",
    )


def unlock(delivery: Held) -> Protocol[None]:
    """Give the key back, once: after the COMMIT of what the delivery wrote. Never fails: where the
    database does not confirm it the connection is closed."""
    lock, delivery.lock = delivery.lock, None
    if lock is not None:
        yield from _unlock(delivery.bound, lock)


def _unlock(bound: Bound, lock: KeyLock) -> Protocol[None]:
    try:
        confirmed = yield from _given_back(bound, lock)
        if lock.session is not None:
            # outside autocommit the driver has begun a transaction for it
            yield Commit()
    except StatementFailed as error:
        if error.kind is not FaultKind.LOST:
            _log.warning("%s: closing the connection: %s", bound.queue.table, error)
        yield Close()
    except GeneratorExit:
        raise
    except BaseException:
        yield Close()
        raise
    else:
        if not confirmed:
            _log.warning(
                "%s: closing the connection: %s", bound.queue.table, _unconfirmed(bound, lock)
            )


def _given_back(bound: Bound, lock: KeyLock) -> Protocol[bool]:
    """Whether the key was given back; where not, the connection has been closed."""
    if lock.session is None:
        yield from keyed.dropped(lock)
        return True
    named = {"lock": lock.name, "lock_name": lock.name}
    result = yield from bound.run("unlock", named)
    # NULL and 0: nobody, or somebody else, holds it
    if result.rows and result.rows[0][0] in (True, 1):
        return True
    yield Close()
    return False


def opened(delivery: Held) -> Protocol[None]:
    """Open the transaction of a transactional handler, on the delivery's connection."""
    yield Begin(delivery.bound.queue.isolation)
    delivery.opened = True


def undone(delivery: Held) -> Protocol[None]:
    """Undo what a transactional handler wrote; the key stays held."""
    delivery.opened = False
    yield Rollback()


def holds(delivery: Held) -> bool:
    """Whether the key is held, as far as is known."""
    return delivery.lock is not None


def commits_with(outcome: AnyOutcome) -> bool:
    """A transactional handler's writes commit with an ack or a discard."""
    return isinstance(outcome, Ack | Discard)


def finish(delivery: Held, outcome: AnyOutcome) -> Protocol[None]:
    """Settle, commit, and give the key back. What was refused because of its text is written without
    it; after a conflict it is written again, for the key is held still. Raises ClaimLost and
    SettlementUnknown as `settle` does; after any other error the key is held."""
    if not delivery.opened:
        yield from _persistently(delivery, outcome)
        return
    try:
        yield from settle(delivery, outcome, joined=True)
    except GeneratorExit:
        raise
    except BaseException as error:
        yield from undone(delivery)
        if not isinstance(error, StatementFailed):
            yield from unlock(delivery)
        raise
    try:
        yield Commit()
    except StatementFailed as error:
        delivery.settled = False
        yield from undone(delivery)
        if error.kind is not FaultKind.LOST:
            raise
        yield from _gone(delivery)
        raise _unknown(delivery) from error
    delivery.opened = False
    yield from unlock(delivery)


def _persistently(delivery: Held, outcome: AnyOutcome) -> Protocol[None]:
    for last in [False] * (_TRIES - 1) + [True]:
        try:
            yield from settle(delivery, outcome)
            return
        except StatementFailed as error:
            plain = outcomes.without_text(outcome)
            again = error.kind is FaultKind.CONFLICT or plain != outcome
            if last or error.kind is FaultKind.LOST or not again:
                raise
            if error.kind is not FaultKind.CONFLICT:
                outcome = plain


def abandon(delivery: Held) -> Protocol[None]:
    """Give the row back unsettled, at once; with its attempt where its handler never started."""
    bound, lock = delivery.bound, delivery.lock
    if lock is None:
        return
    if delivery.opened:
        yield from undone(delivery)
    untouched = not (delivery.started or delivery.settled or delivery.lost)
    try:
        if untouched and bound.has("give_back"):
            back = bound.run("give_back", fence(delivery, lock), row=delivery.id)
            yield from in_transaction(back)
    except GeneratorExit:
        raise
    except BaseException as error:
        if isinstance(error, StatementFailed) and error.kind is FaultKind.LOST:
            # its session is gone, and the key with it
            yield from _gone(delivery)
            return
        yield from unlock(delivery)
        raise
    yield from unlock(delivery)


def leave(
    bound: Bound, deliveries: Iterable[Held], *, failed: bool = False, joined: bool = False
) -> Protocol[None]:
    """End a claim by hand: give back what was not settled, and every key.

    A transaction that is still open began inside the block, for a claim refuses an open one. The key
    cannot be given back before its COMMIT, and that is the caller's: so it is rolled back. Raises
    TransactionOpen then, unless the block raised already.
    """
    held = [delivery for delivery in deliveries if delivery.lock is not None]
    if not held:
        return
    if joined:
        yield Rollback()
    for delivery in held:
        yield from abandon(delivery)
        delivery.settled = not delivery.lost
    if joined and not failed:
        raise TransactionOpen(
            f"{bound.queue.table} {held[0].id!r}: the claim's block was left with a transaction open, which "
            "was rolled back: the row is due again. Commit inside the block, as transaction(conn) does; "
            "the key is given back when it is left.",
            table=bound.queue.table,
            id=held[0].id,
            attempt=held[0].number,
        )


def check(delivery: Delivery[Any, Any], connection: Any) -> None:
    """Raise WrongConnection unless `connection` is the one that claimed."""
    if delivery.connection is not connection:
        table = delivery.bound.queue.table
        raise WrongConnection(
            f"{table} {delivery.id!r}: the connection that claimed the row holds its key. Settle over that "
            "one: the outcome has to be committed before the key is given back.",
            table=table,
            id=delivery.id,
            attempt=delivery.number,
        )


def _gone(delivery: Held) -> Protocol[None]:
    """The session is lost, and the key's lock with it: nothing more may run over this connection."""
    delivery.lost = True
    lock, delivery.lock = delivery.lock, None
    if lock is not None and lock.session is None:
        yield from keyed.dropped(lock)
    yield Close()


def _lost(delivery: Held, why: str) -> ClaimLost:
    table = delivery.bound.queue.table
    return ClaimLost(
        f"{table} {delivery.id!r}: attempt {delivery.number} no longer holds the row: {why}. Its outcome "
        "changed nothing. Roll back what this delivery did.",
        table=table,
        id=delivery.id,
        attempt=delivery.number,
    )


def _unknown(delivery: Held) -> SettlementUnknown:
    table = delivery.bound.queue.table
    return SettlementUnknown(
        f"{table} {delivery.id!r}: the server did not answer the COMMIT of this settlement (attempt "
        f"{delivery.number}). The row is settled if it counted, and due again if it did not: look at it, "
        "or let it be claimed.",
        table=table,
        id=delivery.id,
        attempt=delivery.number,
        statement="commit",
    )


def _unconfirmed(bound: Bound, lock: KeyLock) -> StatementFailed:
    return StatementFailed(
        f"{bound.queue.table}: the database did not confirm that the key {lock.key!r} was given back, so "
        "the connection was closed. Something between here and the database may share sessions out: "
        "this form needs a direct connection, or a pooler in session mode.",
        table=bound.queue.table,
        kind=FaultKind.LOST,
        statement="unlock",
    )
