"""Claims by hand that are a transaction: what their block and nested blocks have to know."""

from __future__ import annotations

from sqlclaimgen.runtime import batches
from sqlclaimgen.runtime.batches import Batch
from sqlclaimgen.runtime.deliveries import Delivery, RowLockDelivery
from sqlclaimgen.runtime.drivers.base import State
from sqlclaimgen.runtime.errors import ClaimLost
from sqlclaimgen.runtime.protocols import row_lock
from sqlclaimgen.runtime.protocols.taken import Taken
from sqlclaimgen.runtime.steps import Protocol, Rollback


class Holder:
    """The transaction of a claim whose block is open."""

    def __init__(self, state: State, batch: Batch) -> None:
        self._state = state
        self._batch = batch
        batches.opened(state.connection, batch)

    def ready(self, delivery: Delivery[object, object]) -> None:
        """Raise ClaimLost when a delivery is about to be handed out and nothing holds its row."""
        if not self._state.in_transaction:
            self._batch.lose()
            raise ended(self._batch, delivery.id)

    def close(self) -> None:
        """The block has been left."""
        batches.closed(self._state.connection)


def hold(state: State, taken: Taken) -> Protocol[Holder | None]:
    """Watch over a claim by hand; None when it holds nothing by a transaction."""
    held = [one for one in taken.deliveries if isinstance(one, RowLockDelivery)]
    if not held:
        return None
    first = held[0]
    try:
        yield from row_lock.guarded(first)
    except GeneratorExit:
        raise
    except BaseException:
        yield Rollback()
        raise
    return Holder(state, first.batch)


def ended(batch: Batch, id: object = None) -> ClaimLost:
    """The claim's transaction was committed or rolled back inside its block."""
    row = f" {id!r}" if id is not None else ""
    return ClaimLost(
        f"{batch.table}{row}: the transaction that held the claim's rows was ended inside its block, so "
        "another claim may have them. Leave commit and rollback to the block, or claim one row at a time.",
        table=batch.table,
        id=id,
    )
