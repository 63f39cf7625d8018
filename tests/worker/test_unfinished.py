"""Handlers that run on after their worker's end: their rows are not free before they end, and the drain
spends no attempt."""

from __future__ import annotations

import asyncio
import signal
import threading
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from sqlclaimgen.runtime import AsyncWorker, EventKind, LeaseLost, Unfinished
from sqlclaimgen.runtime.worker import held_delivery, overrun
from tests.conformance.harness import Stand, on_cases
from tests.worker.held.cases import ADVISORY, ROW_LOCK
from tests.worker.support.cases import JOBS
from tests.worker.support.process import order_for, processes
from tests.worker.support.running import QUICK, Log, OnThread, worker_of

ENDS = 30.0


@pytest.fixture(autouse=True)
def little_time_to_end(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (overrun, held_delivery):
        monkeypatch.setattr(module, "CLEANING", 0.2)


class Slow:
    """A handler that ends when it is let, and tells what it was given."""

    def __init__(self) -> None:
        self.deliveries: list[Any] = []
        self._go = threading.Event()

    def __call__(self, delivery: Any, connection: Any = None) -> None:
        if delivery.row.payload == "writes":
            connection.cursor().execute("UPDATE jobs SET note = 'written'")
        self.deliveries.append(delivery)
        self._go.wait(60)

    def end(self) -> None:
        self._go.set()


def drained(stand: Stand, slow: Slow, log: Log, **options: Any) -> Unfinished:
    """Run a worker that is stopped while the handler runs. Returns what it raised."""
    worker = worker_of("blocking", stand, slow, on_event=log, drain_timeout=0.1, **options)
    running = OnThread(worker)
    log.wait_for(EventKind.STARTED)
    running.stop()
    with pytest.raises(Unfinished) as raised:
        running.join(ENDS)
    return raised.value


def found(stand: Stand) -> list[tuple[Any, int | None]]:
    """What another worker finds due."""
    log = Log()
    worker_of("blocking", stand, lambda delivery: None, on_event=log).run("empty")
    return log.deliveries


@on_cases(JOBS, ROW_LOCK, ADVISORY)
def test_a_row_is_not_free_before_its_handler_ends(
    stand: Stand, caplog: pytest.LogCaptureFixture
) -> None:
    (id,) = stand.enqueue([{}])
    slow, log = Slow(), Log()
    try:
        raised = drained(stand, slow, log)
        assert raised.rows == (id,) and str(id) in str(raised)
        assert slow.deliveries[0].lost
        (told,) = log.of(EventKind.UNFINISHED)
        assert (told.id, told.attempt) == (id, 1) and told.seconds is not None
        assert f"{stand.module.QUEUE.table} {id} unfinished" in caplog.text
        assert not log.of(EventKind.LOST, EventKind.GIVEN_BACK)
        assert stand.rows()[0]["attempt"] == 1, "the drain spends no attempt"
        assert found(stand) == []
    finally:
        slow.end()
    log.wait_for(EventKind.GIVEN_BACK)
    assert found(stand) == [(id, 1)]
    assert not log.of(EventKind.SETTLED)


@on_cases(JOBS, ROW_LOCK, ADVISORY)
def test_what_an_unfinished_transactional_handler_wrote_is_undone(stand: Stand) -> None:
    (id,) = stand.enqueue([{"payload": "writes"}])
    slow, log = Slow(), Log()
    try:
        assert drained(stand, slow, log, transactional=True).rows == (id,)
        if stand.dialect != "sqlite":  # its one writer is the handler
            assert found(stand) == []
    finally:
        slow.end()
    log.wait_for(EventKind.GIVEN_BACK)
    (row,) = stand.rows()
    assert row["note"] is None and row["attempt"] == 1
    assert found(stand) == [(id, 1)]


@on_cases(
    JOBS.with_(dialects=["sqlite"]),
    ROW_LOCK.with_(dialects=["postgres"]),
    ADVISORY.with_(dialects=["mysql"]),
)
def test_a_second_stop_frees_no_row_either(stand: Stand) -> None:
    (id,) = stand.enqueue([{}])
    slow, log = Slow(), Log()
    running = OnThread(worker_of("blocking", stand, slow, on_event=log))
    log.wait_for(EventKind.STARTED)
    running.stop()
    running.stop()
    try:
        with pytest.raises(Unfinished) as raised:
            running.join(ENDS)
        assert raised.value.rows == (id,)
        log.wait_for(EventKind.UNFINISHED)
        assert found(stand) == []
    finally:
        slow.end()
    log.wait_for(EventKind.GIVEN_BACK)
    assert found(stand) == [(id, 1)]


@on_cases(JOBS)
def test_a_lease_is_short_from_there_on_and_extended(stand: Stand) -> None:
    # 60 seconds: a process that ends keeps the row for a quarter of that
    (id,) = stand.enqueue([{}])
    slow, log = Slow(), Log()
    try:
        drained(stand, slow, log)
        first = stand.row(id)
        assert first is not None
        now = datetime.now(UTC)
        assert now < first["locked_until"] <= now + timedelta(seconds=15)
        deadline = time.monotonic() + ENDS
        while True:
            row = stand.row(id)
            assert row is not None and time.monotonic() < deadline
            if row["locked_until"] != first["locked_until"]:
                break
            time.sleep(0.1)
        assert row["locked_until"] > first["locked_until"] and row["attempt"] == 1
    finally:
        slow.end()
    log.wait_for(EventKind.GIVEN_BACK)


@on_cases(JOBS.with_(dialects=["postgres", "sqlite"]))
def test_a_settlement_of_the_handlers_own_is_refused_from_there_on(stand: Stand) -> None:
    (id,) = stand.enqueue([{}])
    log, go = Log(), threading.Event()
    refused: list[BaseException] = []

    def handle(delivery: Any) -> None:
        go.wait(60)
        try:
            delivery.ack(stand.connect())
        except LeaseLost as lost:
            refused.append(lost)

    worker = worker_of("blocking", stand, handle, on_event=log, drain_timeout=0.1)
    running = OnThread(worker)
    log.wait_for(EventKind.STARTED)
    running.stop()
    try:
        with pytest.raises(Unfinished):
            running.join(ENDS)
    finally:
        go.set()
    log.wait_for(EventKind.GIVEN_BACK)
    assert len(refused) == 1 and found(stand) == [(id, 1)]


@on_cases(JOBS, ROW_LOCK.with_(dialects=["postgres"]), ADVISORY.with_(dialects=["postgres"]))
def test_an_asyncio_handler_is_cancelled_and_its_row_given_back_with_its_attempt(
    stand: Stand,
) -> None:
    (id,) = stand.enqueue([{}])
    log, ended = Log(), []

    async def handle(delivery: Any) -> None:
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0.05)  # its clean-up is waited for
            ended.append(delivery.id)

    async def main() -> None:
        options = {**QUICK, "drain_timeout": 0.1, "on_event": log}
        worker = AsyncWorker(stand.module.QUEUE, handle, connect=stand.connect, **options)
        task = asyncio.create_task(worker.run())
        await asyncio.to_thread(log.wait_for, EventKind.STARTED)
        worker.stop()
        with pytest.raises(Unfinished) as raised:
            await task
        assert raised.value.rows == (id,)
        assert ended == [id] and log.ids(EventKind.GIVEN_BACK) == [id]

    asyncio.run(main())
    assert not log.of(EventKind.UNFINISHED)
    assert found(stand) == [(id, 1)], "due at once"


