"""Threads that never keep the process from ending: what runs on them may hang, the exit may not."""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")


async def finished(future: Future[Any]) -> None:
    """Wait until a future of another thread is done. The future stays its own: a cancellation of the
    wait does not reach it, and it may be done after this loop has ended."""
    loop = asyncio.get_running_loop()
    done = asyncio.Event()

    def ring(_: Future[Any]) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(done.set)

    future.add_done_callback(ring)
    await done.wait()


class Lane:
    """One daemon thread that runs functions one after another."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._tasks: queue.SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = (
            queue.SimpleQueue()
        )
        self._thread: threading.Thread | None = None

    def submit(self, function: Callable[[], T]) -> Future[T]:
        """Run a function after those before it."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
            self._thread.start()
        future: Future[T] = Future()
        self._tasks.put((future, function))
        return future

    def close(self) -> None:
        """End the thread once it has run what was submitted. It is not waited for."""
        if self._thread is not None:
            self._tasks.put(None)

    def _run(self) -> None:
        while (task := self._tasks.get()) is not None:
            future, function = task
            if not future.set_running_or_notify_cancel():
                continue
            try:
                value = function()
            except BaseException as error:
                future.set_exception(error)
            else:
                future.set_result(value)
            del future, function, task


class Lanes:
    """Lanes for as many functions at a time as are asked for, used again when free."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._free: queue.SimpleQueue[Lane] = queue.SimpleQueue()
        self._count = 0
        self._closed = False

    def submit(self, function: Callable[[], T]) -> Future[T]:
        """Run a function on a free lane, or on a new one."""
        try:
            lane = self._free.get_nowait()
        except queue.Empty:
            self._count += 1
            lane = Lane(f"{self._name}-{self._count}")
        future = lane.submit(function)
        future.add_done_callback(lambda _: self._back(lane))
        return future

    def _back(self, lane: Lane) -> None:
        self._free.put(lane)
        if self._closed:
            self.close()

    def close(self) -> None:
        """End each lane as soon as it is free."""
        self._closed = True
        while True:
            try:
                self._free.get_nowait().close()
            except queue.Empty:
                return
