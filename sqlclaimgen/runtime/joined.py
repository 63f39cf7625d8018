"""Open blocks of `transaction(conn)`: that they are still what they were, and what was done inside."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Any

from sqlclaimgen.runtime.deliveries import Delivery
from sqlclaimgen.runtime.drivers.base import State
from sqlclaimgen.runtime.errors import FaultKind, StatementFailed
from sqlclaimgen.runtime.queue import Queue
from sqlclaimgen.runtime.steps import Protocol, ReleaseSavepoint, Savepoint

_numbers = itertools.count(1)


@dataclass(slots=True)
class Block:
    """One block, a transaction or a savepoint of one."""

    check: str | None
    """A savepoint that is there as long as the block's transaction is; None where the driver knows."""
    settled: list[Delivery[Any, Any]] = field(default_factory=list[Delivery[Any, Any]])
    enqueued: dict[str, Queue[Any, Any, Any, Any]] = field(
        default_factory=dict[str, Queue[Any, Any, Any, Any]]
    )
    """The tables that rows were added to, by name."""


_open: dict[int, list[Block]] = {}
"""The innermost last, by connection."""


def begun(state: State) -> Protocol[None]:
    """A block was opened that ends with `kept` or `undone`. Raises the driver's errors."""
    check = None if state.knows_transactions else f"sqlclaimgen_check_{next(_numbers)}"
    if check is not None:
        yield Savepoint(check)
    _open.setdefault(id(state.connection), []).append(Block(check))


def inside(state: State) -> bool:
    """Whether a block is open on the connection."""
    return id(state.connection) in _open


def look(state: State) -> None:
    """Raise StatementFailed when a block's transaction is over, or can only be rolled back: what runs
    now would stand alone, or be lost. Savepoints stay as they are."""
    if state.broken:
        raise _ended("an error aborted it, and was kept inside the block")
    if not state.asked_in_transaction():
        raise _ended(_GONE)


def prove(state: State) -> Protocol[None]:
    """Raise StatementFailed, before the end of the innermost block, when its transaction is over, or
    another one."""
    look(state)
    check = _open[id(state.connection)][-1].check
    if check is None:
        return
    try:
        yield ReleaseSavepoint(check)
    except Exception as error:
        if state.fault(error) is FaultKind.LOST:
            raise
        raise _ended(_GONE) from error


def settled(state: State, delivery: Delivery[Any, Any]) -> None:
    """A settlement joined the transaction that is open on the connection."""
    if inside(state):
        _open[id(state.connection)][-1].settled.append(delivery)


def enqueued(state: State, queue: Queue[Any, Any, Any, Any]) -> None:
    """A row was added in the transaction that is open on the connection."""
    if inside(state):
        _open[id(state.connection)][-1].enqueued[queue.table] = queue


def kept(state: State) -> Block:
    """The innermost block ended well: what was done in it was done in the one around it."""
    block = _left(state)
    if inside(state):
        outer = _open[id(state.connection)][-1]
        outer.settled += block.settled
        outer.enqueued |= block.enqueued
    return block


def undone(state: State) -> None:
    """The innermost block was rolled back: its deliveries have no outcome, and can be given one."""
    for delivery in _left(state).settled:
        delivery.settled = delivery.joined = False


def _left(state: State) -> Block:
    blocks = _open[id(state.connection)]
    block = blocks.pop()
    if not blocks:
        del _open[id(state.connection)]
    return block


_GONE = (
    "the database rolled it back, as InnoDB does after a deadlock whose error was kept inside the block, "
    "or it was ended there"
)


def _ended(why: str) -> StatementFailed:
    return StatementFailed(
        f"transaction: {why}. Nothing of it is committed, and what was settled inside has no outcome. Let "
        "errors out of the block, and do it again.",
        table="transaction",
        kind=FaultKind.ABORTED,
        statement="transaction",
    )
