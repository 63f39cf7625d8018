"""Settling rows that a transaction holds: in that transaction, or not at all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Any, TypeAlias

from sqlclaimgen.runtime.deliveries import RowLockDelivery
from sqlclaimgen.runtime.errors import (
    BatchRolledBack,
    ClaimError,
    ClaimLost,
    FaultKind,
    SettlementUnknown,
    StatementFailed,
    WriteIgnored,
)
from sqlclaimgen.runtime.outcomes import Ack, AnyOutcome, Discard
from sqlclaimgen.runtime.protocols import exhausted, nesting, outcomes
from sqlclaimgen.runtime.protocols.aside import Aside
from sqlclaimgen.runtime.queue import Bound
from sqlclaimgen.runtime.steps import CheckConstraints, Commit, Protocol, Rollback

Held: TypeAlias = RowLockDelivery[Any, Any]

TEXT = "sqlclaimgen_text"
"""Set before an outcome is written with a text: what the database may refuse of it."""


def settle(delivery: Held, outcome: AnyOutcome, *, joined: bool) -> Protocol[None]:
    """Write an outcome in the claim's transaction, which commits it later. Raises ClaimLost when that
    transaction is gone, and BatchRolledBack when another settlement of the batch failed."""
    batch = delivery.batch
    if batch.failure is not None:
        raise _rolled_back(delivery) from batch.failure
    if batch.over or not joined:
        batch.lose()
        raise lost(delivery, "the transaction that held it has ended")
    try:
        yield from nesting.prove(batch)
        try:
            written = yield from _write(delivery, outcome)
        except WriteIgnored:
            yield from nesting.renew(batch)
            raise
        yield from nesting.renew(batch)
    except nesting.Gone as error:
        batch.lose()
        raise lost(delivery, "the transaction that held it has ended") from error.__cause__
    except StatementFailed as error:
        if error.kind is FaultKind.LOST:
            gone = lost(delivery, f"its session is gone: {error}")
            batch.fail(gone)
            batch.undo()  # what was settled before is rolled back with it
            raise gone from error
        if error.kind is FaultKind.ABORTED:
            aborted = lost(delivery, "an earlier error aborted the transaction that holds it")
            batch.fail(aborted)
            raise aborted from error
        batch.fail(error)
        raise
    if not written:
        if not (yield from _still_open(delivery)):
            batch.lose()
            raise lost(delivery, "the transaction that held it has ended")
        missing = lost(delivery, "the row is not there unfinished: this transaction changed it")
        batch.fail(missing)
        raise missing
    delivery.settled, delivery.joined = True, True
    if batch.blocks:
        batch.blocks[-1].settled.append(delivery)


def _write(delivery: Held, outcome: AnyOutcome) -> Protocol[bool]:
    bound = delivery.bound
    outcome = exhausted.effective(delivery, outcome)
    fence = {"id": bound.id(delivery.spelled), "transaction": delivery.batch.transaction}
    return (yield from outcomes.write(bound, outcome, fence, delivery.id))


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


def finish(
    delivery: Held, outcome: AnyOutcome, aside: Aside | None = None
) -> Protocol[Exception | None]:
    """Settle and commit. What is refused because of its text is written without it. A dead letter, or a
    retry, that is refused all the same is replaced by a delay, where the table has one, and its error is
    returned. When anything else fails everything is rolled back and the row is due again, and in `aside`; a
    transactional handler's transaction is left open where what it wrote is in the way, so that it can
    be undone. Raises SettlementUnknown when the COMMIT got no answer."""
    guards, left = delivery.batch.guards, aside or Aside()
    before = left.holds(delivery)
    left.add(delivery)  # PostgreSQL releases its lock before the error is read here
    stays = before
    try:
        refused = yield from _finish(delivery, outcome, left.pace)
    except GeneratorExit:
        raise
    except BaseException as error:
        stays = before or (delivery.batch.over and not outcomes.is_passing(error))
        if delivery.batch.over:
            yield from guards.release()
        raise
    finally:
        if not stays:
            left.take_back(delivery)
    yield from guards.release()
    return refused


def _finish(delivery: Held, outcome: AnyOutcome, pace: timedelta) -> Protocol[Exception | None]:
    batch = delivery.batch
    try:
        refused = yield from _settled(delivery, outcome, pace)
    except GeneratorExit:
        raise
    except BaseException as error:
        if isinstance(error, ClaimLost) and batch.savepoint is not None and not batch.over:
            raise  # the handler changed the row itself; it is held still, and that can be undone
        yield Rollback()
        batch.undo()
        raise
    if batch.savepoint is not None and delivery.bound.codec.checks_early:
        # refused at the COMMIT it would cost the lock, and count no attempt, again and again
        try:
            yield CheckConstraints()
        except StatementFailed as error:
            if error.kind is FaultKind.LOST:
                batch.undo()
                raise lost(delivery, f"its session is gone: {error}") from error
            raise
    yield from _commit(delivery)
    return refused


def _settled(delivery: Held, outcome: AnyOutcome, pace: timedelta) -> Protocol[Exception | None]:
    """Write an outcome, or what stands in for it. Returns why it was refused, where a delay was written
    in its place. A savepoint is set for what may be refused: an ack or a discard is not worth one."""
    outcome = exhausted.effective(delivery, outcome)
    if isinstance(outcome, Ack | Discard):
        yield from settle(delivery, outcome, joined=True)
        return None
    refused = yield from _plainer(delivery, outcome)
    if refused is not None and delivery.bound.has("retry_after"):
        delayed = outcomes.Postponed(pace, str(refused))
        if (yield from _plainer(delivery, delayed)) is None:
            return refused
    if refused is not None:
        raise refused
    return None


def _plainer(
    delivery: Held, outcome: AnyOutcome
) -> Protocol[StatementFailed | WriteIgnored | None]:
    """Write an outcome, with a plainer text where it is refused. Returns why it was refused with none."""
    while (refused := (yield from _tried(delivery, outcome))) is not None:
        plain = outcomes.plainer(outcome)
        if plain == outcome:
            return refused
        outcome = plain
    return None


def _tried(delivery: Held, outcome: AnyOutcome) -> Protocol[StatementFailed | WriteIgnored | None]:
    """Write an outcome behind a savepoint. What is refused is undone, and its error returned."""
    batch = delivery.batch
    try:
        yield from nesting.enter(batch, TEXT)
    except (nesting.Gone, StatementFailed) as error:
        batch.lose()
        raise lost(delivery, "the transaction that held it has ended") from error
    try:
        yield from settle(delivery, outcome, joined=True)
    except (StatementFailed, WriteIgnored) as error:
        if isinstance(error, StatementFailed) and error.kind.passes:
            raise
        yield from nesting.undo(batch)
        if batch.over:
            raise
        return error
    return None


def refunded(delivery: Held) -> Protocol[None]:
    """Nothing: no attempt was counted yet."""
    yield from ()


def abandon(delivery: Held) -> Protocol[None]:
    """Give the row back unsettled, at once: no attempt was counted yet."""
    yield Rollback()
    delivery.batch.undo()
    yield from delivery.batch.guards.release()


def leave(
    bound: Bound, deliveries: Iterable[Held], *, failed: bool = False, joined: bool = False
) -> Protocol[None]:
    """Commit what was settled; the other rows just become free. `failed`: roll everything back.

    Raises BatchRolledBack when a settlement had failed and the block ended as if none had, and
    ClaimLost when another transaction than the claim's is open: it is left alone.
    """
    held = list(deliveries)
    if held:
        guards = held[0].batch.guards
        yield from guards.released_after(_leave(bound, held, failed=failed, joined=joined))


def _leave(bound: Bound, held: Sequence[Held], *, failed: bool, joined: bool) -> Protocol[None]:
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
        still = not batch.over and (yield from _still_open(held[0]))
    except StatementFailed as error:
        yield Rollback()
        batch.undo()
        raise lost(held[0], f"nothing of its claim was committed: {error}") from error
    if not still:
        batch.lose()
        raise lost(
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


def lost(delivery: Held, why: str) -> ClaimLost:
    """The error of a delivery whose row is not held any more, or cannot be settled."""
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
