"""The same work on several threads."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor


def on_threads(count: int, work: Callable[[], None]) -> None:
    """Run `work` once on each thread, and raise what one of them raised. One thread is the caller's own."""
    if count == 1:
        work()
        return
    with ThreadPoolExecutor(count) as pool:
        for future in [pool.submit(work) for _ in range(count)]:
            future.result()
