"""The advisory lock form: a session lock on a key holds the row, on the connection that claimed it.

Session locks are re-entrant, so a connection claims one row at a time, and gives its key back before
the next. Every step of a claim knows what it has locked; where that cannot be told any more the
connection is closed, and the database gives the lock back.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

from sqlclaimgen.runtime.deliveries import AdvisoryDelivery, Delivery
from sqlclaimgen.runtime.errors import (
    ClaimLost,
    CommitRefused,
    FaultKind,
    StatementFailed,
    TransactionOpen,
    WriteIgnored,
    WrongConnection,
)
from sqlclaimgen.runtime.keys import KeyLock
from sqlclaimgen.runtime.outcomes import Ack, AnyOutcome, Discard
from sqlclaimgen.runtime.protocols import (
    exhausted,
    handler_transaction,
    key_failures,
    keyed,
    outcomes,
    taking,
    unlocking,
)
from sqlclaimgen.runtime.protocols.aside import Aside
from sqlclaimgen.runtime.protocols.claimed import Claimed
from sqlclaimgen.runtime.protocols.counted import at_most
from sqlclaimgen.runtime.protocols.held import Memory
from sqlclaimgen.runtime.protocols.scope import Scope
from sqlclaimgen.runtime.protocols.taken import Refusal, Taken
from sqlclaimgen.runtime.protocols.transaction import joining
from sqlclaimgen.runtime.queue import Bound
from sqlclaimgen.runtime.steps import CheckConstraints, Close, Commit, Protocol, Rollback

Held: TypeAlias = AdvisoryDelivery[Any, Any]

survives_sessions = False
reopens = True
frees_others = True
"""The other rows of its key."""


_TRIES = 5
"""Settlements are tried so often after a conflict."""


def claim(
    bound: Bound, scope: Scope, limit: int = 1, *, held: Iterable[Held] = ()
) -> Protocol[Taken]:
    """Take one due row whose key nobody holds, count its attempt, and commit: one row, whatever the
    limit. A row that has no attempt left is moved to the dead letters; one that cannot be moved, or that the
    database refuses to take, is passed over. `held` are deliveries of this process whose keys need not be
    tried."""
    aside = Aside()
    refused: list[Refusal] = []
    taken = Taken([], limit, more=True)
    for _ in range(taking.MOST_PASSED):
        taken = yield from _claim(bound, scope, aside, held)
        refused += taken.refused
        if not taken.refused:
            break
        scope = scope.resuming(taken.resume)
    taken.refused = refused
    return taken


def claim_one(bound: Bound, scope: Scope, memory: Memory) -> Protocol[Taken]:
    """Take one due row, for a worker."""
    held: Any = memory.deliveries
    return _claim(bound, scope, memory.aside, held)


def _claim(bound: Bound, scope: Scope, aside: Aside, held: Iterable[Held] = ()) -> Protocol[Taken]:
    """Take one row, or give one up that has no attempt left. `aside` are left out, and what cannot be
    given up is left there. `held` are deliveries of this process whose keys need not be tried."""
    taken = yield from taking.take(bound, scope, aside, held)
    for one in taken.deliveries:
        delivery: Any = one
        if not exhausted.is_spent(delivery):
            continue
        taken.deliveries = []
        if aside.holds(delivery):  # since this claim was sent
            taken.more = True
            yield from unlock(delivery)
            break
        try:
            error = yield from finish(delivery, exhausted.LETTER, aside)
        except ClaimLost:
            taken.more = True  # its session is gone, or somebody changed it: another claim moves it
        except Exception as refused:
            if outcomes.is_lost(refused):
                taken.more = True
                break
            aside.add(delivery)
            taken.refused.append(exhausted.refused(delivery, refused))
            yield from unlock(delivery)
        else:
            taken.exhausted = 1 if error is None else 0
            if error is not None:
                taken.refused.append(exhausted.refused(delivery, error))
    return taken


def fence(delivery: Held, lock: KeyLock) -> dict[str, Any]:
    """The parameters that a fenced statement compares with the row and the session."""
    row = Claimed(delivery.bound.id(delivery.spelled), delivery.number, (), ())
    return taking.fence(row, lock)


def settle(delivery: Held, outcome: AnyOutcome, *, joined: bool = False) -> Protocol[None]:
    """Write an outcome, in the open transaction or one of its own; then, and only after its own
    COMMIT, give the key back. Raises ClaimLost when the row is not this delivery's any more, and
    SettlementUnknown when a COMMIT of its own got no answer."""
    try:
        yield from joining(lambda: _write(delivery, outcome), joined=joined)
    except ClaimLost:
        delivery.lost = True
        raise
    except StatementFailed as error:
        if error.kind is not FaultKind.LOST:
            raise
        yield from _gone(delivery)
        if error.statement == "commit":
            raise key_failures.unknown(delivery) from error
        raise key_failures.lost(delivery, f"its session is gone: {error}") from error
    delivery.settled, delivery.joined = True, joined
    if not joined:
        yield from unlock(delivery)


def _write(delivery: Held, outcome: AnyOutcome) -> Protocol[None]:
    bound, lock = delivery.bound, delivery.lock
    if lock is None:
        raise key_failures.lost(delivery, "its key was given back")
    outcome = exhausted.effective(delivery, outcome)
    if (yield from outcomes.write(bound, outcome, fence(delivery, lock), delivery.id)):
        return
    raise key_failures.lost(
        delivery,
        "the row is finished, another claim has it, or the session that held its key was replaced",
    )


def unlock(delivery: Held) -> Protocol[None]:
    """Give the key back, once: after the COMMIT of what the delivery wrote. Never fails: where the
    database does not confirm it the connection is closed."""
    lock, delivery.lock = delivery.lock, None
    if lock is not None:
        yield from unlocking.unlock(delivery.bound, lock)


def opened(delivery: Held) -> Protocol[None]:
    """Open the transaction of a transactional handler, on the delivery's connection."""
    yield from handler_transaction.begun(delivery.bound.queue.isolation)
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


