"""The servers by dialect, and those of one test run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import pytest

from .base import Server
from .mariadb import MariaDBServer
from .mysql import MySQLServer
from .postgres import PostgresServer
from .processes import ServerFailed
from .programs import ProgramMissing
from .sqlite import SQLiteServer

SERVERS: dict[str, type[Server[Any]]] = {
    server.dialect: server for server in (PostgresServer, MySQLServer, MariaDBServer, SQLiteServer)
}
"""The server class of each dialect."""

ALL_DIALECTS: tuple[str, ...] = tuple(SERVERS)
"""Every dialect's name."""

Test = TypeVar("Test", bound=Callable[..., Any])


def on_dialects(*dialects: str) -> Callable[[Test], Test]:
    """Runs a test that takes the fixture `database` on these dialects instead of on all."""
    unknown = set(dialects) - set(ALL_DIALECTS)
    assert dialects and not unknown, f"unknown dialects: {sorted(unknown)}"
    mark: Any = pytest.mark.parametrize("database", dialects, indirect=True)
    return lambda test: mark(test)


class ServerPark:
    """One server per dialect, started when a test first asks for it and closed at the end."""

    def __init__(self) -> None:
        self._servers: dict[str, Server[Any]] = {}
        self._failures: dict[str, str] = {}

    def __getitem__(self, dialect: str) -> Server[Any]:
        """The running server of a dialect; the test fails where it cannot be had."""
        if dialect in self._failures:
            pytest.fail(self._failures[dialect], pytrace=False)
        server = self._servers.get(dialect) or SERVERS[dialect]()
        try:
            server.start()
        except (ProgramMissing, ServerFailed) as error:
            # Remembered, so that a hundred tests do not each wait for the same failure.
            self._failures[dialect] = f"{dialect}: {error}"
            pytest.fail(self._failures[dialect], pytrace=False)
        self._servers[dialect] = server
        return server

    def versions(self) -> dict[str, str]:
        """The version of each server that was started."""
        return {dialect: server.version for dialect, server in self._servers.items()}

    def close(self) -> None:
        """Stops every server and removes its data."""
        for server in self._servers.values():
            server.close()
        self._servers.clear()