@on_cases(JOBS.with_(dialects=["sqlite"]))
def test_an_asyncio_handler_that_swallows_its_cancellation_keeps_its_row(stand: Stand) -> None:
    (id,) = stand.enqueue([{}])
    log, go = Log(), threading.Event()

    async def handle(delivery: Any) -> None:
        while not go.is_set():
            try:
                await asyncio.sleep(0.05)
            except asyncio.CancelledError:
                continue

    async def main() -> None:
        options = {**QUICK, "drain_timeout": 0.1, "on_event": log}
        worker = AsyncWorker(stand.module.QUEUE, handle, connect=stand.connect, **options)
        task = asyncio.create_task(worker.run())
        await asyncio.to_thread(log.wait_for, EventKind.STARTED)
        worker.stop()
        with pytest.raises(Unfinished):
            await task
        assert await asyncio.to_thread(found, stand) == []
        go.set()
        await asyncio.to_thread(log.wait_for, EventKind.GIVEN_BACK)

    asyncio.run(main())
    assert found(stand) == [(id, 1)]


@on_cases(JOBS.with_(dialects=["sqlite"]))
def test_rows_that_wait_are_given_back_also_where_handlers_have_no_time(stand: Stand) -> None:
    first, *others = stand.enqueue([{"customer": "acme"} for _ in range(3)])
    slow, log = Slow(), Log()
    worker = worker_of("blocking", stand, slow, on_event=log, drain_timeout=0)
    running = OnThread(worker)
    log.wait_for(EventKind.STARTED)
    running.stop()
    try:
        with pytest.raises(Unfinished) as raised:
            running.join(ENDS)
        assert raised.value.rows == (first,)
        assert found(stand) == [(id, 1) for id in others]
    finally:
        slow.end()
    log.wait_for(EventKind.GIVEN_BACK, 3)


@on_cases(
    JOBS.with_(dialects=["sqlite"]),
    ROW_LOCK.with_(dialects=["postgres"]),
    ADVISORY.with_(dialects=["postgres"]),
)
def test_a_process_that_ends_after_its_drain(stand: Stand, tmp_path: Path) -> None:
    (id,) = stand.enqueue([{}])
    with processes(tmp_path) as start:
        process = start(order_for(stand, "deaf", drain_timeout=0.2))
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        out, _ = process.communicate(timeout=60)
    assert process.returncode == 3, out
    row = stand.row(id)
    assert row is not None and row["attempt"] == 1
    if stand.case.name == "jobs":
        assert row["locked_until"] <= datetime.now(UTC) + timedelta(seconds=15)
    else:
        stand.database.wait_until_idle()
        assert found(stand) == [(id, 1)], "due at once"


def test_unfinished_names_ten_rows() -> None:
    error = Unfinished.of("app.jobs", range(1, 13))
    assert str(error).startswith("app.jobs 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 2 more: ")
    assert error.rows == tuple(range(1, 13))
