"""TZ-08: clocks that step under a lease worker."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest

from sqlclaimgen.runtime import EventKind
from tests.conformance.harness import Stand, on_cases
from tests.worker.support.cases import SHORT
from tests.worker.support.running import Log, leasing, worker_of, working


class Steps:
    """The host's clock, set ahead or back by so many seconds."""

    def __init__(self, base: Callable[[], datetime]) -> None:
        self.base = base
        self.ahead = 0.0

    def __call__(self) -> datetime:
        return self.base() + timedelta(seconds=self.ahead)


@pytest.mark.parametrize("step", [600, -600, 1, -1])
@on_cases(SHORT)
def test_tz_08_a_step_of_the_clock_loses_no_lease(stand: Stand, step: float) -> None:
    module = leasing(stand.generated.module("jobs"), 1)
    clock = Steps(module.QUEUE.clock)
    module.QUEUE = dataclasses.replace(module.QUEUE, clock=clock)
    (id,) = stand.enqueue([{"payload": 1}])
    log = Log()

    def handle(delivery: Any) -> None:
        log.wait_for(EventKind.EXTENDED)
        clock.ahead = step
        seen = len(log.events)
        log.wait_for(EventKind.EXTENDED, 2, since=seen)

    # one handler: a worker that finds its own lease run out, by the new clock, takes the row again
    worker = worker_of("blocking", stand, handle, module=module, on_event=log, concurrency=1)
    with working(worker):
        log.wait_for(EventKind.SETTLED)
    assert log.deliveries == [(id, 1)] and stand.count == 0
    assert not log.of(EventKind.LOST)
