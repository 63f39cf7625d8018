"""Open blocks of `transaction(conn)`: that they are still what they were, and what was done inside."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Any

from sqlclaimgen.runtime.deliveries import Delivery
from sqlclaimgen.runtime.drivers.base import Session
from sqlclaimgen.runtime.errors import FaultKind, StatementFailed
from sqlclaimgen.runtime.queue import Queue

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


def begun(session: Session) -> None:
    """A block was opened that ends with `kept` or `undone`. Raises the driver's errors."""
    check = None if session.knows_transactions else f"sqlclaimgen_check_{next(_numbers)}"
    if check is not None:
        session.run(f"SAVEPOINT {check}", {})
    _open.setdefault(id(session.connection), []).append(Block(check))


def inside(session: Session) -> bool:
    """Whether a block is open on the connection."""
    return id(session.connection) in _open


def look(session: Session) -> None:
    """Raise StatementFailed when a block's transaction is over, or can only be rolled back: what runs
    now would stand alone, or be lost. Savepoints stay as they are."""
    if session.broken:
        raise _ended("an error aborted it, and was kept inside the block")
    if not session.asked_in_transaction():
        raise _ended(_GONE)


def prove(session: Session) -> None:
    """Raise StatementFailed, before the end of the innermost block, when its transaction is over, or
    another one."""
    look(session)
    check = _open[id(session.connection)][-1].check
    if check is None:
        return
    try:
        session.run(f"RELEASE SAVEPOINT {check}", {})
    except Exception as error:
        if session.fault(error) is FaultKind.LOST:
            raise
        raise _ended(_GONE) from error


def settled(session: Session, delivery: Delivery[Any, Any]) -> None:
    """A settlement joined the transaction that is open on the connection."""
    if inside(session):
        _open[id(session.connection)][-1].settled.append(delivery)


def enqueued(session: Session, queue: Queue[Any, Any, Any, Any]) -> None:
    """A row was added in the transaction that is open on the connection."""
    if inside(session):
        _open[id(session.connection)][-1].enqueued[queue.table] = queue


def kept(session: Session) -> Block:
    """The innermost block ended well: what was done in it was done in the one around it."""
    block = _left(session)
    if inside(session):
        outer = _open[id(session.connection)][-1]
        outer.settled += block.settled
        outer.enqueued |= block.enqueued
    return block


def undone(session: Session) -> None:
    """The innermost block was rolled back: its deliveries have no outcome, and can be given one."""
    for delivery in _left(session).settled:
        delivery.settled = delivery.joined = False


def _left(session: Session) -> Block:
    blocks = _open[id(session.connection)]
    block = blocks.pop()
    if not blocks:
        del _open[id(session.connection)]
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
