"""Connections that hold a key for a delivery claimed by hand: one delivery each."""

from __future__ import annotations

import threading
import weakref
from typing import Any, TypeVar

from sqlclaimgen.runtime.deliveries import AdvisoryDelivery
from sqlclaimgen.runtime.errors import ConnectionBusy
from sqlclaimgen.runtime.protocols.keyed import Place
from sqlclaimgen.runtime.protocols.scope import Scope
from sqlclaimgen.runtime.protocols.taken import Taken
from sqlclaimgen.runtime.queue import Queue

V = TypeVar("V")

_HELD: weakref.WeakValueDictionary[int, AdvisoryDelivery[Any, Any]] = weakref.WeakValueDictionary()
"""By the id of the connection, which the delivery keeps alive. sqlite3's take no weak reference."""


_CLAIMING: set[int] = set()
"""The ids of connections that a claim by hand runs over."""

_LOCK = threading.Lock()


def begin(queue: Queue[Any, Any, Any, Any], connection: Any) -> None:
    """Begin a claim, until `end`. Raises ConnectionBusy where another thread or task claims over the same
    connection: their statements would be in one transaction, and both would win one key."""
    with _LOCK:
        free = id(connection) not in _CLAIMING
        _CLAIMING.add(id(connection))
    if not free:
        raise ConnectionBusy(
            f"{queue.table}: another thread or task claims over this connection. Give each its own: a "
            "connection belongs to one at a time.",
            table=queue.table,
            statement="claim",
        )


def end(connection: Any) -> None:
    """The claim is over."""
    with _LOCK:
        _CLAIMING.discard(id(connection))


_PLACES: weakref.WeakKeyDictionary[Any, dict[Any, Place]] = weakref.WeakKeyDictionary()
"""Where claims by hand go on, by connection, then by table and scope."""

_OF_SQLITE: dict[int, dict[Any, Place]] = {}
"""The same by the ids of sqlite3's connections. An id may come again: then a claim goes on where that of
another connection stopped, after its first window."""

_MOST = 1000
"""Connections of sqlite3, and groups of a connection, whose places are kept."""


def resuming(queue: Queue[Any, Any, Any, Any], connection: Any, scope: Scope) -> Scope:
    """The scope, going on where the last claim over this connection stopped."""
    with _LOCK:
        place = _places(connection).get((queue.table, scope))
    return scope if place is None else scope.resuming(place)


def went_on(queue: Queue[Any, Any, Any, Any], connection: Any, scope: Scope, taken: Taken) -> None:
    """Remember where a claim stopped that did not read all due rows."""
    with _LOCK:
        places = _places(connection)
        places.pop((queue.table, scope), None)
        if not isinstance(taken.resume, Place):
            return
        _keep(places, (queue.table, scope), taken.resume)
        try:
            _PLACES[connection] = places
        except TypeError:
            _OF_SQLITE.pop(id(connection), None)
            _keep(_OF_SQLITE, id(connection), places)
    taken.resume = None


def _places(connection: Any) -> dict[Any, Place]:
    try:
        return _PLACES.get(connection, {})
    except TypeError:
        return _OF_SQLITE.get(id(connection), {})


def _keep(held: dict[Any, V], key: Any, value: V) -> None:
    while len(held) >= _MOST:
        del held[next(iter(held))]
    held[key] = value


def hold(connection: Any, taken: Taken) -> None:
    """Remember what a claim took over `connection`, until its key is given back."""
    for delivery in taken.deliveries:
        if isinstance(delivery, AdvisoryDelivery):
            _HELD[id(connection)] = delivery


def refuse_second(queue: Queue[Any, Any, Any, Any], connection: Any) -> None:
    """Raise ConnectionBusy for a claim of this form over a connection that holds a delivery: session
    locks are re-entrant, so it would win its own key again."""
    delivery = _HELD.get(id(connection))
    if delivery is None or delivery.lock is None or delivery.bound.queue.form != queue.form:
        return
    table = delivery.bound.queue.table
    raise ConnectionBusy(
        f"{queue.table}: this connection holds {table} {delivery.id!r} by the key {delivery.key!r}, and a "
        "connection holds one delivery at a time. Settle it, leave its block, or claim over another.",
        table=queue.table,
        id=delivery.id,
        attempt=delivery.number,
        statement="claim",
    )
