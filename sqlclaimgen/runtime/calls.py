"""What is done by hand, as protocols over the caller's own connection.

A blocking and an asyncio face drive them: `by_hand` and `by_hand_async`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any, TypeVar

from sqlclaimgen.runtime import (
    batches,
    held_by_key,
    held_by_transaction,
    joined,
    looking,
    publishing,
)
from sqlclaimgen.runtime.deliveries import Delivery, LeaseDelivery
from sqlclaimgen.runtime.drivers.base import State
from sqlclaimgen.runtime.errors import AlreadySettled, ClaimError, Closed, TransactionOpen
from sqlclaimgen.runtime.outcomes import AnyOutcome
from sqlclaimgen.runtime.protocols import clocks, enqueuing, lease
from sqlclaimgen.runtime.protocols.forms import FormProtocols, form_of
from sqlclaimgen.runtime.protocols.scope import Scope
from sqlclaimgen.runtime.protocols.taken import Taken
from sqlclaimgen.runtime.queue import Bound, Queue
from sqlclaimgen.runtime.steps import Protocol

T = TypeVar("T")
N = TypeVar("N")
I = TypeVar("I")
L = TypeVar("L", bound=LeaseDelivery[Any, Any])

_log = logging.getLogger("sqlclaimgen")

STOPS = (KeyboardInterrupt, SystemExit, GeneratorExit, asyncio.CancelledError)
"""What ends a program or a task from outside."""


def timed(state: State, bound: Bound, body: Protocol[T]) -> Protocol[T]:
    """`body`, the database's clock read before where the table asks for it and the last reading is old."""
    yield from read_clock(state, bound)
    return (yield from body)


def read_clock(state: State, bound: Bound) -> Protocol[None]:
    """Read the database's clock where `timed` would. Not on a connection where nothing can run: what is
    driven there only ends a transaction."""
    if bound.needs_reading and not state.broken:
        yield from clocks.read(bound, joined=state.in_transaction)


def enqueue_many(
    queue: Queue[Any, Any, N, I],
    state: State,
    rows: Iterable[N],
    delay: timedelta,
    at: datetime | None,
) -> Protocol[list[I]]:
    """Add rows in the open transaction. Returns their ids, in order."""
    bound = queue.bind(state.dialect)
    _proven(state)
    yield from looking.at_zone(state, bound)
    ids: list[I] = []
    for new in rows:
        ids.append((yield from timed(state, bound, enqueuing.enqueue(bound, new, delay, at))))
        publishing.enqueued(queue, state)
    return ids


class Opened:
    """What a claim took, until its block is left."""

    def __init__(
        self,
        state: State,
        bound: Bound,
        form: FormProtocols,
        taken: Taken,
        holder: held_by_transaction.Holder | None,
    ) -> None:
        self._state = state
        self._bound = bound
        self._form = form
        self._holder = holder
        self.table = bound.queue.table
        self.taken = taken
        self.deliveries: Any = taken.deliveries
        self.left = False

    def handed_out(self, delivery: Delivery[Any, Any]) -> bool:
        """Whether a delivery may be worked on; it is started then. Raises Closed when the block has been
        left, and ClaimLost when nothing holds the row."""
        if self.left:
            raise Closed(
                f"{self.table}: the claim's block has been left, and what was not settled is given "
                "back. Iterate inside the block.",
                table=self.table,
            )
        if not delivery.live:
            return False
        if self._holder is not None:
            self._holder.ready(delivery)
        delivery.started = True
        return True

    def leave(self, error: BaseException | None) -> Protocol[None]:
        """Give back what was not settled, once. `error`: what the block raised."""
        if self.left:
            return
        self.left = True
        if isinstance(error, STOPS):
            for delivery in self.deliveries:
                delivery.started = False  # a stop is no failure of the row: it has its attempt back
        settled = [delivery.settled for delivery in self.deliveries]
        # where nothing could be given back a lease goes on, and can be settled over another connection
        if (yield from self._give_back(error is not None)):
            for delivery, before in zip(self.deliveries, settled, strict=True):
                delivery.given_back |= not (before and delivery.settled)

    def _give_back(self, failed: bool) -> Protocol[bool]:
        state = self._state
        if state.broken and self._form.survives_sessions:
            # nothing can run on this connection; what it held comes back when its lease ends
            _log.warning("%s: left a claim on a broken transaction", self.table)
            return False
        # what was settled in a transaction that broke is rolled back, and that is told
        pending = any(delivery.joined for delivery in self.deliveries)
        inside = state.in_transaction or (state.broken and pending)
        leaving = self._form.leave(self._bound, self.deliveries, failed=failed, joined=inside)
        try:
            yield from timed(state, self._bound, leaving)
        finally:
            if self._holder is not None:
                self._holder.close()
        return True


