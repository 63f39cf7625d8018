"""DD: double delivery, as a lease worker could bring it about."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from sqlclaimgen.runtime import EventKind
from tests.conformance.harness import Stand, on_cases, substituting
from tests.worker.support.cases import JOBS, SHORT
from tests.worker.support.process import order_for, processes
from tests.worker.support.running import Log, OnThread, leasing, worker_of, working


def fenceless(stand: Stand) -> Any:
    """A module whose ack names the id alone."""
    quote = stand.plan.dialect.quote
    return stand.twin(
        ack=substituting(
            (f" AND {quote('locked_until')} IN (:token, :sent)", ""),
            (f" AND {quote('attempt')} = :attempt", ""),
        )
    )


def overtaken(stand: Stand, module: Any) -> tuple[Log, int]:
    """A worker whose row is claimed by another, its lease run out, while its handler works. Returns
    the worker's events and how many rows are left when both are through."""
    stand.enqueue([{"payload": 1}])
    rival = stand.connect()
    log = Log()
    taken: list[Any] = []

    def handle(delivery: Any) -> None:
        claim = stand.claim(rival, module=stand.later(3600))
        taken.extend(claim.__enter__())

    running = OnThread(worker_of("blocking", stand, handle, module=module, on_event=log))
    log.wait_for(EventKind.STARTED)
    while not log.of(EventKind.SETTLED, EventKind.LOST):
        time.sleep(0.01)
    running.stop()
    running.join()
    left = stand.count
    assert len(taken) == 1
    return log, left


@on_cases(JOBS)
def test_dd_01_a_settlement_after_another_claim_changes_nothing(stand: Stand) -> None:
    log, left = overtaken(stand, stand.module)
    assert left == 1, "the row is the other claim's"
    assert len(log.of(EventKind.LOST)) == 1 and not log.of(EventKind.SETTLED)


@on_cases(JOBS)
def test_dd_01_a_worker_without_the_fence_is_found_out(stand: Stand) -> None:
    log, left = overtaken(stand, fenceless(stand))
    assert left == 0 and log.of(EventKind.SETTLED)


@on_cases(SHORT)
def test_dd_03_extension_and_settlement_of_one_worker_lose_nothing(stand: Stand) -> None:
    # handlers of every length around the extension's beat, so that they end while one is under way
    module = leasing(stand.generated.module("jobs"), 1)
    stand.fill([{"id": n, "payload": n} for n in range(1, 201)])
    log = Log()

    def handle(delivery: Any) -> None:
        time.sleep(0.4 + delivery.id % 20 / 100)

    worker = worker_of("blocking", stand, handle, module=module, on_event=log, concurrency=50)
    OnThread(worker, until="empty").join(90)
    assert len(log.of(EventKind.SETTLED)) == 200 and stand.count == 0
    assert log.of(EventKind.EXTENDED)
    assert not log.of(EventKind.LOST, EventKind.UNKNOWN)


@pytest.mark.parametrize("face", ["blocking", "asyncio", "blocks its loop"])
@on_cases(SHORT.with_(dialects=["sqlite", "postgres"]))
def test_dd_05_work_longer_than_its_lease_runs_once(stand: Stand, face: str) -> None:
    from sqlclaimgen.runtime import AsyncWorker
    from tests.worker.support.running import QUICK

    module = leasing(stand.generated.module("jobs"), 1)
    stand.enqueue([{"payload": 1}])
    log, rival_log = Log(), Log()

    def handle(delivery: Any) -> None:
        log.wait_for(EventKind.EXTENDED, 6)  # three leases

    worker: Any
    if face == "blocks its loop":

        async def blocking(delivery: Any) -> None:
            handle(delivery)  # no await: the loop stands still, the worker's own does not

        worker = AsyncWorker(module.QUEUE, blocking, connect=stand.connect, on_event=log, **QUICK)
    else:
        worker = worker_of(face, stand, handle, module=module, on_event=log)
    rival = worker_of("blocking", stand, lambda d: None, module=module, on_event=rival_log)
    with working(worker):
        log.wait_for(EventKind.STARTED)
        with working(rival):
            log.wait_for(EventKind.SETTLED)
    assert len(log.deliveries) == 1 and not rival_log.deliveries
    assert stand.count == 0


@on_cases(SHORT.with_(dialects=["sqlite", "postgres"]))
def test_dd_06_rows_that_wait_in_the_process_keep_their_lease(stand: Stand) -> None:
    # five rows of one key on one worker, together longer than their lease; a rival looks on
    module = leasing(stand.generated.module("jobs"), 1)
    stand.enqueue([{"customer": "acme"} for _ in range(5)])
    log, rival_log = Log(), Log()

    def handle(delivery: Any) -> None:
        log.wait_for(EventKind.EXTENDED, since=len(log.events), timeout=10)

    with working(worker_of("blocking", stand, handle, module=module, on_event=log, concurrency=5)):
        log.wait_for(EventKind.STARTED)
        with working(worker_of("blocking", stand, handle, module=module, on_event=rival_log)):
            log.wait_for(EventKind.SETTLED, 5)
    assert Counter(attempt for _, attempt in log.deliveries) == {1: 5}
    assert not rival_log.deliveries and stand.count == 0


