"""Enqueues wake the workers of the same process, once they are committed."""

from __future__ import annotations

import sys
from typing import Any

from sqlclaimgen.runtime.drivers.base import Session
from sqlclaimgen.runtime.queue import Queue

AnyQueue = Queue[Any, Any, Any, Any]

_WAKING = f"{__name__.rpartition('.')[0]}.worker.waking"
_open: dict[int, dict[str, AnyQueue]] = {}
"""What was enqueued in the open transactions that `transaction` will commit, by connection."""


def enqueued(queue: AnyQueue, session: Session) -> None:
    """A row was added. Its workers wake now where it is committed already, after the COMMIT where this
    runtime commits it; who commits by hand calls `wake`, or leaves it to the poll."""
    if not session.in_transaction:
        _wake(queue)
        return
    noted = _open.get(id(session.connection))
    if noted is not None:
        noted[queue.table] = queue


def begun(session: Session) -> None:
    """A transaction was opened that ends with `committed` or `undone`."""
    _open[id(session.connection)] = {}


def committed(session: Session) -> None:
    """It was committed."""
    for queue in _open.pop(id(session.connection), {}).values():
        _wake(queue)


def undone(session: Session) -> None:
    """It was rolled back."""
    _open.pop(id(session.connection), None)


def _wake(queue: AnyQueue) -> None:
    # a process that never made a worker has nobody to wake, and need not import one
    waking = sys.modules.get(_WAKING)
    if waking is not None:
        waking.wake(queue)
