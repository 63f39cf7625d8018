"""Processes that stand still: stopped by a signal, their sockets open, answering nobody."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def frozen(pid: int) -> Iterator[None]:
    """A process and its children, stopped for the length of the block."""
    family = [pid, *children(pid)]
    for one in family:
        os.kill(one, signal.SIGSTOP)
    try:
        yield
    finally:
        for one in reversed(family):
            with contextlib.suppress(ProcessLookupError):
                os.kill(one, signal.SIGCONT)


def children(parent: int) -> list[int]:
    found = []
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = entry.read_text().rpartition(")")[2].split()
            if int(fields[1]) == parent:
                found.append(int(entry.parent.name))
    return found
