"""The lease form: the claim writes an expiry into the row, and the expiry is the token."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any, TypeAlias

from sqlclaimgen.runtime.clock import MICROSECOND, ceiling
from sqlclaimgen.runtime.deliveries import Delivery, LeaseDelivery
from sqlclaimgen.runtime.errors import (
    FaultKind,
    LeaseLost,
    SettlementUnknown,
    StatementFailed,
)
from sqlclaimgen.runtime.outcomes import AnyOutcome
from sqlclaimgen.runtime.protocols import exhausted, outcomes, windows
from sqlclaimgen.runtime.protocols.claimed import Claimed, claimed, decoded_id
from sqlclaimgen.runtime.protocols.scope import Scope
from sqlclaimgen.runtime.protocols.taken import Taken
from sqlclaimgen.runtime.protocols.transaction import in_transaction, joining
from sqlclaimgen.runtime.queue import Bound
from sqlclaimgen.runtime.steps import Protocol

Lease: TypeAlias = LeaseDelivery[Any, Any]

survives_sessions = True


def claim(bound: Bound, scope: Scope, limit: int) -> Protocol[Taken]:
    """Take up to `limit` due rows and commit. The rows are the caller's only once this has returned."""
    now = bound.now()
    token = _expiry(bound, now)
    taken: list[Taken] = []

    def body() -> Protocol[Taken]:
        taken.append((yield from _claim(bound, scope, limit, now, token)))
        return taken[0]

    try:
        return (yield from in_transaction(body()))
    except StatementFailed as error:
        if error.kind is FaultKind.LOST and taken:
            # perhaps committed, perhaps not: the caller can give the rows back by their token
            error.unanswered = taken[0]
        raise


def _claim(
    bound: Bound, scope: Scope, limit: int, now: datetime, token: datetime
) -> Protocol[Taken]:
    rows = yield from _rows(bound, scope, limit, now, token)
    live, moved = yield from exhausted.apart(bound, rows, now)
    if bound.has("claim_write") and live:
        ids = bound.codec.ids(bound.queue.id_kind, sorted(row.id for row in live))
        yield from bound.run("claim_write", {"locked_until": bound.codec.time(token), **ids})
    return Taken([_delivery(bound, row, token) for row in live], limit, moved)


def _rows(
    bound: Bound, scope: Scope, limit: int, now: datetime, token: datetime
) -> Protocol[list[Claimed]]:
    parameters: dict[str, Any] = {"now": bound.codec.time(now), "locked_until": bound.codec.time(token)}
    if scope.group is not None and bound.queue.group is not None:
        parameters["group"] = bound.codec.encode(bound.queue.group.kind, scope.group)
    if not bound.has("due_priorities" + scope.suffix):
        return (yield from _window(bound, scope, limit, parameters))
    # delayed rows of a better priority are stepped over, not walked
    listed = yield from bound.run("due_priorities" + scope.suffix, parameters)
    found: list[Claimed] = []
    for priority in listed.rows:
        more = {**parameters, "priority": priority[0]}
        found += yield from _window(bound, scope, limit - len(found), more)
        if len(found) >= limit:
            break
    return found


def _window(
    bound: Bound, scope: Scope, limit: int, parameters: dict[str, Any]
) -> Protocol[list[Claimed]]:
    window = windows.of_lease(limit)
    while True:
        result = yield from bound.run(
            "claim" + scope.suffix, {**parameters, "limit": limit, "window": window}
        )
        if result.rows or not bound.has("probe" + scope.suffix) or window >= windows.MOST:
            return claimed(bound, result.rows)
        # nothing came: others hold the whole window, or nothing is due
        beyond = yield from bound.run(
            "probe" + scope.suffix, {**parameters, "window": window + 1, "last": window}
        )
        if not beyond.rows:
            return []
        window = windows.wider(window)


def _delivery(bound: Bound, row: Claimed, token: datetime) -> Lease:
    made: Lease = bound.queue.delivery(
        bound, decoded_id(bound, row.id), row.attempt, row.values, token
    )
    return made


def _expiry(bound: Bound, now: datetime) -> datetime:
    lease = bound.queue.lease or timedelta(seconds=30)
    return ceiling(now + lease, bound.queue.token_precision)


def fence(delivery: Lease) -> dict[str, Any]:
    """The parameters that a fenced statement compares with the row."""
    bound, held = delivery.bound, delivery.held
    return {
        "id": bound.id(held.id),
        "token": bound.codec.time(held.token),
        "sent": bound.codec.time(held.sent),
        "attempt": held.attempt,
    }


def settle(delivery: Lease, outcome: AnyOutcome, *, joined: bool) -> Protocol[None]:
    """Write an outcome, in the open transaction or one of its own. Raises LeaseLost when the row no
    longer holds the token, SettlementUnknown when a COMMIT of its own got no answer."""
    delivery.settling = True
    try:
        yield from joining(_write(delivery, outcome), joined=joined)
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
        delivery.settling = False
    delivery.settled, delivery.joined = True, joined