def claim(
    queue: Queue[Any, Any, Any, Any], state: State, scope: Scope, limit: int
) -> Protocol[Opened]:
    """Take up to `limit` due rows. Raises TransactionOpen when a transaction is open, SchemaMismatch and
    ServerUnfit when the live table cannot be claimed from, and ValueError for a limit below 1."""
    if limit < 1:
        raise ValueError(f"limit is {limit}; a claim takes at least one row")
    held_by_key.begin(queue, state.connection)
    try:
        held_by_key.refuse_second(queue, state.connection)
        idle(state, queue.table, "claim")
        form = form_of(queue)
        bound = queue.bind(state.dialect)
        yield from looking.at_table(state, bound)
        scope = held_by_key.resuming(queue, state.connection, scope)
        taken = yield from timed(state, bound, form.claim(bound, scope, limit))
        held_by_key.went_on(queue, state.connection, scope, taken)
        for delivery in taken.deliveries:
            delivery.connection = state.connection
        for refused in taken.refused:
            _log.error(
                "%s %r could not be %s: %s",
                queue.table,
                refused.id,
                "claimed" if refused.outcome is None else "moved, with no attempt left",
                refused.error,
            )
        holder = yield from held_by_transaction.hold(state, taken)
        held_by_key.hold(state.connection, taken)
        return Opened(state, bound, form, taken, holder)
    finally:
        held_by_key.end(state.connection)


def settle(state: State, delivery: Delivery[Any, Any], outcome: AnyOutcome) -> Protocol[None]:
    """Write an outcome. Joins the open transaction, or commits its own."""
    _refuse(delivery, type(outcome).__name__)
    form = form_of(delivery.bound.queue)
    form.check(delivery, state.connection)
    _proven(state)
    yield from looking.at_zone(state, delivery.bound)
    settling = form.settle(delivery, outcome, joined=state.in_transaction)
    yield from timed(state, delivery.bound, settling)
    if delivery.joined:
        joined.settled(state, delivery)


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


def extend(
    queue: Queue[L, Any, Any, Any], state: State, deliveries: Iterable[L]
) -> Protocol[list[L]]:
    """Move the expiry of every delivery in work and commit. Returns those that are lost."""
    idle(state, queue.table, "extend")
    bound = queue.bind(state.dialect)
    yield from looking.at_table(state, bound)
    lost: Any = yield from timed(state, bound, lease.extend(bound, deliveries))
    return list(lost)


def release(
    queue: Queue[L, Any, Any, Any], state: State, deliveries: Iterable[L]
) -> Protocol[None]:
    """Give unsettled deliveries back at once, with their attempt. Those that were lost are passed over."""
    bound = queue.bind(state.dialect)
    yield from looking.at_zone(state, bound)
    inside = state.in_transaction
    given = [delivery for delivery in deliveries if delivery.joined or not delivery.settled]
    yield from timed(state, bound, lease.give_back(bound, given, joined=inside))
    for delivery in given:
        delivery.given_back = not inside
        if inside:
            delivery.joined = True
            joined.settled(state, delivery)


def _proven(state: State) -> None:
    """Raise StatementFailed inside a block of `transaction` whose transaction is over: what runs there
    would be committed alone."""
    if joined.inside(state) and batches.on(state.connection) is None:
        joined.look(state)


def idle(state: State, table: str, statement: str) -> None:
    """Raise TransactionOpen for a statement that commits by itself, where a transaction is open."""
    if state.in_transaction:
        way_out = state.always_in_transaction or "Commit it first, or use another connection"
        raise TransactionOpen(
            f"{table}: {statement} begins and commits a transaction of its own, and this connection has "
            f"one open. {way_out}.",
            table=table,
            statement=statement,
        )