@on_cases(SHORT)
def test_dd_06_a_row_whose_lease_ended_before_it_started_is_given_back(stand: Stand) -> None:
    # the clock jumps while the second row waits for the first one of its key
    import dataclasses
    from datetime import timedelta

    first, second = stand.enqueue([{"customer": "acme"}, {"customer": "acme"}])
    ahead = [0.0]
    base = stand.module.QUEUE.clock
    module = stand.generated.module("jobs")
    module.QUEUE = dataclasses.replace(
        module.QUEUE, clock=lambda: base() + timedelta(seconds=ahead[0])
    )
    log = Log()

    def handle(delivery: Any) -> None:
        if delivery.id == first:
            ahead[0] = 3600

    worker = worker_of("blocking", stand, handle, module=module, on_event=log)
    OnThread(worker, until="empty").join(60)
    assert [id for id, _ in log.deliveries] == [first, second] and stand.count == 0
    # given back with its attempt, unless the worker's own claim had taken it by then
    assert log.deliveries[1] == (second, 1) or log.ids(EventKind.LOST) == [second]


@on_cases(SHORT.with_(dialects=["postgres", "mysql", "sqlite"]))
def test_dd_14_a_worker_that_stood_still_for_two_leases(stand: Stand, tmp_path: Path) -> None:
    module = stand.module
    (id,) = stand.enqueue([{"payload": 1}])
    log = Log()
    with processes(tmp_path) as start:
        process = start(order_for(stand, "slow"))
        assert process.stdout is not None
        process.stdout.readline()
        os.kill(process.pid, signal.SIGSTOP)
        # the second worker takes the row over, once two seconds have passed
        second = worker_of("blocking", stand, lambda d: None, module=module, on_event=log)
        with working(second):
            log.wait_for(EventKind.SETTLED)
        assert log.deliveries == [(id, 2)]
        os.kill(process.pid, signal.SIGCONT)
        time.sleep(0.5)  # until it has seen that its lease is lost
        process.send_signal(signal.SIGTERM)
        process.wait(30)
    said = (tmp_path / "order-0.log").read_text()
    assert process.returncode == 0, said
    assert "lost" in said, "its loss is reported"
    assert stand.count == 0 and not log.of(EventKind.LOST)


@on_cases(SHORT.with_(dialects=["postgres", "mysql"]))
def test_dd_17_the_end_of_a_handler_at_the_end_of_its_lease(stand: Stand) -> None:
    # no extension; handlers that end as their lease does; two workers that take each other's rows
    from unittest import mock

    from sqlclaimgen.runtime.worker import lease_engine
    from sqlclaimgen.runtime.worker.extending import Extender

    class Asleep(Extender):
        async def run(self) -> None:
            await threading_event_never()

    module = leasing(stand.generated.module("jobs"), 1)
    stand.fill([{"id": n, "payload": n} for n in range(1, 41)])
    stand.database.execute("UPDATE jobs SET attempt = -100")
    logs = [Log(), Log()]

    def handle(delivery: Any) -> None:
        time.sleep(0.98 + delivery.id % 10 / 250)
        raise ValueError("the last word") if delivery.id % 2 else SystemError("likewise")

    from datetime import timedelta

    with mock.patch.object(lease_engine, "Extender", Asleep):
        workers = [
            OnThread(
                worker_of(
                    "blocking",
                    stand,
                    handle,
                    module=module,
                    on_event=log,
                    concurrency=20,
                    retry=lambda attempt, error: timedelta(hours=1),
                )
            )
            for log in logs
        ]
        for _ in range(600):
            if all(row["note"] for row in stand.rows()):
                break
            time.sleep(0.05)
        for worker in workers:
            worker.stop()
        for worker in workers:
            worker.join()
    told = Counter((e.id, e.attempt) for log in logs for e in log.of(EventKind.SETTLED))
    assert set(told.values()) == {1}, "two failures were written for one attempt"
    assert all(n == 1 for n in Counter(id for id, _ in told).values())


async def threading_event_never() -> None:
    import asyncio

    await asyncio.Event().wait()


@on_cases(SHORT.with_(dialects=["postgres"]))
def test_dd_16_an_outage_of_three_leases(stand: Stand) -> None:
    # DD-16: what waited in the process for longer than its lease is not started on a dead claim
    first, second = stand.enqueue([{"customer": "acme"}, {"customer": "acme"}])
    module = leasing(stand.generated.module("jobs"), 1)
    log = Log()
    began, on = threading.Event(), threading.Event()

    def handle(delivery: Any) -> None:
        began.set()
        on.wait(30)

    running = OnThread(worker_of("blocking", stand, handle, module=module, on_event=log))
    assert began.wait(20)
    stand.database.server.stop()
    time.sleep(3)
    on.set()
    time.sleep(0.2)
    stand.database.server.start()
    log.wait_for(EventKind.SETTLED, 2, timeout=60)
    running.stop()
    running.join()
    assert stand.count == 0
    # late is not lost: both are settled with their old tokens, unless a claim took them first, this
    # worker's own among them; then what is left in the process of the old claim is discarded
    assert log.of(EventKind.OVERDUE) and log.deliveries[0] == (first, 1)
    assert sorted(log.ids(EventKind.SETTLED)) == [first, second]
    again = [(id, attempt) for id, attempt in log.deliveries if attempt == 2]
    assert sorted(log.ids(EventKind.LOST)) == sorted(id for id, _ in again)
    assert len(log.deliveries) <= 3
