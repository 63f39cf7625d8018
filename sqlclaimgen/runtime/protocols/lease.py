"""The lease form: the claim writes an expiry into the row, and the expiry is the token."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any, TypeAlias

from sqlclaimgen.runtime.deliveries import Delivery
from sqlclaimgen.runtime.errors import (
    FaultKind,
    LeaseLost,
    SettlementUnknown,
    StatementFailed,
)
from sqlclaimgen.runtime.outcomes import AnyOutcome
from sqlclaimgen.runtime.protocols import claiming, exhausted, fifo, outcomes
from sqlclaimgen.runtime.protocols.aside import Aside
from sqlclaimgen.runtime.protocols.claimed import Claimed, decoded_id
from sqlclaimgen.runtime.protocols.counted import at_most
from sqlclaimgen.runtime.protocols.extending import Lease, expiry, key_of
from sqlclaimgen.runtime.protocols.extending import extend as extend
from sqlclaimgen.runtime.protocols.scope import Scope
from sqlclaimgen.runtime.protocols.taken import Refusal, Taken
from sqlclaimgen.runtime.protocols.transaction import again, in_transaction, joining
from sqlclaimgen.runtime.queue import Bound
from sqlclaimgen.runtime.steps import Protocol

survives_sessions = True

MOST_REFUSED = 100
"""Rows that the database refuses to claim, before a claim leaves the rest to the next one."""

Take: TypeAlias = Callable[
    [Bound, Scope, int, dict[str, Any], datetime, fifo.Guards], Protocol[Taken]
]
"""What a claim does in its transaction."""


def claim(bound: Bound, scope: Scope, limit: int, aside: Aside | None = None) -> Protocol[Taken]:
    """Take up to `limit` due rows and commit. The rows are the caller's only once this has returned. The
    rows of `aside` are left out, and those that the database refuses to claim are left there.

    Those that have no attempt left are moved to the dead letters then, each in a transaction of its
    own. One that cannot be moved keeps its lease: it is tried again when that has run out. So do all of
    them where the session is lost meanwhile.
    """
    left = aside or Aside()
    refused: list[Refusal] = []
    while True:
        taken = yield from _taken(bound, scope, limit, left)
        refused += taken.refused
        if taken.deliveries or not taken.refused or len(refused) >= MOST_REFUSED:
            break
    taken.refused = refused
    yield from _given_up(taken)
    return taken


def _taken(bound: Bound, scope: Scope, limit: int, aside: Aside) -> Protocol[Taken]:
    """All rows by one statement or, where the database refuses one of them, as many as it takes."""
    try:
        return (yield from again(lambda: _committed(bound, scope, limit, aside, _claim)))
    except StatementFailed as error:
        if not error.kind.of_a_row:
            raise
    taken = yield from again(lambda: _committed(bound, scope, limit, aside, _claim_in_pieces))
    for refusal in taken.refused:
        aside.leave_out(refusal.spelled)
    return taken


def _committed(bound: Bound, scope: Scope, limit: int, aside: Aside, take: Take) -> Protocol[Taken]:
    now = bound.now()
    token = expiry(bound, now)
    taken: list[Taken] = []
    guards = fifo.Guards(bound)
    parameters = {
        "now": bound.codec.time(now),
        "locked_until": bound.codec.time(token),
        **bound.codec.set_aside(aside.ids()),
    }

    def body() -> Protocol[Taken]:
        taken.append((yield from take(bound, scope, limit, parameters, token, guards)))
        return taken[0]

    try:
        return (yield from guards.released_after(in_transaction(body())))
    except StatementFailed as error:
        if error.kind is FaultKind.LOST and taken:
            # perhaps committed, perhaps not: the caller can give the rows back by their token
            error.unanswered = taken[0]
        raise


def _given_up(taken: Taken) -> Protocol[None]:
    """Settle what has no attempt left. Nothing of it keeps the other rows of the claim from their work."""
    rows: Any = taken.deliveries
    spent: list[Lease] = [delivery for delivery in rows if exhausted.is_spent(delivery)]
    taken.deliveries = [delivery for delivery in rows if delivery not in spent]
    for delivery in spent:
        try:
            yield from settle(delivery, exhausted.LETTER, joined=False)
        except LeaseLost:
            continue  # its lease has run out already: another claim moves it
        except Exception as error:
            if outcomes.is_lost(error):
                taken.more = True  # nobody refused the row: another claim moves it
                return
            taken.refused.append(exhausted.refused(delivery, error))
        else:
            taken.exhausted += 1


def _claim(
    bound: Bound,
    scope: Scope,
    limit: int,
    parameters: dict[str, Any],
    token: datetime,
    guards: fifo.Guards,
) -> Protocol[Taken]:
    found = yield from claiming.found(bound, scope, limit, parameters, guards)
    if bound.has("claim_write") and found.rows:
        ids = bound.codec.ids(bound.queue.id_kind, sorted(row.id for row in found.rows))
        written = yield from bound.run("claim_write", {**parameters, **ids})
        yield from at_most(bound, "claim_write", written.count, len(found.rows))
    deliveries = [_delivery(bound, row, token) for row in found.rows]
    return Taken(deliveries, found.limit, 0, found.turn, found.more)


def _claim_in_pieces(
    bound: Bound,
    scope: Scope,
    limit: int,
    parameters: dict[str, Any],
    token: datetime,
    guards: fifo.Guards,
) -> Protocol[Taken]:
    found, refused = yield from claiming.in_pieces(bound, scope, limit, parameters, guards)
    deliveries = [_delivery(bound, row, token) for row in found.rows]
    return Taken(deliveries, found.limit, 0, found.turn, found.more, refused=refused)


def _delivery(bound: Bound, row: Claimed, token: datetime) -> Lease:
    made: Lease = bound.queue.delivery(
        bound, decoded_id(bound, row.id), row.attempt, row.values, token
    )
    return made


def fence(delivery: Lease) -> dict[str, Any]:
    """The parameters that a fenced statement compares with the row."""
    bound, held = delivery.bound, delivery.held
    return {
        "id": bound.id(held.id),
        "token": bound.codec.time(held.token),
        "sent": bound.codec.time(held.sent),
        "attempt": held.attempt,
    }


def hold(delivery: Lease) -> Protocol[None]:
    """Lock the row for a transactional handler above READ COMMITTED, first in its transaction: an
    extension behind its snapshot would hide the row from its ack. Raises LeaseLost."""
    bound = delivery.bound
    if not bound.has("hold"):
        return
    found = yield from bound.run("hold", fence(delivery), row=delivery.id)
    if not found.rows:
        delivery.lost = True
        raise _lost(delivery, "the handler was not started")


def settle(delivery: Lease, outcome: AnyOutcome, *, joined: bool) -> Protocol[None]:
    """Write an outcome, in the open transaction or one of its own. Raises LeaseLost when the row no
    longer holds the token, SettlementUnknown when a COMMIT of its own got no answer."""
    was_settling, delivery.settling = delivery.settling, True
    try:
        yield from joining(lambda: _write(delivery, outcome), joined=joined)
        # while `settling` is set still: an extension that runs meanwhile must see one of the two
        delivery.settled, delivery.joined = True, joined
    except LeaseLost:
        delivery.lost = True
        raise
    except StatementFailed as error:
        if error.kind is FaultKind.LOST and error.statement == "commit":
            raise SettlementUnknown(
                f"{delivery.bound.queue.table} {delivery.id!r}: the server did not answer the COMMIT of "
                f"this settlement (attempt {delivery.number}). Settle again over a new connection: "
                "LeaseLost then means that it had counted, or that another claim has the row.",
                table=delivery.bound.queue.table,
                id=delivery.id,
                attempt=delivery.number,
                statement="commit",
            ) from error
        raise
    finally:
        delivery.settling = was_settling


def _write(delivery: Lease, outcome: AnyOutcome) -> Protocol[None]:
    bound = delivery.bound
    outcome = exhausted.effective(delivery, outcome)
    if not (yield from outcomes.write(bound, outcome, fence(delivery), delivery.id)):
        name = type(outcome).__name__
        raise _lost(delivery, f"{name} changed nothing. Roll back what this delivery did", name)


def _lost(delivery: Lease, what: str, statement: str = "hold") -> LeaseLost:
    table = delivery.bound.queue.table
    return LeaseLost(
        f"{table} {delivery.id!r}: attempt {delivery.number} no longer holds the row; {what}.",
        table=table,
        id=delivery.id,
        attempt=delivery.number,
        statement=statement,
    )


def leave(
    bound: Bound, deliveries: Iterable[Lease], *, failed: bool = False, joined: bool = False
) -> Protocol[None]:
    """Give back what was not settled: at once, and with its attempt where the handler never started.
    A row that another claim holds meanwhile is passed over."""
    yield from _given(bound, deliveries, begun=("give_back", "release"), joined=joined)


def give_back(bound: Bound, deliveries: Iterable[Lease], *, joined: bool = False) -> Protocol[None]:
    """Give back what was not settled, as `leave` does, and each with its attempt: somebody decided so,
    and no handler failed."""
    yield from _given(bound, deliveries, begun=("give_back", "give_back"), joined=joined)


def _given(
    bound: Bound, deliveries: Iterable[Lease], *, begun: tuple[str, str], joined: bool
) -> Protocol[None]:
    # a settlement that joined a transaction may have been rolled back with it; the fence tells
    open_ = sorted(
        (d for d in deliveries if not d.lost and (d.joined or not d.settled)), key=key_of
    )
    if open_:
        yield from joining(lambda: _leave(bound, open_, begun), joined=joined)
    for delivery in open_:
        delivery.settled = True


def _leave(bound: Bound, deliveries: Sequence[Lease], begun: tuple[str, str]) -> Protocol[None]:
    """`begun`: the statement for rows whose handler never started, and for those whose handler did."""
    for statement in dict.fromkeys(begun):
        chosen = [d.held for d in deliveries if begun[d.started] == statement]
        if chosen:
            named = bound.codec.held(bound.queue.id_kind, chosen)
            result = yield from bound.run(statement, named)
            yield from at_most(bound, statement, result.count, len(chosen))


def check(delivery: Delivery[Any, Any], connection: Any) -> None:
    """A lease is settled over any connection."""
