"""The row lock form: the claim's transaction stays open until its rows have their outcome."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from sqlclaimgen.runtime.batches import Batch
from sqlclaimgen.runtime.deliveries import Delivery, RowLockDelivery
from sqlclaimgen.runtime.errors import StatementFailed, WrongConnection
from sqlclaimgen.runtime.outcomes import Ack, AnyOutcome, Discard
from sqlclaimgen.runtime.protocols import fifo, joint_settling, scanning
from sqlclaimgen.runtime.protocols.claimed import Claimed, decoded_id
from sqlclaimgen.runtime.protocols.held import Memory
from sqlclaimgen.runtime.protocols.joint_settling import abandon as abandon
from sqlclaimgen.runtime.protocols.joint_settling import finish as finish
from sqlclaimgen.runtime.protocols.joint_settling import leave as leave
from sqlclaimgen.runtime.protocols.joint_settling import refunded as refunded
from sqlclaimgen.runtime.protocols.joint_settling import settle as settle
from sqlclaimgen.runtime.protocols.scope import UNGROUPED, Scope
from sqlclaimgen.runtime.protocols.taken import Taken
from sqlclaimgen.runtime.protocols.transaction import again
from sqlclaimgen.runtime.protocols.windows import Window
from sqlclaimgen.runtime.queue import Bound
from sqlclaimgen.runtime.steps import (
    Begin,
    Commit,
    Protocol,
    Rollback,
    RollbackToSavepoint,
    Savepoint,
)

Held: TypeAlias = RowLockDelivery[Any, Any]

survives_sessions = False
frees_others = False
reopens = False

SAVEPOINT = "sqlclaimgen_claim"
"""Set after a claim whose connection somebody else can touch."""

CHECK = "sqlclaimgen_claim_check"
"""There as long as the claim's transaction is."""

_TRIES = 10
"""Claims are tried so often when others are faster at the groups of a FIFO table."""


def claim(
    bound: Bound,
    scope: Scope,
    limit: int,
    *,
    window: Window | None = None,
    aside: Sequence[Any] = (),
) -> Protocol[Taken]:
    """Lock up to `limit` due rows in a transaction, and leave it open. Where nothing is due it is ended
    at once. A worker passes the same `window` to all its claims. The rows of `aside` are left out."""
    window = window or Window()
    return (yield from again(lambda: _claim(bound, scope, limit, window, aside)))


def claim_one(bound: Bound, scope: Scope, memory: Memory) -> Protocol[Taken]:
    """Lock one due row, for a worker."""
    return claim(bound, scope, 1, window=memory.window, aside=memory.aside.ids())


def _claim(
    bound: Bound, scope: Scope, limit: int, window: Window, aside: Sequence[Any]
) -> Protocol[Taken]:
    for last in [False] * (_TRIES - 1) + [True]:
        guards = fifo.Guards(bound)
        taken, raced = yield from guards.released_on_error(
            _begun(bound, scope, limit, window, guards, aside)
        )
        if taken.deliveries:
            return taken
        # the transaction has ended: guards that nothing was taken under are not kept
        yield from guards.release()
        if last or not (raced and taken.more):
            return taken
        scope = scope.resuming(taken.resume)
    raise AssertionError


def _begun(
    bound: Bound,
    scope: Scope,
    limit: int,
    window: Window,
    guards: fifo.Guards,
    aside: Sequence[Any],
) -> Protocol[tuple[Taken, bool]]:
    given = {"now": bound.codec.time(bound.now()), **bound.codec.set_aside(aside)}
    yield Begin(bound.queue.isolation)
    try:
        found = yield from _found(bound, scope, limit, given, window, guards)
        rows = found.rows
        batch = Batch(bound.queue.table, guards=guards)
        if bound.has("holding") and rows:
            batch.transaction = rows[0].rest[-1]
        batch.deliveries = [_delivery(bound, row, batch) for row in rows]
        if not rows:
            yield Commit()
    except GeneratorExit:
        raise
    except BaseException:
        yield Rollback()
        raise
    return Taken(batch.deliveries, found.limit, 0, found.turn, found.more), found.raced


def _found(
    bound: Bound,
    scope: Scope,
    limit: int,
    given: dict[str, Any],
    window: Window,
    guards: fifo.Guards,
) -> Protocol[fifo.Found]:
    if not fifo.keeps_order(bound, scope):
        return fifo.Found((yield from scanning.due(bound, scope, limit, given, window)), limit)

    def alone(missing: int) -> Protocol[list[Claimed]]:
        return (yield from scanning.due(bound, UNGROUPED, missing, given, window))

    parameters = scanning.parameters(bound, scope, given)
    return (yield from fifo.heads(bound, scope, limit, parameters, guards, alone, again=False))


def _delivery(bound: Bound, row: Claimed, batch: Batch) -> Held:
    made: Held = bound.queue.delivery(
        bound, decoded_id(bound, row.id), row.attempt, row.values, batch
    )
    return made


def opened(delivery: Held) -> Protocol[None]:
    """Set the claim's savepoint: from here on somebody else can touch the connection."""
    yield Savepoint(SAVEPOINT)
    yield from _checkable(delivery)


def _checkable(delivery: Held) -> Protocol[None]:
    """Where the database gives transactions no numbers, a second savepoint to prove by: a settlement
    releases it and sets it again, behind what the handler wrote."""
    delivery.batch.savepoint = SAVEPOINT
    if not delivery.bound.has("holding"):
        yield Savepoint(CHECK)
        delivery.batch.savepoint = CHECK


def guarded(delivery: Held) -> Protocol[None]:
    """Make it possible to prove later that the transaction is still the claim's. Where the database
    gives transactions numbers nothing is needed."""
    if not delivery.bound.has("holding"):
        yield from opened(delivery)


def undone(delivery: Held) -> Protocol[None]:
    """Undo what came after the claim's savepoint; the row stays held. Raises ClaimLost."""
    batch = delivery.batch
    try:
        yield RollbackToSavepoint(SAVEPOINT)
        yield from _checkable(delivery)
    except StatementFailed as error:
        batch.lose()
        raise joint_settling.lost(
            delivery, "its transaction ended while the handler ran"
        ) from error
    delivery.settled, batch.failure = False, None


def holds(delivery: Held) -> bool:
    """Whether the transaction that holds the row is open, as far as is known."""
    return not delivery.batch.over


def commits_with(outcome: AnyOutcome) -> bool:
    """A transactional handler's writes commit with an ack or a discard."""
    return isinstance(outcome, Ack | Discard)


def check(delivery: Delivery[Any, Any], connection: Any) -> None:
    """Raise WrongConnection unless `connection` is the one that claimed."""
    if delivery.connection is not connection:
        table = delivery.bound.queue.table
        raise WrongConnection(
            f"{table} {delivery.id!r}: the row is locked by the connection that claimed it. Settle over "
            "that one: its transaction has to commit the outcome.",
            table=table,
            id=delivery.id,
            attempt=delivery.number,
        )
