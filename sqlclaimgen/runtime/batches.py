"""Rows that one open transaction holds, and what has become of it."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sqlclaimgen.runtime.errors import ClaimError

if TYPE_CHECKING:
    from sqlclaimgen.runtime.deliveries import RowLockDelivery
    from sqlclaimgen.runtime.protocols.fifo import Guards


@dataclass(slots=True)
class Block:
    """A nested transaction inside a claim's: what was settled in it comes back when it rolls back."""

    savepoint: str
    check: str | None
    """A second savepoint, which settlements prove the transaction by."""
    settled: list[RowLockDelivery[Any, Any]] = field(
        default_factory=list["RowLockDelivery[Any, Any]"]
    )


@dataclass(slots=True, eq=False, weakref_slot=True)
class Batch:
    """The deliveries of one row lock claim. They share its transaction: all of it counts, or none."""

    table: str
    guards: Guards
    """What keeps other claims away from the rows' FIFO groups; to be released after the transaction."""
    transaction: int | None = None
    """The transaction's number, where the database tells it."""
    savepoint: str | None = None
    """The savepoint of the claim, where one is set."""
    deliveries: Sequence[RowLockDelivery[Any, Any]] = ()
    blocks: list[Block] = field(default_factory=list[Block])
    failure: ClaimError | None = None
    """Why nothing of the batch can be committed any more."""
    depth: int = 0
    """How many blocks were open around the settlement that failed."""
    over: bool = False
    """Committed, rolled back, or known to be gone."""

    @property
    def check(self) -> str | None:
        """The savepoint that is there as long as the claim's transaction is; None: none was set."""
        return self.blocks[-1].check if self.blocks else self.savepoint

    def fail(self, error: ClaimError) -> None:
        """A settlement failed, and the batch with it, unless a block around it is rolled back."""
        if self.failure is None:
            self.failure, self.depth = error, len(self.blocks)

    def lose(self) -> None:
        """The transaction is gone: nobody holds these rows any more."""
        self.over = True
        for delivery in self.deliveries:
            if not delivery.settled:
                delivery.lost = True

    def undo(self) -> None:
        """The transaction was rolled back, and every settlement in it."""
        for delivery in self.deliveries:
            delivery.settled = False
        self.lose()


# neither keeps a connection alive: deliveries know theirs
_OPEN: weakref.WeakKeyDictionary[Any, weakref.ref[Batch]] = weakref.WeakKeyDictionary()


def opened(connection: Any, batch: Batch) -> None:
    """Remember that a claim's transaction is open on `connection`, until `closed`. One from before is
    over: a claim refuses an open transaction, and savepoints of this one prove nothing for it."""
    before = on(connection)
    if before is not None:
        before.lose()
    _OPEN[connection] = weakref.ref(batch)


def closed(connection: Any) -> None:
    """The claim's block on `connection` has been left."""
    _OPEN.pop(connection, None)


def on(connection: Any) -> Batch | None:
    """The claim whose block is open on `connection`, or None."""
    try:
        found = _OPEN.get(connection)
    except TypeError:
        return None  # sqlite3's connections cannot be referred to, and hold no row locks
    return found() if found is not None else None
