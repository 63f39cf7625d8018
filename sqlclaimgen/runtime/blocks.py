"""The blocks of `transaction`, as protocols: a transaction, a savepoint of one, a part of a claim's."""

from __future__ import annotations

import contextlib
import itertools
from typing import Protocol

from sqlclaimgen.runtime import batches, joined, publishing, steps
from sqlclaimgen.runtime.batches import Batch
from sqlclaimgen.runtime.drivers.base import State
from sqlclaimgen.runtime.held_by_transaction import ended
from sqlclaimgen.runtime.protocols import nesting
from sqlclaimgen.runtime.steps import (
    Begin,
    Commit,
    ReleaseSavepoint,
    Rollback,
    RollbackToSavepoint,
    Savepoint,
)

# MySQL forgets an outer savepoint when an inner one takes its name
_numbers = itertools.count(1)


class Block(Protocol):
    """One block: `enter`, then `leave` or `undo`."""

    table: str | None
    """What errors of its statements name; None: they stay the driver's own."""

    def enter(self) -> steps.Protocol[None]:
        """Begin."""
        ...

    def leave(self) -> steps.Protocol[None]:
        """End well. Undoes by itself what it cannot keep."""
        ...

    def undo(self) -> steps.Protocol[None]:
        """Roll back what was done inside."""
        ...


def of(state: State) -> Block:
    """The block that fits what is open on the connection. Raises ClaimLost when a claim's block is, and
    its transaction is not."""
    claim = batches.on(state.connection)
    if claim is not None:
        if not state.in_transaction:
            claim.lose()
            raise ended(claim)
        return _InClaim(claim)
    # asked: after a deadlock PyMySQL still says that a transaction is open
    if state.in_transaction and state.asked_in_transaction():
        return _InTransaction(state)
    return _Transaction(state)


def _name() -> str:
    return f"sqlclaimgen_nested_{next(_numbers)}"


class _Transaction:
    table: str | None = None

    def __init__(self, state: State) -> None:
        self._state = state

    def enter(self) -> steps.Protocol[None]:
        yield Begin("read committed")
        try:
            yield from joined.begun(self._state)
        except GeneratorExit:
            raise
        except BaseException:
            yield Rollback()
            raise

    def leave(self) -> steps.Protocol[None]:
        try:
            yield from joined.prove(self._state)
            yield Commit()
        except GeneratorExit:
            raise
        except BaseException:
            yield from self.undo()
            raise
        publishing.committed(joined.kept(self._state))

    def undo(self) -> steps.Protocol[None]:
        joined.undone(self._state)
        yield Rollback()


class _InTransaction:
    table: str | None = None

    def __init__(self, state: State) -> None:
        self._state = state
        self._savepoint = _name()

    def enter(self) -> steps.Protocol[None]:
        yield Savepoint(self._savepoint)
        yield from joined.begun(self._state)

    def leave(self) -> steps.Protocol[None]:
        try:
            yield from joined.prove(self._state)
            yield ReleaseSavepoint(self._savepoint)
        except GeneratorExit:
            raise
        except BaseException:
            yield from self.undo()
            raise
        joined.kept(self._state)

    def undo(self) -> steps.Protocol[None]:
        joined.undone(self._state)
        # where it is gone with its transaction the block around tells
        with contextlib.suppress(Exception):
            yield RollbackToSavepoint(self._savepoint)
            yield ReleaseSavepoint(self._savepoint)


class _InClaim:
    def __init__(self, claim: Batch) -> None:
        self._claim = claim
        self.table: str | None = claim.table

    def enter(self) -> steps.Protocol[None]:
        try:
            yield from nesting.enter(self._claim, _name())
        except nesting.Gone as error:
            self._claim.lose()
            raise ended(self._claim) from error.__cause__

    def leave(self) -> steps.Protocol[None]:
        yield from nesting.leave(self._claim)

    def undo(self) -> steps.Protocol[None]:
        yield from nesting.undo(self._claim)
