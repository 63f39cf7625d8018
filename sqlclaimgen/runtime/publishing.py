"""Enqueues wake the workers of the same process, once they are committed."""

from __future__ import annotations

import sys
from typing import Any

from sqlclaimgen.runtime import joined
from sqlclaimgen.runtime.drivers.base import State
from sqlclaimgen.runtime.queue import Queue

AnyQueue = Queue[Any, Any, Any, Any]

_WAKING = f"{__name__.rpartition('.')[0]}.worker.waking"


def enqueued(queue: AnyQueue, state: State) -> None:
    """A row was added. Its workers wake now where it is committed already, after the COMMIT where this
    runtime commits it; who commits by hand calls `wake`, or leaves it to the poll."""
    if not state.in_transaction:
        _wake(queue)
        return
    joined.enqueued(state, queue)


def committed(block: joined.Block) -> None:
    """A block was committed that rows may have been added in."""
    for queue in block.enqueued.values():
        _wake(queue)


def _wake(queue: AnyQueue) -> None:
    # a process that never made a worker has nobody to wake, and need not import one
    waking = sys.modules.get(_WAKING)
    if waking is not None:
        waking.wake(queue)