def _write(delivery: Lease, outcome: AnyOutcome) -> Protocol[None]:
    bound = delivery.bound
    outcome = outcomes.effective(
        bound, outcome, delivery.number, in_dead_group=exhausted.in_dead_group(delivery)
    )
    if not (yield from outcomes.write(bound, outcome, fence(delivery), delivery.id)):
        raise LeaseLost(
            f"{bound.queue.table} {delivery.id!r}: attempt {delivery.number} no longer holds the row; "
            f"{type(outcome).__name__} changed nothing. Roll back what this delivery did.",
            table=bound.queue.table,
            id=delivery.id,
            attempt=delivery.number,
            statement=type(outcome).__name__,
        )


def extend(bound: Bound, deliveries: Iterable[Lease]) -> Protocol[list[Lease]]:
    """Move the expiry of every delivery in work and commit. Returns those that are lost.

    A delivery that is being settled is left alone, and a row that is locked is skipped, not lost: so
    extension and settlement never wait for each other.
    """
    held = {_key(d): d for d in deliveries if not (d.settled or d.lost or d.settling)}
    if not held:
        return []
    lost = yield from in_transaction(_extend(bound, held))
    # the COMMIT has returned: what was sent is now what is held
    for delivery in held.values():
        if delivery.sent is not None and _key(delivery) not in lost:
            delivery.token, delivery.sent = delivery.sent, None
    for delivery in lost.values():
        delivery.lost = not delivery.settled
    return [delivery for delivery in lost.values() if delivery.lost]


def _extend(bound: Bound, held: dict[Any, Lease]) -> Protocol[dict[Any, Lease]]:
    unknown = {key: d for key, d in held.items() if d.sent is not None}
    lost = yield from _resolve(bound, unknown)
    live = sorted((d for key, d in held.items() if key not in lost), key=_key)
    if not live:
        return lost
    unit = 10 ** (6 - bound.queue.token_precision) * MICROSECOND
    until = max(_expiry(bound, bound.now()), max(d.token for d in live) + unit)
    leases = bound.codec.held(bound.queue.id_kind, [d.held for d in live])
    for delivery in live:
        delivery.sent = until
    locked: Sequence[Any] = ()
    try:
        result = yield from bound.run("extend", {"locked_until": bound.codec.time(until), **leases})
        locked = [row[0] for row in result.rows]
        if bound.has("extend_write") and locked:
            done = {decoded_id(bound, raw) for raw in locked}
            chosen = [d.held for d in live if d.id in done]
            again = bound.codec.held(bound.queue.id_kind, chosen)
            yield from bound.run(
                "extend_write", {"locked_until": bound.codec.time(until), **again}
            )
    except StatementFailed as error:
        if error.kind is not FaultKind.LOST:
            for delivery in live:
                delivery.sent = None  # refused, so it is certain that nothing was written
        raise
    extended = {decoded_id(bound, raw) for raw in locked}
    missing = {_key(d): d for d in live if d.id not in extended}
    for delivery in missing.values():
        delivery.sent = None
    return {**lost, **(yield from _resolve(bound, missing))}


def _resolve(bound: Bound, deliveries: dict[Any, Lease]) -> Protocol[dict[Any, Lease]]:
    """Read which expiry rows hold now. Returns the deliveries whose rows hold neither of theirs."""
    if not deliveries:
        return {}
    leases = bound.codec.held(bound.queue.id_kind, [d.held for d in deliveries.values()])
    result = yield from bound.run("held", leases)
    found = {decoded_id(bound, row[0]): bound.codec.from_time(row[1]) for row in result.rows}
    gone: dict[Any, Lease] = {}
    for key, delivery in deliveries.items():
        if delivery.id in found:
            delivery.token, delivery.sent = found[delivery.id], None
        elif not (delivery.settled or delivery.settling):
            gone[key] = delivery
    return gone


def _key(delivery: Lease) -> Any:
    return delivery.bound.id(delivery.id)


def leave(
    bound: Bound, deliveries: Iterable[Lease], *, failed: bool = False, joined: bool = False
) -> Protocol[None]:
    """Give back what was not settled: at once, and with its attempt where the handler never started.
    A row that another claim holds meanwhile is passed over."""
    # a settlement that joined a transaction may have been rolled back with it; the fence tells
    open_ = sorted((d for d in deliveries if not d.lost and (d.joined or not d.settled)), key=_key)
    if open_:
        yield from joining(_leave(bound, open_), joined=joined)
    for delivery in open_:
        delivery.settled = True


def _leave(bound: Bound, deliveries: Sequence[Lease]) -> Protocol[None]:
    for statement, started in (("give_back", False), ("release", True)):
        chosen = [d.held for d in deliveries if d.started is started]
        if chosen:
            yield from bound.run(statement, bound.codec.held(bound.queue.id_kind, chosen))


def check(delivery: Delivery[Any, Any], connection: Any) -> None:
    """A lease is settled over any connection."""
