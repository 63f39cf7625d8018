"""Settlements that joined a transaction of `transaction(conn)`: undone when it rolls back."""

from __future__ import annotations

from typing import Any

from sqlclaimgen.runtime.deliveries import Delivery

_open: dict[int, list[list[Delivery[Any, Any]]]] = {}
"""What was settled in each open block, the innermost last, by connection."""


def begun(connection: Any) -> None:
    """A block was opened that ends with `kept` or `undone`."""
    _open.setdefault(id(connection), []).append([])


def settled(connection: Any, delivery: Delivery[Any, Any]) -> None:
    """A settlement joined the transaction that is open on `connection`."""
    blocks = _open.get(id(connection))
    if blocks:
        blocks[-1].append(delivery)


def kept(connection: Any) -> None:
    """The innermost block ended well: what was settled in it counts as settled in the one around it."""
    inner = _ended(connection)
    for delivery in inner:
        settled(connection, delivery)


def undone(connection: Any) -> None:
    """The innermost block was rolled back: its deliveries have no outcome, and can be given one."""
    for delivery in _ended(connection):
        delivery.settled = delivery.joined = False


def _ended(connection: Any) -> list[Delivery[Any, Any]]:
    blocks = _open[id(connection)]
    inner = blocks.pop()
    if not blocks:
        del _open[id(connection)]
    return inner
