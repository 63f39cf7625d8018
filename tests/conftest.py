"""The fixtures of all tests: real servers, a database per test, the length of a soak."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, settings

from tests.servers import (
    ALL_DIALECTS,
    Database,
    MariaDBDatabase,
    MariaDBServer,
    MySQLDatabase,
    MySQLServer,
    PostgresDatabase,
    PostgresServer,
    Server,
    ServerPark,
    SQLiteDatabase,
    SQLiteServer,
    programs,
)

# a busy machine is no reason to fail: what is tested is what comes out, not how fast
settings.register_profile("busy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy")

_SERVER_FIXTURES = {
    f"{dialect}_{what}"
    for dialect in ALL_DIALECTS
    for what in ("server", "database")
    if dialect != "sqlite"
}


@pytest.fixture(scope="session")
def servers() -> Iterator[ServerPark]:
    """Every server by its dialect, `servers["mysql"]`; started when asked for."""
    park = ServerPark()
    yield park
    park.close()


@pytest.fixture(scope="session")
def postgres_server(servers: ServerPark) -> PostgresServer:
    """The run's PostgreSQL server."""
    return cast(PostgresServer, servers["postgres"])


@pytest.fixture(scope="session")
def mysql_server(servers: ServerPark) -> MySQLServer:
    """The run's MySQL server."""
    return cast(MySQLServer, servers["mysql"])


@pytest.fixture(scope="session")
def mariadb_server(servers: ServerPark) -> MariaDBServer:
    """The run's MariaDB server."""
    return cast(MariaDBServer, servers["mariadb"])


@pytest.fixture(scope="session")
def sqlite_server(servers: ServerPark) -> SQLiteServer:
    """The run's folder of SQLite files."""
    return cast(SQLiteServer, servers["sqlite"])


WORKERS_END = 20.0
"""Seconds that workers have to end at the end of a test."""


@pytest.fixture(params=ALL_DIALECTS)
def database(request: pytest.FixtureRequest, servers: ServerPark) -> Iterator[Database]:
    """An empty database of each dialect in turn, or of those named with `on_dialects`."""
    with servers[request.param].database() as database:
        yield database
        # a worker holds rows as long as their handlers run: its connections are its own until then
        for thread in threading.enumerate():
            if thread.name == "sqlclaimgen-worker":
                thread.join(WORKERS_END)
                assert not thread.is_alive(), "the test has left handlers that run on"


@pytest.fixture
def dialect(database: Database) -> str:
    """The dialect of `database`."""
    return database.dialect


@pytest.fixture
def server(database: Database) -> Server[Any]:
    """The server of `database`."""
    return database.server


@pytest.fixture
def postgres_database(postgres_server: PostgresServer) -> Iterator[PostgresDatabase]:
    """An empty PostgreSQL database."""
    with postgres_server.database() as database:
        yield database


@pytest.fixture
def mysql_database(mysql_server: MySQLServer) -> Iterator[MySQLDatabase]:
    """An empty MySQL database."""
    with mysql_server.database() as database:
        yield database


@pytest.fixture
def mariadb_database(mariadb_server: MariaDBServer) -> Iterator[MariaDBDatabase]:
    """An empty MariaDB database."""
    with mariadb_server.database() as database:
        yield database


@pytest.fixture
def sqlite_database(sqlite_server: SQLiteServer) -> Iterator[SQLiteDatabase]:
    """An empty SQLite database."""
    with sqlite_server.database() as database:
        yield database


@pytest.fixture
def soak_seconds(request: pytest.FixtureRequest) -> float:
    """How long one soak test explores: its share of `SOAK_MINUTES` (one minute unless set)."""
    tests = [item for item in request.session.items if item.get_closest_marker("soak")]
    return _soak_seconds() / max(len(tests), 1)


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Names the server programs that the run will use."""
    found = {name: programs.version(name) for name in programs.NAMES}
    words = [f"{name} {version or 'MISSING (make servers)'}" for name, version in found.items()]
    return ["servers: " + ", ".join(words)]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks the tests that need a server process, and gives soaks the time they need."""
    for item in items:
        fixtures = set(getattr(item, "fixturenames", ()))
        parameters = getattr(getattr(item, "callspec", None), "params", {})
        if fixtures & _SERVER_FIXTURES or parameters.get("database", "sqlite") != "sqlite":
            item.add_marker(pytest.mark.server)
        if item.get_closest_marker("soak"):
            item.add_marker(pytest.mark.timeout(_soak_seconds() + 300))


def _soak_seconds() -> float:
    return float(os.environ.get("SOAK_MINUTES", "1")) * 60
