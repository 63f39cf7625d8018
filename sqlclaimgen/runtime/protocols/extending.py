"""Moving the expiry of leases in work, so that no answer that is lost on the way loses a lease.

A row holds its token, or an expiry that was sent and not answered. There is never a third: an
expiry without an answer is sent again, alone, until the row is known to hold it, and only then the
next one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any, TypeAlias

from sqlclaimgen.runtime.clock import MICROSECOND, ceiling
from sqlclaimgen.runtime.codecs import Held
from sqlclaimgen.runtime.deliveries import LeaseDelivery
from sqlclaimgen.runtime.errors import FaultKind, StatementFailed
from sqlclaimgen.runtime.protocols.claimed import decoded_id
from sqlclaimgen.runtime.protocols.counted import at_most
from sqlclaimgen.runtime.protocols.transaction import again, in_transaction, joining
from sqlclaimgen.runtime.queue import Bound
from sqlclaimgen.runtime.steps import Protocol

Lease: TypeAlias = LeaseDelivery[Any, Any]
Leases: TypeAlias = dict[Any, Lease]
"""Deliveries by id, as the driver takes it: one for each row."""
Refused: TypeAlias = list[tuple[Lease, StatementFailed]]
"""Deliveries whose rows the database refuses to extend, and what it said."""


def expiry(bound: Bound, now: datetime) -> datetime:
    """When a lease taken now runs out, in the precision of its column."""
    lease = bound.queue.lease or timedelta(seconds=30)
    return ceiling(now + lease, bound.queue.token_precision)


def key_of(delivery: Lease) -> Any:
    """The id as the driver takes it: what rows are sorted by before they are locked."""
    return delivery.bound.id(delivery.spelled)


def extend(
    bound: Bound, deliveries: Iterable[Lease], refused: Refused | None = None
) -> Protocol[list[Lease]]:
    """Move the expiry of every delivery in work and commit. Returns those that are lost.

    A delivery that is being settled is left alone, and a row that is locked is skipped, not lost: an
    extension never waits for a settlement. Where the database refuses one row, each is extended in a
    transaction of its own: those that it refuses alone are added to `refused` with the errors, or the
    first of these errors is raised after the others are extended.
    """
    kept: Refused = [] if refused is None else refused
    held, stale = _one_each(deliveries)
    gone: Leases = {}
    for until in sorted({d.sent for d in held.values() if d.sent is not None}):
        unanswered = {key: d for key, d in held.items() if d.sent == until}
        gone |= yield from _sent(bound, unanswered, until, kept)
    fresh = {key: d for key, d in held.items() if d.sent is None and key not in gone}
    if fresh:
        unit = 10 ** (6 - bound.queue.token_precision) * MICROSECOND
        past = max(d.token for d in fresh.values())
        until = max(expiry(bound, bound.now()), past + unit)
        gone |= yield from _sent(bound, fresh, until, kept)
    lost = [*stale, *gone.values()]
    for delivery in lost:
        delivery.lost = True
    if refused is None and kept:
        raise kept[0][1]
    return lost


def shorten(
    bound: Bound, deliveries: Sequence[Lease], until: datetime, before: Sequence[datetime] = ()
) -> Protocol[list[Lease]]:
    """Give the attempt of rows back that stay held, and move their expiry to `until`, in one commit.
    `before`: what earlier tries sent and got no answer to, two at most. Returns the deliveries whose rows
    hold their new expiry; what is missing is locked, or another's."""
    named = sorted(deliveries, key=key_of)

    def body() -> Protocol[list[Lease]]:
        done = (yield from _holding(bound, named, before)) if before else {}
        held = {d.id: d.held for d in named if d.id not in done}
        if bound.has("extend_write") and held:
            free = yield from bound.run("extend", _named(bound, held.values()))
            held = {id: held[id] for id in _ids(bound, free.rows)}
        if held:
            soon = {"soon": bound.codec.time(until), **_named(bound, held.values())}
            wrote = yield from bound.run("shorten", soon)
            ids = held if bound.has("extend_write") else _ids(bound, wrote.rows)
            done |= dict.fromkeys(ids, until)
        return [_shortened(d, done[d.id]) for d in named if d.id in done]

    return (yield from joining(body, joined=False))


def _holding(
    bound: Bound, named: Sequence[Lease], before: Sequence[datetime]
) -> Protocol[dict[Any, datetime]]:
    """Which rows hold an expiry that was sent before."""
    sent = [Held(d.spelled, before[0], before[-1], d.number) for d in named]
    read = yield from bound.run("held", _named(bound, sent))
    return {decoded_id(bound, row[0]): bound.codec.from_time(row[1]) for row in read.rows}


def _named(bound: Bound, held: Iterable[Held]) -> dict[str, Any]:
    return bound.codec.held(bound.queue.id_kind, list(held))


