"""How the checks are run: over which connections, and what they wait for."""

from __future__ import annotations

import asyncio
from typing import Any

import psycopg
import pytest

from sqlclaimgen.runtime.errors import ClocksApart, SchemaMismatch, ServerUnfit
from sqlclaimgen.runtime.worker.events import EventKind
from sqlclaimgen.runtime.worker.faces import AsyncWorker, Worker
from tests.conformance.harness import on_cases
from tests.servers import PgBouncer
from tests.worker.checks.looking import ADVISORY, FORMS, LEASE, Looking, off

POSTGRES = tuple(case.with_(dialects=("postgres",)) for case in FORMS)


@on_cases(*POSTGRES)
def test_on_an_asyncio_connection(looking: Looking) -> None:
    database: Any = looking.stand.database
    looking(connect=database.connect_async)
    assert looking.events == []
    if looking.stand.case.name == "lease":
        with pytest.raises(ClocksApart):
            looking(connect=database.connect_async, queue=off(looking.stand, 30))
    database.execute("ALTER TABLE jobs RENAME COLUMN attempt TO other")
    with pytest.raises(SchemaMismatch) as refused:
        looking(connect=database.connect_async)
    assert refused.value.column == "attempt"
    database.wait_until_idle()


@on_cases(ADVISORY.with_(dialects=("postgres",)))
def test_a_pooler_before_asyncio_connections(looking: Looking) -> None:
    database: Any = looking.stand.database
    with PgBouncer(database) as pooler:

        async def connect() -> Any:
            return await psycopg.AsyncConnection.connect(pooler.dsn)

        with pytest.raises(ServerUnfit, match="transaction mode"):
            looking(connect=connect)


@on_cases(LEASE.with_(dialects=("postgres",)))
def test_the_asyncio_face_ends_with_the_error(looking: Looking) -> None:
    database: Any = looking.stand.database
    database.execute("ALTER TABLE jobs RENAME COLUMN size TO other")

    async def handle(delivery: Any) -> None: ...

    async def run() -> None:
        worker = AsyncWorker(
            looking.stand.module.QUEUE, handle, connect=database.connect_async, signals=False
        )
        await worker.run()

    with pytest.raises(SchemaMismatch, match="size"):
        asyncio.run(run())
    database.wait_until_idle()


@on_cases(LEASE)
def test_a_server_that_is_not_there_is_waited_for(looking: Looking) -> None:
    failures = iter([ConnectionRefusedError(), TimeoutError()])

    def connect() -> Any:
        error = next(failures, None)
        if error is not None:
            raise error
        return looking.connect()

    looking(connect=connect)
    assert [event.kind for event in looking.events] == [EventKind.DISCONNECTED] * 2


@on_cases(LEASE)
def test_a_session_that_is_lost_meanwhile_is_replaced(looking: Looking) -> None:
    if looking.stand.dialect == "sqlite":
        pytest.skip("a file has no sessions")
    opened: list[Any] = []
    database = looking.stand.database

    def connect() -> Any:
        opened.append(looking.connect())
        if len(opened) == 1:
            database.kill_session(database.session_id(opened[0]))
        return opened[-1]

    looking(connect=connect)
    assert len(opened) == 2


@on_cases(LEASE.with_(dialects=("sqlite",)))
def test_a_stop_ends_the_waiting(looking: Looking) -> None:
    stop = asyncio.Event()

    def connect() -> Any:
        stop.set()
        raise ConnectionRefusedError

    looking(connect=connect, stop=stop, max_backoff=600)
    assert [event.kind for event in looking.events] == [EventKind.DISCONNECTED]


@on_cases(LEASE)
def test_the_checks_can_be_turnedoff(looking: Looking) -> None:
    looking.stand.enqueue([{"size": 1}])
    queue = off(looking.stand, 3600)
    connect = looking.stand.database.connect
    Worker(queue, lambda delivery: None, connect=connect, check=False).run(until="empty")
    assert looking.stand.count == 0
