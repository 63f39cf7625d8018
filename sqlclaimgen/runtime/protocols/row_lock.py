"""The row lock form: the claim's transaction stays open until its rows have their outcome."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

from sqlclaimgen.runtime.batches import Batch
from sqlclaimgen.runtime.deliveries import Delivery, RowLockDelivery
from sqlclaimgen.runtime.errors import (
    BatchRolledBack,
    ClaimError,
    ClaimLost,
    FaultKind,
    SettlementUnknown,
    StatementFailed,
    WrongConnection,
)
from sqlclaimgen.runtime.outcomes import Ack, AnyOutcome, Discard, Retry, RetryAfter
from sqlclaimgen.runtime.protocols import exhausted, nesting, outcomes, scanning
from sqlclaimgen.runtime.protocols.claimed import Claimed, decoded_id
from sqlclaimgen.runtime.protocols.scope import Scope
from sqlclaimgen.runtime.protocols.taken import Taken
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

SAVEPOINT = "sqlclaimgen_claim"
"""Set after a claim whose connection somebody else can touch."""

_TRIES = 10
"""Claims above READ COMMITTED are tried so often: a row that changed after their snapshot fails them."""


def claim(
    bound: Bound, scope: Scope, limit: int, *, window: Window | None = None
) -> Protocol[Taken]:
    """Lock up to `limit` due rows in a transaction, and leave it open. Where nothing is due it is ended
    at once. A worker passes the same `window` to all its claims."""
    window = window or Window()
    for last in [False] * (_TRIES - 1) + [True]:
        try:
            return (yield from _claim(bound, scope, limit, window))
        except StatementFailed as error:
            if last or error.kind is not FaultKind.CONFLICT or bound.queue.isolation is None:
                raise
    raise AssertionError


def _claim(bound: Bound, scope: Scope, limit: int, window: Window) -> Protocol[Taken]:
    now = bound.now()
    yield Begin(bound.queue.isolation)
    try:
        rows = yield from scanning.due(bound, scope, limit, now, window)
        batch = Batch(bound.queue.table)
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
    return Taken(batch.deliveries, limit)


def _delivery(bound: Bound, row: Claimed, batch: Batch) -> Held:
    made: Held = bound.queue.delivery(
        bound, decoded_id(bound, row.id), row.attempt, row.values, batch
    )
    return made


def opened(delivery: Held) -> Protocol[None]:
    """Set the claim's savepoint: from here on somebody else can touch the connection."""
    yield Savepoint(SAVEPOINT)
    delivery.batch.savepoint = SAVEPOINT


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
    except StatementFailed as error:
        batch.lose()
        raise _lost(delivery, "its transaction ended while the handler ran") from error
    delivery.settled, batch.failure = False, None


def commits_with(outcome: AnyOutcome) -> bool:
    """A transactional handler's writes commit with an ack or a discard."""
    return isinstance(outcome, Ack | Discard)


def settle(delivery: Held, outcome: AnyOutcome, *, joined: bool) -> Protocol[None]:
    """Write an outcome in the claim's transaction, which commits it later. Raises ClaimLost when that
    transaction is gone, and BatchRolledBack when another settlement of the batch failed."""
    batch = delivery.batch
    if batch.failure is not None:
        raise _rolled_back(delivery) from batch.failure
    if batch.over or not joined:
        batch.lose()
        raise _lost(delivery, "the transaction that held it has ended")
    try:
        yield from nesting.prove(batch)
        written = yield from _write(delivery, outcome)
        yield from nesting.renew(batch)
    except nesting.Gone as error:
        batch.lose()
        raise _lost(delivery, "the transaction that held it has ended") from error.__cause__
    except StatementFailed as error:
        if error.kind is FaultKind.LOST:
            batch.lose()
            raise _lost(delivery, f"its session is gone: {error}") from error
        if error.kind is FaultKind.ABORTED:
            lost = _lost(delivery, "an earlier error aborted the transaction that holds it")
            batch.fail(lost)
            raise lost from error
        batch.fail(error)
        raise
    if not written:
        if not (yield from _still_open(delivery)):
            batch.lose()
            raise _lost(delivery, "the transaction that held it has ended")
        missing = _lost(delivery, "the row is not there unfinished: this transaction changed it")
        batch.fail(missing)
        raise missing
    delivery.settled, delivery.joined = True, True
    if batch.blocks:
        batch.blocks[-1].settled.append(delivery)