def _ids(bound: Bound, rows: Sequence[Any]) -> list[Any]:
    return [decoded_id(bound, row[0]) for row in rows]


def _shortened(delivery: Lease, until: datetime) -> Lease:
    return copied(delivery, delivery.number - 1, until, None)


def copied(delivery: Lease, number: int, token: datetime, sent: datetime | None) -> Lease:
    """The same row in other hands: a handler that has the first is no concern of the second's."""
    made: Lease = type(delivery)(delivery.bound, delivery.id, number, delivery.raw, token)
    made.sent = sent
    return made


def _sent(bound: Bound, held: Leases, until: datetime, refused: Refused) -> Protocol[Leases]:
    """Write `until` into all rows at once, or, where the database refuses one of them, into each alone."""
    try:
        return (yield from again(lambda: _send(bound, held, until)))
    except StatementFailed as error:
        if not error.kind.of_a_row:
            raise
        if len(held) == 1:
            refused += [(delivery, error) for delivery in held.values()]
            return {}
    gone: Leases = {}
    for key in sorted(held):
        gone |= yield from _sent(bound, {key: held[key]}, until, refused)
    return gone


def _one_each(deliveries: Iterable[Lease]) -> tuple[Leases, list[Lease]]:
    """The deliveries in work, one for each row, and those whose row another of them took over."""
    held: Leases = {}
    stale: list[Lease] = []
    for delivery in deliveries:
        if delivery.settled or delivery.lost or delivery.settling:
            continue
        key = key_of(delivery)
        other = held.get(key, delivery)
        first, last = sorted((other, delivery), key=lambda d: (d.number, d.token))
        if first is not last:
            stale.append(first)
        held[key] = last
    return held, stale


def _send(bound: Bound, held: Leases, until: datetime) -> Protocol[Leases]:
    """One transaction that writes `until`. Returns the deliveries that are gone."""
    before = {key: delivery.sent for key, delivery in held.items()}
    try:
        written, gone = yield from in_transaction(_write(bound, held, until))
    except StatementFailed as error:
        if error.kind is not FaultKind.LOST:
            # it is certain that nothing was written now
            for key, delivery in held.items():
                delivery.sent = before[key]
        raise
    for key in written:
        # in this order: whoever reads both reads `sent` first
        held[key].token = until
        held[key].sent = None
    return gone


def _write(bound: Bound, held: Leases, until: datetime) -> Protocol[tuple[Leases, Leases]]:
    """Write `until` into the rows that are free to be written. Returns the deliveries whose rows hold
    it once the transaction is committed, and those that are gone."""
    before = {key: delivery.sent for key, delivery in held.items()}
    leases = {key: held[key].held for key in sorted(held)}
    for key, delivery in held.items():
        # first this, then the look at `settling`: a settlement sets that first, then reads `sent`
        delivery.sent = until
        if delivery.settling or delivery.settled:
            delivery.sent = before[key]
            del leases[key]
    if not leases:
        return {}, {}
    sent = {"locked_until": bound.codec.time(until)}
    kind = bound.queue.id_kind
    named = bound.codec.held(kind, list(leases.values()))
    # an error of one row names it
    row = next(iter(leases.values())).id if len(leases) == 1 else None
    result = yield from bound.run("extend", {**sent, **named}, row=row)
    yield from at_most(bound, "extend", len(result.rows), len(leases))
    ids = {decoded_id(bound, row[0]) for row in result.rows}
    written = {key: held[key] for key in leases if held[key].id in ids}
    if bound.has("extend_write") and written:
        locked = bound.codec.held(kind, [leases[key] for key in written])
        result = yield from bound.run("extend_write", {**sent, **locked}, row=row)
        yield from at_most(bound, "extend_write", result.count, len(written))
    missing = [key for key in leases if key not in written]
    for key in missing:
        held[key].sent = before[key]
    if not missing:
        return written, {}
    read = yield from bound.run("held", bound.codec.held(kind, [leases[key] for key in missing]))
    gone = _looked_up(bound, {key: held[key] for key in missing}, read.rows)
    return written, gone


def _looked_up(bound: Bound, missing: Leases, rows: Sequence[Any]) -> Leases:
    """The deliveries whose rows hold none of their expiries. The others were locked just now; a row
    that still holds its token may yet get what was sent, from a transaction that is not over."""
    found = {decoded_id(bound, row[0]): bound.codec.from_time(row[1]) for row in rows}
    gone: Leases = {}
    for key, delivery in missing.items():
        if delivery.id not in found:
            if not (delivery.settled or delivery.settling):
                gone[key] = delivery
        elif delivery.sent is not None and found[delivery.id] == delivery.sent:
            delivery.token = delivery.sent
            delivery.sent = None
    return gone
