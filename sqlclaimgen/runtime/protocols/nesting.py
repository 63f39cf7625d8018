"""Blocks inside a row lock claim's transaction, and the proof that it is still the claim's.

A savepoint is there as long as the transaction that it was set in. Releasing one proves it, and
removes all that were set after it: so a block sets two, one to go back to and one to prove by.
Where the database gives transactions numbers the statements compare those, and none is needed.
"""

from __future__ import annotations

from sqlclaimgen.runtime.batches import Batch, Block
from sqlclaimgen.runtime.errors import ClaimError, FaultKind, StatementFailed
from sqlclaimgen.runtime.steps import (
    Protocol,
    ReleaseSavepoint,
    RollbackToSavepoint,
    Savepoint,
)


class Gone(ClaimError):
    """The transaction that is open is not the claim's. Never leaves this package."""


def prove(batch: Batch) -> Protocol[None]:
    """Raise Gone unless the savepoint to prove by is still there. `renew` sets it again."""
    if batch.transaction is None and batch.check is not None:
        try:
            yield ReleaseSavepoint(batch.check)
        except StatementFailed as error:
            if error.kind is FaultKind.LOST:
                raise
            raise Gone(str(error), table=batch.table) from error


def renew(batch: Batch) -> Protocol[None]:
    """Set the savepoint again that `prove` released."""
    if batch.transaction is None and batch.check is not None:
        yield Savepoint(batch.check)


def enter(batch: Batch, name: str) -> Protocol[None]:
    """Begin a nested transaction. Raises Gone."""
    yield from prove(batch)
    yield from renew(batch)
    yield Savepoint(name)
    block = Block(name, None)
    if batch.transaction is None:
        block.check = f"{name}_check"
        yield Savepoint(block.check)
    batch.blocks.append(block)


def leave(batch: Batch) -> Protocol[None]:
    """End the innermost block well: what was settled in it counts as settled outside."""
    block = batch.blocks[-1]
    try:
        yield ReleaseSavepoint(block.savepoint)
    except StatementFailed as error:
        batch.fail(error)
        raise
    finally:
        batch.blocks.pop()
        batch.depth = min(batch.depth, len(batch.blocks))
    if batch.blocks:
        batch.blocks[-1].settled += block.settled


def undo(batch: Batch) -> Protocol[None]:
    """Roll the innermost block back, and with it what was settled, or failed, inside."""
    block = batch.blocks.pop()
    for delivery in block.settled:
        delivery.settled = delivery.joined = False
    try:
        yield RollbackToSavepoint(block.savepoint)
        yield ReleaseSavepoint(block.savepoint)
    except StatementFailed:
        batch.lose()
        return
    if batch.failure is not None and batch.depth > len(batch.blocks):
        batch.failure = None