def _write(delivery: Held, outcome: AnyOutcome) -> Protocol[bool]:
    bound = delivery.bound
    outcome = outcomes.effective(
        bound, outcome, delivery.number, in_dead_group=exhausted.in_dead_group(delivery)
    )
    fence = {"id": bound.id(delivery.id), "transaction": delivery.batch.transaction}
    if (yield from outcomes.write(bound, outcome, fence, delivery.id)):
        return True
    if not (bound.has("present") and isinstance(outcome, Retry | RetryAfter)):
        return False
    # the driver may count rows that changed, and the row held these values already
    found = yield from bound.run("present", fence, row=delivery.id)
    return bool(found.rows)


def _still_open(delivery: Held) -> Protocol[bool]:
    """Whether the open transaction is the claim's."""
    bound, batch = delivery.bound, delivery.batch
    if bound.has("holding"):
        found = yield from bound.run("holding", {"transaction": batch.transaction})
        return bool(found.rows[0][0])
    try:
        yield from nesting.prove(batch)
        yield from nesting.renew(batch)
    except nesting.Gone:
        return False
    return True


def finish(delivery: Held, outcome: AnyOutcome) -> Protocol[None]:
    """Settle and commit. When either fails everything is rolled back and the row is due again. Raises
    SettlementUnknown when the COMMIT got no answer."""
    try:
        yield from settle(delivery, outcome, joined=True)
    except GeneratorExit:
        raise
    except BaseException:
        yield Rollback()
        delivery.batch.undo()
        raise
    yield from _commit(delivery)


def abandon(delivery: Held) -> Protocol[None]:
    """Give the row back unsettled, at once: no attempt was counted yet."""
    yield Rollback()
    delivery.batch.undo()


def leave(
    bound: Bound, deliveries: Iterable[Held], *, failed: bool = False, joined: bool = False
) -> Protocol[None]:
    """Commit what was settled; the other rows just become free. `failed`: roll everything back.

    Raises BatchRolledBack when a settlement had failed and the block ended as if none had, and
    ClaimLost when another transaction than the claim's is open: it is left alone.
    """
    held = list(deliveries)
    if not held:
        return
    batch = held[0].batch
    if failed or batch.failure is not None:
        if joined:
            yield Rollback()
        batch.undo()
        if not failed:
            raise _rolled_back(held[0]) from batch.failure
        return
    if not joined:
        # the caller ended it, and knows what became of what was settled before
        batch.lose()
        return
    try:
        still = yield from _still_open(held[0])
    except StatementFailed as error:
        yield Rollback()
        batch.undo()
        raise _lost(held[0], f"nothing of its claim was committed: {error}") from error
    if not still:
        batch.lose()
        raise _lost(
            held[0],
            "its transaction was ended inside the claim's block. The one that is open now is left alone",
        )
    yield from _commit(held[0])


def _commit(delivery: Held) -> Protocol[None]:
    batch = delivery.batch
    settled = [one for one in batch.deliveries if one.settled]
    try:
        yield Commit()
    except StatementFailed as error:
        yield Rollback()
        batch.undo()
        if error.kind is not FaultKind.LOST or not settled:
            raise
        ids = ", ".join(repr(one.id) for one in settled[:10])
        raise SettlementUnknown(
            f"{batch.table} {ids}: the server did not answer the COMMIT. The rows are finished if it "
            "counted, and due again if it did not: look at them, or let them be claimed.",
            table=batch.table,
            id=settled[0].id,
            attempt=settled[0].number,
            statement="commit",
        ) from error
    batch.lose()


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


def _lost(delivery: Held, why: str) -> ClaimLost:
    table = delivery.bound.queue.table
    return ClaimLost(
        f"{table} {delivery.id!r}: {why}. Its outcome changed nothing. Leave the claim's block, and commit "
        "nothing of this delivery: the block commits by itself, and transaction(conn) keeps an error inside.",
        table=table,
        id=delivery.id,
        attempt=delivery.number,
    )


def _rolled_back(delivery: Held) -> ClaimError:
    table = delivery.bound.queue.table
    return BatchRolledBack(
        f"{table} {delivery.id!r}: a settlement of this claim failed, so all of it is rolled back and its "
        f"rows are due again. The failure was: {delivery.batch.failure}",
        table=table,
        id=delivery.id,
        attempt=delivery.number,
    )
