"""Connections of other libraries: refused with what of them to pass, and served by `insert`."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import aiosqlite
import asyncpg
import django.conf
import django.db
import pytest
import sqlalchemy
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncSession, create_async_engine
from sqlalchemy.orm import Session

from sqlclaimgen.runtime import (
    NAMED,
    NUMERIC,
    PYFORMAT,
    SQLALCHEMY,
    UnsupportedServer,
)
from tests.conformance.harness import Case, Stand, on_cases

JOBS = Case(
    "jobs",
    """
    lease = "60s"
    [table.jobs.columns]
    id = { role = "id", type = "bigint", generated = true }
    locked_until = { role = "locked_until" }
    run_after = { role = "retry_after" }
    "100% a:b" = { type = "text", field = "note" }
    payload = { role = "payload", type = "json" }
    due_on = { type = "date" }
    amount = { type = "numeric(12,2)", default = "1.50" }
    size = { type = "smallint", default = 3 }
    """,
)
POSTGRES = JOBS.with_(dialects=("postgres",))
SQLITE = JOBS.with_(dialects=("sqlite",))
AT = datetime(2030, 1, 2, 3, 4, 5, 678901, UTC)


def new(stand: Stand, note: str = "it's 5 % :off") -> Any:
    return stand.module.New(note=note, payload={"a": ["ü", None]}, due_on=AT.date())


def _file(stand: Stand) -> str:
    return stand.database.dsn.removeprefix("sqlite:///")


def arrived(stand: Stand) -> None:
    [row] = stand.rows()
    assert row["note"] == "it's 5 % :off"
    payload = row["payload"]
    assert (json.loads(payload) if isinstance(payload, str) else payload) == {"a": ["ü", None]}
    assert (row["due_on"], str(row["amount"]), row["size"]) == (AT.date(), "1.50", 3)
    assert row["run_after"] == AT


@on_cases(JOBS)
def test_the_statement_runs_over_the_drivers_own_cursor(stand: Stand) -> None:
    style = NAMED if stand.dialect == "sqlite" else PYFORMAT
    statement, parameters = stand.module.insert(new(stand), style, at=AT)
    connection = stand.connect()
    connection.cursor().execute(statement, parameters)
    connection.commit()
    arrived(stand)


@on_cases(POSTGRES)
def test_insert_over_asyncpg(stand: Stand) -> None:
    async def main() -> None:
        connection: Any = await asyncpg.connect(stand.database.dsn)
        with pytest.raises(UnsupportedServer, match=r"insert\(new"):
            await stand.module.enqueue_async(connection, new(stand))
        statement, parameters = stand.module.insert(new(stand), NUMERIC, at=AT)
        id = await connection.fetchval(statement, *parameters)
        assert [row["id"] for row in stand.rows()] == [id]
        await connection.close()

    asyncio.run(main())
    arrived(stand)


@on_cases(SQLITE)
def test_insert_over_aiosqlite(stand: Stand) -> None:
    async def main() -> None:
        async with aiosqlite.connect(_file(stand)) as connection:
            with pytest.raises(UnsupportedServer, match=r"insert\(new"):
                stand.module.enqueue(connection, new(stand))
            statement, parameters = stand.module.insert(new(stand), NAMED, at=AT)
            [(id,)] = await connection.execute_fetchall(statement, parameters)
            await connection.commit()
            assert [row["id"] for row in stand.rows()] == [id]

    asyncio.run(main())
    arrived(stand)


def _url(stand: Stand, driver: str) -> str:
    return stand.database.dsn.replace("postgresql://", f"postgresql+{driver}://")


@pytest.mark.parametrize("driver", ["psycopg", "asyncpg"])
@on_cases(POSTGRES)
def test_insert_over_sqlalchemys_async_session(stand: Stand, driver: str) -> None:
    async def main() -> None:
        engine = create_async_engine(_url(stand, driver))
        async with AsyncSession(engine) as session:
            statement, parameters = stand.module.insert(new(stand), SQLALCHEMY, at=AT)
            await session.execute(sqlalchemy.text(statement), parameters)
            await session.rollback()
            assert stand.count == 0
            await session.execute(sqlalchemy.text(statement), parameters)
            await session.commit()
        await engine.dispose()

    asyncio.run(main())
    arrived(stand)


@on_cases(POSTGRES)
def test_sqlalchemys_asyncio_objects_are_told_what_to_pass(stand: Stand) -> None:
    async def raw(connection: AsyncConnection) -> Any:
        return (await connection.get_raw_connection()).driver_connection

    async def main() -> None:
        engine = create_async_engine(_url(stand, "psycopg"))
        async with AsyncSession(engine) as session:
            with pytest.raises(
                UnsupportedServer,
                match=r"await session\.connection\(\)\)\.get_raw_connection\(\)\)\.driver_connection",
            ):
                await stand.module.enqueue_async(session, new(stand))
            await stand.module.enqueue_async(
                await raw(await session.connection()), new(stand), at=AT
            )
            assert stand.count == 0
            await session.commit()
            assert stand.count == 1
        async with engine.begin() as connection:
            with pytest.raises(
                UnsupportedServer,
                match=r"begin\(\).*\(await connection\.get_raw_connection\(\)\)\.driver_connection",
            ):
                await stand.module.enqueue_async(connection, new(stand))
            await stand.module.enqueue_async(await raw(connection), new(stand))
            await connection.rollback()
        await engine.dispose()

    asyncio.run(main())
    arrived(stand)


@on_cases(POSTGRES, SQLITE)
def test_sqlalchemys_blocking_objects_are_told_what_to_pass(stand: Stand) -> None:
    path = "" if stand.dialect == "postgres" else stand.database.dsn
    engine = sqlalchemy.create_engine(path or _url(stand, "psycopg"))
    with Session(engine) as session:
        with pytest.raises(
            UnsupportedServer, match=r"connection\(\)\.connection\.driver_connection"
        ):
            stand.module.enqueue(session, new(stand))
        stand.module.enqueue(session.connection().connection.driver_connection, new(stand), at=AT)
        session.commit()
    with engine.connect() as connection, connection.begin():
        with pytest.raises(UnsupportedServer, match=r"begin\(\).*connection\.driver_connection"):
            stand.module.enqueue(connection, new(stand))
        stand.module.enqueue(connection.connection.driver_connection, new(stand))
        connection.rollback()
    engine.dispose()
    arrived(stand)


@pytest.fixture
def django_settings(stand: Stand) -> Iterator[None]:
    if not django.conf.settings.configured:
        django.conf.settings.configure(DATABASES={})
    django.db.connections.databases["default"] = {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": _file(stand),
        "ATOMIC_REQUESTS": False,
        "AUTOCOMMIT": True,
        "CONN_MAX_AGE": 0,
        "CONN_HEALTH_CHECKS": False,
        "OPTIONS": {},
        "TIME_ZONE": None,
        "TEST": {},
    }
    yield
    django.db.connections.close_all()
    del django.db.connections["default"]


@on_cases(SQLITE)
@pytest.mark.usefixtures("django_settings")
def test_djangos_connection_is_told_what_to_pass(stand: Stand) -> None:
    from django.db import connection, transaction

    for one in (connection, django.db.connections["default"]):
        with pytest.raises(
            UnsupportedServer, match=r"ensure_connection\(\), then pass its connection"
        ):
            stand.module.enqueue(one, new(stand))
    connection.ensure_connection()
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        stand.module.enqueue(connection.connection, new(stand))
        raise ZeroDivisionError
    with transaction.atomic():
        stand.module.enqueue(connection.connection, new(stand), at=AT)
    arrived(stand)


@on_cases(JOBS)
def test_a_row_is_due_at_a_time(stand: Stand) -> None:
    connection = stand.connect()
    stand.module.enqueue(connection, new(stand), at=AT)
    with pytest.raises(ValueError, match="either delay or at"):
        stand.module.enqueue(connection, new(stand), at=AT, delay=timedelta(1))
    with pytest.raises(ValueError, match="time zone"):
        stand.module.enqueue(connection, new(stand), at=datetime(2030, 1, 1))
    with pytest.raises(ValueError, match="time zone"):
        stand.module.insert(new(stand), NAMED, at=datetime(2030, 1, 1))
    connection.commit()
    arrived(stand)


@on_cases(SQLITE)
def test_what_is_no_connection_at_all(stand: Stand) -> None:
    with pytest.raises(UnsupportedServer, match=r"a sqlite3\.Cursor is not"):
        stand.module.enqueue(sqlite3.connect(":memory:").cursor(), new(stand))
