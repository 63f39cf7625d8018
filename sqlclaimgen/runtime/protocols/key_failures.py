"""What goes wrong with a row that is held by its key, in words."""

from __future__ import annotations

from typing import Any

from sqlclaimgen.runtime.deliveries import AdvisoryDelivery
from sqlclaimgen.runtime.errors import ClaimLost, FaultKind, SettlementUnknown, StatementFailed
from sqlclaimgen.runtime.keys import KeyLock
from sqlclaimgen.runtime.queue import Bound


def lost(delivery: AdvisoryDelivery[Any, Any], why: str) -> ClaimLost:
    """The row is not this delivery's any more."""
    table = delivery.bound.queue.table
    return ClaimLost(
        f"{table} {delivery.id!r}: attempt {delivery.number} no longer holds the row: {why}. Its outcome "
        "changed nothing. Roll back what this delivery did.",
        table=table,
        id=delivery.id,
        attempt=delivery.number,
    )


def unknown(delivery: AdvisoryDelivery[Any, Any]) -> SettlementUnknown:
    """A COMMIT got no answer."""
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


def unconfirmed(bound: Bound, lock: KeyLock) -> StatementFailed:
    """An unlock that the database does not confirm."""
    return StatementFailed(
        f"{bound.queue.table}: the database did not confirm that the key {lock.key!r} was given back, so "
        "the connection was closed. Something between here and the database may share sessions out: "
        "this form needs a direct connection, or a pooler in session mode.",
        table=bound.queue.table,
        kind=FaultKind.LOST,
        statement="unlock",
    )
