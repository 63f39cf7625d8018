"""The servers of a run, with durability on, and the tables and databases on them."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from benchmarks.tables import DESCRIPTION, Table
from tests.servers import SERVERS, Database, Server
from tests.support.generated import generate

_SETTINGS: dict[str, dict[str, str | int]] = {
    "postgres": {"shared_buffers": "256MB", "max_wal_size": "2GB"},
    "mysql": {"innodb-buffer-pool-size": "256M"},
    "mariadb": {"innodb-buffer-pool-size": "256M", "innodb-log-file-size": "256M"},
    "sqlite": {},
}
"""What is not as a server has it by itself, beside durability."""


class Park:
    """Starts each server when it is first asked for, and removes everything at the end."""

    def __init__(self) -> None:
        self._stack = contextlib.ExitStack()
        self._servers: dict[str, Server[Any]] = {}
        self._tables: dict[tuple[str, str], Table] = {}
        folder = Path(tempfile.mkdtemp(prefix="sqlclaimgen-benchmarks-"))
        self._stack.callback(shutil.rmtree, folder, ignore_errors=True)
        self._generated = generate(DESCRIPTION, folder)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.close()

    def server(self, dialect: str) -> Server[Any]:
        """The running server. Raises ProgramMissing or ServerFailed where it cannot be had."""
        if dialect not in self._servers:
            server = SERVERS[dialect](_SETTINGS[dialect], durable=True)
            server.start()
            self._stack.callback(server.close)
            self._servers[dialect] = server
        return self._servers[dialect]

    def database(self, dialect: str) -> Database:
        """A new database, for somebody who makes tables of his own."""
        database: Database = self._stack.enter_context(self.server(dialect).database())
        return database

    def table(self, dialect: str, name: str) -> Table:
        """The table of that name, created when it is first asked for."""
        if (dialect, name) not in self._tables:
            self._tables[dialect, name] = Table(self.database(dialect), self._generated, name)
        return self._tables[dialect, name]

    def versions(self) -> dict[str, str]:
        """The version of each server that was started."""
        return {dialect: server.version for dialect, server in self._servers.items()}
