"""What a lease worker takes from the server: three connections, few statements, no idle transaction."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

import pytest

from sqlclaimgen.runtime import AsyncWorker, EventKind
from tests.conformance.harness import Stand, on_cases
from tests.worker.support.cases import JOBS
from tests.worker.support.running import QUICK, Log, OnThread, leasing, worker_of, working

SERVERS = ["postgres", "mysql", "mariadb"]
PRICE = 3


@pytest.mark.parametrize("handlers", [1, 8, 64])
@on_cases(JOBS)
def test_three_connections_for_any_number_of_handlers(stand: Stand, handlers: int) -> None:
    # counted on the server while every handler is at work, every lease was extended, and rows are settled
    module = leasing(stand.generated.module("jobs"), 2)
    stand.fill([{"id": n, "payload": n} for n in range(1, 2 * handlers + 1)])
    all_here = threading.Barrier(handlers + 1)
    counted = threading.Event()
    log = Log()

    def handle(delivery: Any) -> None:
        if not counted.is_set():
            all_here.wait(30)
            counted.wait(30)

    worker = worker_of("blocking", stand, handle, module=module, concurrency=handlers, on_event=log)
    with working(worker):
        all_here.wait(30)
        log.wait_for(EventKind.EXTENDED)
        most = len(worker_sessions(stand))
        counted.set()
        while stand.count:
            most = max(most, len(worker_sessions(stand)))
        most = max(most, len(worker_sessions(stand)))
    assert most == PRICE
    assert len(log.of(EventKind.SETTLED)) == 2 * handlers and not log.of(EventKind.LOST)


@on_cases(JOBS)
def test_hundreds_of_leases_in_one_extension(stand: Stand) -> None:
    module = leasing(stand.generated.module("jobs"), 3)
    stand.fill([{"id": n, "payload": n} for n in range(1, 401)])
    log = Log()

    async def handle(delivery: Any) -> None:
        while len(log.of(EventKind.EXTENDED)) < 2:
            await asyncio.sleep(0.05)

    worker = AsyncWorker(
        module.QUEUE, handle, connect=stand.connect, concurrency=400, on_event=log, **QUICK
    )
    OnThread(worker, until="empty").join(90)
    assert max(event.count or 0 for event in log.of(EventKind.EXTENDED)) == 400
    assert len(log.of(EventKind.SETTLED)) == 400 and stand.count == 0
    assert not log.of(EventKind.LOST, EventKind.OVERDUE)


@on_cases(JOBS)
def test_nothing_is_left_of_a_worker(stand: Stand) -> None:
    stand.enqueue([{"payload": n} for n in range(20)])
    worker_of("blocking", stand, lambda d: None).run("empty")
    deadline = time.monotonic() + 10
    threads: list[str] = []
    while time.monotonic() < deadline:
        threads = [t.name for t in threading.enumerate() if t.name.startswith("sqlclaimgen")]
        if not (threads or worker_sessions(stand)):
            return
        time.sleep(0.01)
    raise AssertionError(f"left behind: {threads}, {worker_sessions(stand)}")


def worker_sessions(stand: Stand) -> set[Any]:
    sessions: set[Any] = stand.database.sessions()
    return sessions


@on_cases(JOBS)
def test_transactional_handlers_have_one_more_each(stand: Stand) -> None:
    handlers = 1 if stand.dialect == "sqlite" else 4
    stand.fill([{"id": n, "payload": n} for n in range(1, handlers + 1)])
    here, counted = threading.Barrier(handlers + 1), threading.Event()

    def handle(delivery: Any, connection: Any) -> None:
        here.wait(30)
        counted.wait(30)

    worker = worker_of("blocking", stand, handle, concurrency=handlers, transactional=True)
    with working(worker):
        here.wait(30)
        during = len(worker_sessions(stand))
        counted.set()
        while stand.count:
            time.sleep(0.01)
    # the extensions' connection is opened when the first is due
    assert handlers + 1 <= during <= handlers + PRICE


@on_cases(JOBS.with_(dialects=SERVERS))
def test_a_server_restart_loses_no_lease(stand: Stand) -> None:
    restart(stand, handlers=8, away=0.5)


@pytest.mark.soak
@on_cases(JOBS.with_(dialects=SERVERS))
def test_a_server_restart_of_forty_seconds(stand: Stand) -> None:
    restart(stand, handlers=8, away=40)


def restart(stand: Stand, *, handlers: int, away: float) -> None:
    """The server goes while every handler is at work, and is back before the leases run out."""
    stand.fill([{"id": n, "payload": n} for n in range(1, 3 * handlers + 1)])
    log = Log()
    here, back = threading.Barrier(handlers + 1), threading.Event()

    def handle(delivery: Any) -> None:
        if delivery.id <= handlers and not back.is_set():
            here.wait(30)
            back.wait(away + 60)

    worker = worker_of("blocking", stand, handle, concurrency=handlers, on_event=log)
    running = OnThread(worker)
    here.wait(30)
    server = stand.database.server
    server.stop()
    back.set()  # handlers end while nobody answers
    time.sleep(away)
    server.start()
    log.wait_for(EventKind.SETTLED, 3 * handlers, timeout=60)
    running.stop()
    running.join()
    assert stand.count == 0
    assert sorted(log.deliveries) == [(n, 1) for n in range(1, 3 * handlers + 1)]
    assert not log.of(EventKind.LOST, EventKind.UNKNOWN, EventKind.FAILED)


@pytest.mark.parametrize("face", ["blocking", "native"])
@on_cases(JOBS.with_(dialects=["postgres"]))
def test_what_connect_has_set_holds(stand: Stand, face: str) -> None:
    # the statement opened a transaction, in which nothing could be prepared
    stand.enqueue([{"payload": 1}])
    database: Any = stand.database
    seen: list[Any] = []

    def connect() -> Any:
        connection = database.connect()
        connection.execute("SET search_path TO elsewhere, public")
        return connection

    async def connect_async() -> Any:
        connection = await database.connect_async()
        await connection.execute("SET search_path TO elsewhere, public")
        return connection

    def handle(delivery: Any, connection: Any) -> None:
        seen.extend(connection.execute("SHOW search_path").fetchone())

    async def handle_async(delivery: Any, connection: Any) -> None:
        cursor = await connection.execute("SHOW search_path")
        seen.extend(await cursor.fetchone())

    blocking = face == "blocking"
    worker = worker_of(
        face,
        stand,
        handle,
        transactional=True,
        check=True,
        connect=connect if blocking else connect_async,
    )
    if not blocking:
        worker._handler = handle_async
    running = OnThread(worker, until="empty")
    try:
        running.join()
    finally:
        running.stop()
    assert seen == ["elsewhere, public"] and stand.count == 0
