"""How long handlers run: a limit where the worker was given one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from sqlclaimgen.runtime.worker.events import EventKind, Reporter
from sqlclaimgen.runtime.worker.held_work import Work
from sqlclaimgen.runtime.worker.settings import Settings
from sqlclaimgen.runtime.worker.work import InWork


def limited(item: InWork | Work, settings: Settings, report: Reporter) -> Callable[[], None]:
    """Begin a handler's time. Returns what ends it."""
    if settings.handler_timeout is None:
        return lambda: None

    def over() -> None:
        item.timed_out = True
        report(EventKind.TIMED_OUT, seconds=item.seconds, error=exceeded(settings), **item.fields)
        if item.running is not None:
            item.running.cancel()

    return asyncio.get_running_loop().call_later(settings.handler_timeout, over).cancel


def exceeded(settings: Settings) -> TimeoutError:
    """The error of a handler whose time is over."""
    return TimeoutError(
        f"the handler ran for more than handler_timeout={settings.handler_timeout:g} s"
    )


def why(
    item: InWork | Work, settings: Settings, error: BaseException, cancelled: type[Any]
) -> BaseException:
    """What a handler failed by: its own error, or the limit that cancelled it."""
    if item.timed_out and isinstance(error, cancelled):
        late = exceeded(settings)
        late.__cause__ = error
        return late
    return error