def finish(
    delivery: Held, outcome: AnyOutcome, aside: Aside | None = None
) -> Protocol[Exception | None]:
    """Settle, commit, and give the key back. What was refused because of its text is written without
    it; what is refused all the same is replaced by a delay, where the table has one, and its error is
    returned; after a conflict it is written again, for the key is held still. Raises ClaimLost
    and SettlementUnknown as `settle` does; after any other error the key is held."""
    if delivery.opened:
        yield from _finish_opened(delivery, outcome)
        return None
    try:
        yield from _persistently(delivery, outcome)
    except (StatementFailed, WriteIgnored) as refused:
        if outcomes.is_passing(refused) or not delivery.bound.has("retry_after"):
            raise
        pace = (aside or Aside()).pace
        try:
            yield from _persistently(delivery, outcomes.Postponed(pace, str(refused)))
        except (StatementFailed, WriteIgnored):
            raise refused from None
        return refused
    return None


def _finish_opened(delivery: Held, outcome: AnyOutcome) -> Protocol[None]:
    """The end of a transactional handler's transaction."""
    try:
        yield from handler_transaction.proven(delivery.bound.queue.table, delivery.id)
        yield from settle(delivery, outcome, joined=True)
        if delivery.bound.codec.checks_early:
            yield CheckConstraints()
    except GeneratorExit:
        raise
    except BaseException as error:
        delivery.settled = False
        yield from undone(delivery)
        if isinstance(error, StatementFailed) and error.kind is FaultKind.LOST:
            yield from _gone(delivery)
            raise key_failures.lost(delivery, f"its session is gone: {error}") from error
        if not isinstance(error, StatementFailed | ClaimLost | CommitRefused):
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
        raise key_failures.unknown(delivery) from error
    delivery.opened = False
    yield from unlock(delivery)


def _persistently(delivery: Held, outcome: AnyOutcome) -> Protocol[None]:
    for last in [False] * (_TRIES - 1) + [True]:
        try:
            yield from settle(delivery, outcome)
            return
        except StatementFailed as error:
            plain = outcomes.plainer(outcome)
            again = error.kind.passes or plain != outcome
            if last or error.kind is FaultKind.LOST or not again:
                raise
            if not error.kind.passes:
                outcome = plain


def refunded(delivery: Held) -> Protocol[None]:
    """Give the attempt back, and keep the key."""
    bound, lock = delivery.bound, delivery.lock
    if lock is not None and bound.has("give_back"):
        yield from joining(lambda: _given_back(delivery, lock), joined=False)


def abandon(delivery: Held) -> Protocol[None]:
    """Give the row back unsettled, at once; with its attempt where its handler never started."""
    lock = delivery.lock
    if lock is None:
        return
    if delivery.opened:
        yield from undone(delivery)
    untouched = not (delivery.started or delivery.settled or delivery.lost)
    try:
        if untouched:
            yield from refunded(delivery)
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


def _given_back(delivery: Held, lock: KeyLock) -> Protocol[None]:
    bound = delivery.bound
    back = yield from bound.run("give_back", fence(delivery, lock), row=delivery.id)
    yield from at_most(bound, "give_back", back.count, 1, delivery.id)


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
        if joined and delivery.joined:
            delivery.settled = delivery.joined = False
        yield from abandon(delivery)
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
