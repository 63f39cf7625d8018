"""PgBouncer before a PostgreSQL database of the tests."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import psycopg

from .base import Row
from .postgres import PostgresDatabase
from .processes import ServerProcess, free_port, temporary_folder, unprivileged_user
from .programs import find


class PgBouncer:
    """A pooler on the loopback interface; use it in a `with` block.

    It pools by transaction unless `pool_mode` says otherwise; `settings` go into the
    `[pgbouncer]` section of its file. With a `pool_size` of 1 every client shares one session.
    """

    def __init__(
        self,
        database: PostgresDatabase,
        *,
        pool_mode: str = "transaction",
        pool_size: int = 4,
        settings: Mapping[str, str | int] | None = None,
    ) -> None:
        self.database = database
        self.port = 0
        self._settings: dict[str, str | int] = {
            "listen_addr": "127.0.0.1",
            "unix_socket_dir": "",
            "auth_type": "any",
            "pool_mode": pool_mode,
            "default_pool_size": pool_size,
            "max_client_conn": 300,
            "server_login_retry": 1,
            **(settings or {}),
        }
        self._folder: Path | None = None
        self._process: ServerProcess | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    @property
    def dsn(self) -> str:
        """The URL of the database through the pooler."""
        return f"postgresql://postgres@127.0.0.1:{self.port}/{self.database.name}"

    @property
    def running(self) -> bool:
        """Whether the pooler's process is there."""
        return self._process is not None and self._process.running

    def connect(self, *, autocommit: bool = False, **options: Any) -> psycopg.Connection[Row]:
        """A psycopg connection through the pooler."""
        return psycopg.connect(self.dsn, autocommit=autocommit, **options)

    def start(self) -> None:
        """Starts the pooler and waits until it takes connections."""
        if self.running:
            return
        program, user = find("pgbouncer"), unprivileged_user()
        if self._folder is None:
            self._folder = temporary_folder("pgbouncer", user)
            self.port = free_port()
        file = self._folder / "pgbouncer.ini"
        file.write_text(self._configuration())
        self._process = ServerProcess(
            program.command(file),
            folder=self._folder,
            environment=program.variables(),
            log=self._folder / "server.log",
            user=user,
        )
        self._process.wait_until(self._ready)

    def kill(self) -> None:
        """Crashes the pooler."""
        if self._process is not None:
            self._process.kill()

    def close(self) -> None:
        """Stops the pooler at once, with the connections through it."""
        if self._process is not None:
            self._process.stop()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
        self._folder, self._process, self.port = None, None, 0

    def _configuration(self) -> str:
        target = f"host=127.0.0.1 port={self.database.server.port} user=postgres"
        settings = {**self._settings, "listen_port": self.port}
        lines = [f"{name} = {value}" for name, value in settings.items()]
        return "\n".join(
            ["[databases]", f"{self.database.name} = {target}", "[pgbouncer]", *lines, ""]
        )

    def _ready(self) -> bool:
        try:
            self.connect(connect_timeout=5).close()
        except psycopg.OperationalError:
            return False
        return True
