"""SIGTERM and SIGINT, for every worker of the process that listens to them."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Generator
from types import FrameType
from typing import Any

SIGNALS = (signal.SIGTERM, signal.SIGINT)

_stops: list[Callable[[], None]] = []
"""How each worker that listens is stopped."""
_mains: list[Callable[[], None]] = []
"""Those of them that run on the main thread, where handlers of signals are set."""
_before: dict[int, Any] = {}
"""What handled each signal before the first of them."""
_process = 0


def _ask(number: int, frame: FrameType | None) -> None:
    before = _before.get(number)
    if os.getpid() != _process:
        # a process that a handler forked: the workers are its parent's, and it has a death of its own
        signal.signal(number, before or signal.SIG_DFL)
        os.kill(os.getpid(), number)
        return
    for stop in list(_stops):
        stop()
    # a server around the workers stops too; Python's own answer to SIGINT would end the drain
    if callable(before) and before is not signal.default_int_handler:
        before(number, frame)


def _install() -> None:
    global _process
    _process = os.getpid()
    for number in SIGNALS:
        _before[number] = signal.signal(number, _ask)


def _put_back() -> None:
    for number in SIGNALS:
        before = _before.pop(number)
        if signal.getsignal(number) is _ask:  # else somebody has set another one since
            signal.signal(number, before or signal.SIG_DFL)


@contextlib.contextmanager
def heard(stop: Callable[[], None]) -> Generator[bool]:
    """While the block runs, a signal calls `stop`, and what handled it before. Yields False where only
    another worker, on the main thread, makes that so."""
    main = threading.current_thread() is threading.main_thread()
    if main and not _before:
        _install()
    _stops.append(stop)
    if main:
        _mains.append(stop)
    try:
        yield main
    finally:
        _stops.remove(stop)
        if main:
            _mains.remove(stop)
            if not _mains:
                _put_back()
