"""Leases that ran out while their handlers were at work, because no extension got through."""

from __future__ import annotations

import asyncio
from typing import Any
from unittest import mock

import pytest

from sqlclaimgen.runtime import AsyncWorker, EventKind
from sqlclaimgen.runtime.worker.extending import Extender
from tests.conformance.harness import Stand, on_cases
from tests.worker.support.cases import JOBS
from tests.worker.support.running import QUICK, Log, OnThread, leasing, working

SQLITE = JOBS.with_(dialects=["sqlite"])


async def nothing_gets_through(self: Extender, due: list[Any]) -> None:
    """In the place of an extension."""
    del due
    self._tell()


@on_cases(SQLITE)
def test_a_handler_runs_on_and_its_outcome_counts(stand: Stand) -> None:
    (id,) = stand.enqueue([{}])
    module = leasing(stand.generated.module("jobs"), 0.2)
    log = Log()
    seen: list[bool] = []

    async def handle(delivery: Any) -> None:
        while not log.of(EventKind.OVERDUE):
            await asyncio.sleep(0.01)
        seen.extend([delivery.overdue, delivery.live, delivery.lost])

    # one handler, and so no claim while it runs
    settings = {**QUICK, "concurrency": 1, "on_event": log}
    worker: Any = AsyncWorker(module.QUEUE, handle, connect=stand.connect, **settings)
    with mock.patch.object(Extender, "_extend", nothing_gets_through):
        OnThread(worker, until="empty").join(30)
    assert seen == [True, False, False]
    assert log.ids(EventKind.OVERDUE) == log.ids(EventKind.SETTLED) == [id]
    assert log.deliveries == [(id, 1)] and not log.of(EventKind.LOST)
    assert stand.count == 0


@pytest.mark.parametrize("face", ["coroutine", "plain"])
@on_cases(SQLITE)
def test_a_claim_that_takes_its_row_cancels_its_task_at_once(stand: Stand, face: str) -> None:
    (id,) = stand.enqueue([{}])
    module = leasing(stand.generated.module("jobs"), 0.2)
    log = Log()
    order: list[str] = []

    async def handle(delivery: Any) -> None:
        order.append(f"{delivery.attempt} begins")
        if delivery.attempt > 1:
            return
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            order.append(f"1 is cancelled, lost: {delivery.lost}")
            raise

    async def never(self: Extender) -> None:
        await asyncio.Event().wait()

    handler = handle if face == "coroutine" else lambda delivery: handle(delivery)
    settings = {**QUICK, "concurrency": 2, "on_event": log}
    worker: Any = AsyncWorker(module.QUEUE, handler, connect=stand.connect, **settings)
    with mock.patch.object(Extender, "run", never), working(worker):
        log.wait_for(EventKind.SETTLED)
    assert order == ["1 begins", "1 is cancelled, lost: True", "2 begins"]
    assert log.deliveries == [(id, 1), (id, 2)]
    assert [(event.id, event.attempt) for event in log.of(EventKind.LOST)] == [(id, 1)]
    assert [event.attempt for event in log.of(EventKind.SETTLED)] == [2] and stand.count == 0
