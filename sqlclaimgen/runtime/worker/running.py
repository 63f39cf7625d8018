"""A handler at work, seen from the worker's own loop."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from sqlclaimgen.runtime.worker.lanes import finished

MOMENT = 1.0
"""Seconds that a stop may come later than the cancellation of handlers that belongs to it."""


CLEANING = 1.0
"""Seconds that handlers have to end after the end of a drain: those of asyncio are cancelled."""


ENDS = (KeyboardInterrupt, SystemExit, GeneratorExit)
"""What a handler ends its worker with. Any other error is a failure of its row, also one that is no
Exception: libraries in Rust and gevent raise such."""


class HandlerCancelled(Exception):
    """An asyncio handler was cancelled: its row was lost, the worker had to stop, or its own code did."""


async def stopped(stop: asyncio.Event) -> bool:
    """Whether the worker stops now, or within a moment: the end of an event loop cancels its handlers
    and the worker's own task in any order."""
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(stop.wait(), MOMENT)
    return stop.is_set()


class Running:
    """A handler at work."""

    def __init__(self, future: Future[Any], cancel: Callable[[], object] | None = None) -> None:
        self._future = future
        self._cancel = cancel

    @property
    def done(self) -> bool:
        """Whether it has ended, however."""
        return self._future.done()

    async def ended(self) -> None:
        """Wait until it has ended, however."""
        await finished(self._future)

    async def result(self) -> Any:
        """What it returned, once it has ended. Raises what it raised; HandlerCancelled when it was
        cancelled, which is not to be mistaken for a cancellation of the worker."""
        await finished(self._future)
        error = self._future.exception()
        if isinstance(error, asyncio.CancelledError):
            raise HandlerCancelled from error
        if isinstance(error, StopIteration):
            # a coroutine cannot raise it
            raise RuntimeError("the handler raised StopIteration") from error
        if error is not None:
            raise error
        return self._future.result()

    def wait(self) -> Any:
        """What it returned, for a thread that waits for it. Raises what it raised."""
        return self._future.result()

    def cancel(self) -> None:
        """Ask an asyncio handler to stop. A thread cannot be stopped: it sees `delivery.lost`."""
        if self._cancel is not None:
            self._cancel()
