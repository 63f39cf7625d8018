"""How a worker ends: it drains, it has a time limit, and nothing dead can hold it."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
import threading
import time
from pathlib import Path
from typing import Any

import psycopg
import pytest

from sqlclaimgen.runtime import AsyncWorker, EventKind, Unfinished, Worker
from tests.conformance.harness import Stand, on_cases
from tests.support.generated import generate
from tests.worker.held.cases import ADVISORY, ROW_LOCK, SERVERS
from tests.worker.support.cases import JOBS, SHORT
from tests.worker.support.process import order_for, processes
from tests.worker.support.running import QUICK, Log, OnThread, worker_of

FACES = ["blocking", "asyncio"]
SQLITE = JOBS.with_(dialects=["sqlite"])


@on_cases(SQLITE)
def test_the_second_stop_ends_at_once(stand: Stand) -> None:
    (id,) = stand.enqueue([{"payload": 1}])
    log, release = Log(), threading.Event()
    worker = worker_of("blocking", stand, lambda d: void(release.wait(30)), on_event=log)
    running = OnThread(worker)
    log.wait_for(EventKind.STARTED)
    running.stop()
    assert running.running
    running.stop()
    with pytest.raises(Unfinished):
        running.join(10)
    row = stand.row(id)
    assert row is not None and row["locked_until"] is not None
    release.set()


@on_cases(SQLITE)
def test_a_cancelled_run_drains_and_a_second_cancellation_ends_it(stand: Stand) -> None:
    stand.enqueue([{"payload": 1}, {"payload": 2}])
    log = Log()
    ended: list[str] = []

    async def handle(delivery: Any) -> None:
        try:
            await asyncio.sleep(0.2 if delivery.row.payload == 1 else 60)
            ended.append("done")
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise

    async def main() -> None:
        worker = AsyncWorker(
            stand.module.QUEUE, handle, connect=stand.connect, on_event=log, **QUICK
        )
        task = asyncio.create_task(worker.run())
        await asyncio.to_thread(log.wait_for, EventKind.STARTED, 2)
        task.cancel()
        await asyncio.to_thread(log.wait_for, EventKind.SETTLED)
        assert not task.done()
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        assert task.cancelled()

    asyncio.run(main())
    assert sorted(ended) == ["cancelled", "done"]
    assert stand.count == 1


@on_cases(SQLITE)
def test_what_waits_for_its_turn_is_given_back_at_once(stand: Stand) -> None:
    first, *others = stand.enqueue([{"customer": "acme"} for _ in range(4)])
    log = Log()
    worker: list[Any] = []

    def handle(delivery: Any) -> None:
        worker[0].stop()
        log.wait_for(EventKind.GIVEN_BACK, 3)  # while this handler still runs

    worker.append(worker_of("blocking", stand, handle, on_event=log))
    worker[0].run()
    assert log.deliveries == [(first, 1)]
    assert sorted(log.ids(EventKind.GIVEN_BACK)) == others
    assert [(row["attempt"], row["locked_until"]) for row in stand.rows()] == [(1, None)] * 3


@on_cases(JOBS.with_(dialects=SERVERS))
def test_rows_are_given_back_over_a_new_connection(stand: Stand) -> None:
    # a proxy had closed the one that was idle: the rows stayed leased
    stand.enqueue([{}])
    log, go = Log(), threading.Event()

    def handle(delivery: Any) -> None:
        if delivery.row.customer:
            go.wait(60)

    running = OnThread(worker_of("blocking", stand, handle, on_event=log))
    log.wait_for(EventKind.SETTLED)  # that connection is open
    _, *others = stand.enqueue([{"customer": "acme"} for _ in range(4)])
    while sum(event.count or 0 for event in log.of(EventKind.CLAIMED)) < 5:
        log.wait_for(EventKind.CLAIMED, len(log.of(EventKind.CLAIMED)) + 1)
    for session in stand.database.sessions():
        with contextlib.suppress(LookupError):
            stand.database.kill_session(session)
    running.stop()
    try:
        log.wait_for(EventKind.GIVEN_BACK, 3)
    finally:
        go.set()
    running.join()
    assert sorted(log.ids(EventKind.GIVEN_BACK)) == others
    assert [(row["attempt"], row["locked_until"]) for row in stand.rows()] == [(1, None)] * 3


def test_a_stop_during_the_start_up_checks(tmp_path: Path) -> None:
    # of a server that takes the connection and says nothing
    jobs = generate(JOBS.text("postgres"), tmp_path).module("jobs")
    with socket.create_server(("127.0.0.1", 0)) as mute:
        port = mute.getsockname()[1]
        worker: Worker[Any, Any] = Worker(
            jobs.QUEUE,
            lambda delivery: None,
            connect=lambda: psycopg.connect(f"host=127.0.0.1 port={port} user=x dbname=x"),
            statement_timeout=3600,
            drain_timeout=0.1,
            signals=False,
        )
        running = OnThread(worker)
        with mute.accept()[0]:
            running.stop()
            running.join()


@on_cases(SQLITE)
def test_a_worker_stopped_before_it_ran(stand: Stand) -> None:
    stand.enqueue([{"payload": 1}])
    worker = worker_of("blocking", stand, lambda d: None)
    worker.stop()
    worker.run()
    assert stand.count == 1


def void(value: object) -> None:
    del value


# -- signals -----------------------------------------------------------------------------------------


@on_cases(SHORT.with_(dialects=["sqlite"]))
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_drains(stand: Stand, tmp_path: Path, number: signal.Signals) -> None:
    stand.enqueue([{"payload": n} for n in range(3)])
    order = order_for(stand, "slow", concurrency=1)
    with processes(tmp_path) as start:
        process = start(order)
        assert process.stdout is not None
        assert process.stdout.readline().startswith("began")
        process.send_signal(number)
        out, _ = process.communicate(timeout=60)
    assert process.returncode == 0, out
    assert out.count("ended") == 1 and "began" not in out
    assert [(row["attempt"], row["locked_until"]) for row in stand.rows()] == [(1, None)] * 2


@on_cases(JOBS.with_(dialects=["sqlite"]))
def test_a_second_signal_ends_at_once(stand: Stand, tmp_path: Path) -> None:
    stand.enqueue([{"payload": 1}])
    with processes(tmp_path) as start:
        process = start(order_for(stand, "deaf"))
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        time.sleep(0.5)  # two signals in a row may become one
        process.send_signal(signal.SIGTERM)
        out, _ = process.communicate(timeout=20)
    assert process.returncode == 3, out


@on_cases(SQLITE, ROW_LOCK.with_(dialects=["postgres"]), ADVISORY.with_(dialects=["mysql"]))
def test_a_process_ends_with_the_exit_code_of_its_handler(stand: Stand, tmp_path: Path) -> None:
    # it was 0; the rows beside it are worked to their end, and its own comes back
    (id, *_) = stand.enqueue(
        [{"payload": "quit", "account": "q"}, {"payload": "go"}]
        if "account" in stand.module.New.__annotations__
        else [{"payload": "quit"}, {"payload": "go"}]
    )
    with processes(tmp_path) as start:
        process = start(order_for(stand, "quitting", concurrency=2))
        out, _ = process.communicate(timeout=60)
    assert process.returncode == 7, out
    assert out.count("began") == 2 and out.count("ended") == 1
    (row,) = stand.rows()
    assert row["id"] == id and row["attempt"] == 2 and row.get("locked_until") is None


@on_cases(SQLITE)
def test_signals_are_put_back(stand: Stand) -> None:
    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    during: list[Any] = []
    stand.enqueue([{"payload": 1}])
    worker: Worker[Any, Any] = worker_of(
        "blocking",
        stand,
        lambda d: during.append(signal.getsignal(signal.SIGTERM)),
        signals=True,
    )
    worker.run("empty")
    assert during[0] != before[0]
    assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)) == before


@on_cases(SQLITE)
def test_a_keyboard_interrupt_where_the_worker_handles_no_signals(stand: Stand) -> None:
    stand.enqueue([{"payload": 1}])

    main, handled, over = threading.get_ident(), threading.Event(), threading.Event()

    def press() -> None:
        handled.wait(60)
        signal.pthread_kill(main, signal.SIGINT)
        while not over.wait(10):
            # Python drops an interrupt that falls into a finalizer; people press the keys again
            signal.pthread_kill(main, signal.SIGINT)

    finger = threading.Thread(target=press)
    finger.start()
    worker = worker_of("blocking", stand, lambda delivery: handled.set())
    # a shell that runs the tests in the background lets them ignore the signal
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            worker.run()
    finally:
        over.set()
        finger.join()
        signal.signal(signal.SIGINT, before)
    assert stand.count == 0
