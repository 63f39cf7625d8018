"""Rows that wait for another one of their group or key: they are claimed as soon as that one ends."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any
from unittest import mock

import pytest

from sqlclaimgen.runtime import EventKind
from sqlclaimgen.runtime.worker.waking import Alarm
from tests.conformance.harness import Stand, on_cases
from tests.worker.held.cases import ADVISORY, FIFO_LEASE, FIFO_ROW_LOCK, is_advisory
from tests.worker.support.running import Log, worker_of, working

NEVER = 600.0
"""A poll interval that no test lasts."""

FACES = pytest.mark.parametrize("face", ["blocking", "asyncio"])


class Watch:
    """Handlers of it last until some other one of the worker has looked, found nothing, and waits."""

    def __init__(self) -> None:
        self._waits = threading.Event()
        self.done: list[int] = []

    def handle(self, delivery: Any) -> None:
        """The handler."""
        assert self._waits.wait(30)
        self.done.append(delivery.id)

    @contextlib.contextmanager
    def over(self, worker: Any) -> Iterator[None]:
        """The worker runs inside the block."""
        plain = Alarm.wait

        async def wait(alarm: Alarm, seconds: float) -> bool:
            self._waits.set()
            return await plain(alarm, seconds)

        with mock.patch.object(Alarm, "wait", wait), working(worker):
            yield


def filled(stand: Stand, n: int, names: str = "ab") -> list[int]:
    """`n` rows of these groups or keys in turn."""
    name = "account" if is_advisory(stand.case) else "queue"
    stand.fill([{"id": k, name: names[k % len(names)]} for k in range(1, n + 1)])
    return list(range(1, n + 1))


@FACES
@on_cases(FIFO_ROW_LOCK, FIFO_LEASE, ADVISORY)
def test_no_poll_interval_between_two_rows_of_a_group(stand: Stand, face: str) -> None:
    ids = filled(stand, 20)
    log, watch = Log(), Watch()
    worker = worker_of(face, stand, watch.handle, on_event=log, concurrency=4, poll_interval=NEVER)
    with watch.over(worker):
        log.wait_for(EventKind.SETTLED, len(ids))
    assert stand.count == 0
    if not is_advisory(stand.case):
        for first in (1, 2):
            assert [id for id in watch.done if id % 2 == first % 2] == ids[first - 1 :: 2]


@on_cases(FIFO_ROW_LOCK, FIFO_LEASE, ADVISORY)
def test_without_the_ring_a_group_waits(stand: Stand) -> None:
    filled(stand, 3, "a")
    log, watch = Log(), Watch()
    worker = worker_of(
        "blocking", stand, watch.handle, on_event=log, concurrency=2, poll_interval=NEVER
    )
    with mock.patch.object(Alarm, "ring"), watch.over(worker):
        log.wait_for(EventKind.SETTLED)
        with contextlib.suppress(TimeoutError):
            log.wait_for(EventKind.SETTLED, 2, timeout=1)
    assert len(log.of(EventKind.SETTLED)) == 1


@on_cases(FIFO_ROW_LOCK, ADVISORY, FIFO_LEASE)
def test_failures_wait_for_the_poll(stand: Stand) -> None:
    filled(stand, 2)
    log = Log()

    def handle(delivery: Any) -> None:
        raise ValueError("again and again")

    worker = worker_of("blocking", stand, handle, on_event=log, concurrency=4, poll_interval=NEVER)
    with working(worker):
        log.wait_for(EventKind.SETTLED, 2)
        with contextlib.suppress(TimeoutError):
            log.wait_for(EventKind.FAILED, 7, timeout=0.7)
    # no more than a failure for each handler and those at work by then
    assert len(log.of(EventKind.FAILED)) < 7
