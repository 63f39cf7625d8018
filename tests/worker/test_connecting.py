"""A mistake in `connect` ends a run; a server that is away is waited for, but not by cron for ever."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from sqlclaimgen.runtime import (
    AsyncWorker,
    ClaimError,
    EventKind,
    FaultKind,
    StatementFailed,
    UnsupportedServer,
)
from tests.conformance.harness import Stand, on_cases
from tests.worker.held.cases import ADVISORY, ROW_LOCK
from tests.worker.support.cases import JOBS
from tests.worker.support.running import QUICK, Log, OnThread, worker_of, working

FACES = ["blocking", "asyncio"]
SQLITE = JOBS.with_(dialects=["sqlite"])
CHECKED = pytest.mark.parametrize("check", [True, False], ids=["checked", "unchecked"])

MISTAKES = [
    TypeError("connect() takes 1 argument"),
    KeyError("DATABASE_URL"),
    AttributeError("connekt"),
    NameError("dsn"),
    ImportError("no pq wrapper available"),
    RuntimeError("'cryptography' package is required"),
]
AWAY = [
    ConnectionRefusedError("refused"),
    TimeoutError("no answer"),
    sqlite3.OperationalError("unable to open database file"),
    psycopg.OperationalError("password authentication failed"),
]


def raising(error: Exception) -> Callable[[], Any]:
    def connect() -> Any:
        raise error

    return connect


def nothing(*given: Any) -> None: ...


# -- mistakes ---------------------------------------------------------------------------------------


@CHECKED
@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda error: type(error).__name__)
@on_cases(SQLITE, ADVISORY.with_(dialects=["sqlite"]))
def test_a_mistake_in_connect_ends_the_run(stand: Stand, mistake: Exception, check: bool) -> None:
    log = Log()
    worker = worker_of(
        "blocking", stand, nothing, connect=raising(mistake), check=check, on_event=log
    )
    with pytest.raises(ClaimError, match="jobs: `connect` raised") as ended:
        OnThread(worker).join()
    assert repr(mistake) in str(ended.value)
    assert ended.value.__cause__ is mistake
    assert log.counts == {"stopped": 1}


@CHECKED
@on_cases(JOBS.with_(dialects=["postgres"]), ROW_LOCK.with_(dialects=["postgres"]))
def test_a_mistake_in_an_async_connect(stand: Stand, check: bool) -> None:
    async def handle(delivery: Any) -> None: ...

    async def connect() -> Any:
        return psycopg.AsyncConnection.connekt("dbname=app")  # type: ignore[attr-defined]

    worker = AsyncWorker(stand.module.QUEUE, handle, connect=connect, **{**QUICK, "check": check})
    with pytest.raises(ClaimError, match="`connect` raised AttributeError"):
        asyncio.run(worker.run())


@pytest.mark.parametrize(("module", "extra"), [("psycopg", "postgres"), ("pymysql.err", "mysql")])
@on_cases(SQLITE)
def test_a_driver_that_is_not_installed(stand: Stand, module: str, extra: str) -> None:
    missing = ModuleNotFoundError(f"No module named {module!r}", name=module)
    worker = worker_of("blocking", stand, nothing, connect=raising(missing))
    with pytest.raises(ClaimError) as ended:
        OnThread(worker).join()
    assert f"pip install 'sqlclaimgen[{extra}]'" in str(ended.value)


@pytest.mark.parametrize("face", FACES)
@on_cases(SQLITE)
def test_a_connect_that_has_worked_is_tried_again(stand: Stand, face: str) -> None:
    log, broken = Log(), [False]

    def connect() -> Any:
        if broken[0]:
            raise KeyError("DATABASE_URL")
        return stand.connect()

    worker = worker_of(face, stand, nothing, connect=connect, on_event=log)
    with working(worker):
        log.wait_for(EventKind.WAITED)
        # the next connection is the one that settles
        broken[0] = True
        (id,) = stand.enqueue([{"payload": 1}])
        lost = log.wait_for(EventKind.DISCONNECTED, 3)
        assert isinstance(lost.error, StatementFailed) and "KeyError" in str(lost.error)
        broken[0] = False
        assert log.wait_for(EventKind.SETTLED).id == id


# -- a server that is away --------------------------------------------------------------------------


@CHECKED
@pytest.mark.parametrize("away", AWAY, ids=lambda error: type(error).__name__)
@on_cases(SQLITE, ADVISORY.with_(dialects=["sqlite"]))
def test_cron_waits_no_longer_than_the_backoff(stand: Stand, away: Exception, check: bool) -> None:
    log = Log()
    worker = worker_of("blocking", stand, nothing, connect=raising(away), check=check, on_event=log)
    with pytest.raises(StatementFailed, match="no connection in the") as ended:
        OnThread(worker, until="empty").join()
    assert ended.value.kind is FaultKind.LOST and ended.value.statement == "connect"
    assert repr(away) in str(ended.value) and ended.value.__cause__ is away
    assert len(log.of(EventKind.DISCONNECTED)) > 1, "it was tried again before"


@on_cases(SQLITE)
def test_a_connect_that_hangs_ends_cron_too(stand: Stand) -> None:
    release = threading.Event()
    worker = worker_of(
        "blocking",
        stand,
        nothing,
        connect=lambda: release.wait(60),
        statement_timeout=0.1,
        check=True,
    )
    try:
        with pytest.raises(StatementFailed, match="TimeoutError"):
            OnThread(worker, until="empty").join()
    finally:
        release.set()


@CHECKED
@on_cases(SQLITE)
def test_cron_goes_on_when_the_server_comes_in_time(stand: Stand, check: bool) -> None:
    stand.enqueue([{"payload": 1}])
    failures = iter([ConnectionRefusedError(), TimeoutError()])

    def connect() -> Any:
        error = next(failures, None)
        if error is not None:
            raise error
        return stand.connect()

    worker = worker_of("blocking", stand, nothing, connect=connect, check=check, max_backoff=30)
    OnThread(worker, until="empty").join()
    assert stand.count == 0


@CHECKED
@on_cases(SQLITE)
def test_a_service_waits_for_its_server(stand: Stand, check: bool) -> None:
    log = Log()
    worker = worker_of(
        "blocking", stand, nothing, connect=raising(AWAY[0]), check=check, on_event=log
    )
    with working(worker) as running:
        log.wait_for(EventKind.DISCONNECTED, 12)  # longer than max_backoff
        assert running.running
    assert not log.of(EventKind.READY, EventKind.DRAINING)


# -- connections that are not new -------------------------------------------------------------------


@CHECKED
@on_cases(JOBS, ROW_LOCK, ADVISORY)
def test_the_same_connection_each_time(stand: Stand, check: bool) -> None:
    stand.enqueue([{}])
    options: Any = {"check_same_thread": False} if stand.dialect == "sqlite" else {}
    connection = stand.connect(**options)
    worker = worker_of("blocking", stand, nothing, connect=lambda: connection, check=check)
    with pytest.raises(ClaimError, match="must return a new connection each time") as ended:
        OnThread(worker).join(60)
    assert type(ended.value) is ClaimError
    stand.database.wait_until_idle()


@on_cases(SQLITE)
def test_a_connection_of_another_thread(stand: Stand) -> None:
    connection = sqlite3.connect(":memory:")
    worker = worker_of("blocking", stand, nothing, connect=lambda: connection)
    with pytest.raises(ClaimError, match=r"belongs to another thread.* a new connection each time"):
        OnThread(worker).join()
    connection.execute("SELECT 1")
    connection.close()


@on_cases(JOBS, ROW_LOCK)
def test_a_closed_connection(stand: Stand) -> None:
    def connect() -> Any:
        connection = stand.connect()
        connection.close()
        return connection

    with pytest.raises(ClaimError, match=r"closed.* a new connection each time"):
        OnThread(worker_of("blocking", stand, nothing, connect=connect)).join()


@CHECKED
@on_cases(JOBS.with_(dialects=["postgres"]), ROW_LOCK.with_(dialects=["postgres"]))
def test_the_same_asyncio_connection_each_time(stand: Stand, check: bool) -> None:
    stand.enqueue([{}])
    one: list[Any] = []

    async def connect() -> Any:
        if not one:
            opening = stand.database.connect_async()  # type: ignore[attr-defined]
            one.append(asyncio.ensure_future(opening))
        return await one[0]

    worker = worker_of("native", stand, nothing, connect=connect, check=check)
    with pytest.raises(ClaimError, match="must return a new connection each time"):
        OnThread(worker).join(60)
    stand.database.wait_until_idle()


@on_cases(JOBS.with_(dialects=["postgres"]))
def test_what_is_awaited_is_an_asyncio_connection(stand: Stand) -> None:
    async def connect() -> Any:
        return stand.connect()

    with pytest.raises(UnsupportedServer, match=r"no asyncio connection of psycopg"):
        OnThread(worker_of("native", stand, nothing, connect=connect)).join()
