"""PostgreSQL for the tests: it never runs as root, and each database is a copy of a template."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import psycopg
from psycopg import sql as composed

from .base import Database, Parameters, Row, SessionId
from .daemon import Daemon
from .processes import run, unprivileged_user
from .programs import ProgramMissing

_SETTINGS: dict[str, str | int] = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "max_connections": 300,
    "shared_buffers": "64MB",
    "fsync": "off",
    "max_wal_size": "256MB",
    "full_page_writes": "off",
    "synchronous_commit": "on",
    "autovacuum": "on",
    "log_statement": "none",
    "timezone": "Asia/Kolkata",
}
_DURABLE: dict[str, str | int] = {"fsync": "on", "full_page_writes": "on"}
_ADMIN = "sqlclaimgen admin"


class PostgresDatabase(Database):
    """A database of a PostgreSQL server."""

    dialect: ClassVar[str] = "postgres"
    server: PostgresServer

    def connect(self, *, autocommit: bool = False, **options: Any) -> psycopg.Connection[Row]:
        """A psycopg connection."""
        connection = psycopg.connect(self.dsn, autocommit=autocommit, **options)
        self._track(connection)
        return connection

    async def connect_async(
        self, *, autocommit: bool = False, **options: Any
    ) -> psycopg.AsyncConnection[Row]:
        """A psycopg `AsyncConnection`; the caller closes it."""
        return await psycopg.AsyncConnection.connect(self.dsn, autocommit=autocommit, **options)

    def session_id(self, connection: Any) -> SessionId:
        """The process id of the connection's backend."""
        return int(connection.info.backend_pid)

    def sessions(self) -> set[SessionId]:
        """The process ids of this database's client backends."""
        rows = self.execute(
            "SELECT pid FROM pg_stat_activity WHERE datname = current_database()"
            " AND backend_type = 'client backend' AND application_name <> %s",
            [_ADMIN],
        )
        return {row[0] for row in rows}

    def is_blocked(self, session_id: SessionId) -> bool:
        """Whether the backend waits for a heavyweight lock, advisory ones included."""
        return bool(self.value("SELECT cardinality(pg_blocking_pids(%s)) > 0", [session_id]))

    def execute_script(self, text: str) -> None:
        """Sends the whole text as one simple query: without a COMMIT of its own, all or nothing."""
        with self._lock:
            self.admin.execute(text)

    def explain(self, sql: str, params: Parameters = ()) -> dict[str, Any]:
        """What `EXPLAIN (FORMAT JSON)` says of the statement."""
        plan: list[dict[str, Any]] = self.value(f"EXPLAIN (FORMAT JSON) {sql}", params)
        return plan[0]

    def locked_rows(
        self, table: str, id_column: str, schema: str | None = None, *, strength: str = "UPDATE"
    ) -> set[Any]:
        """The ids that `FOR UPDATE SKIP LOCKED` passes over."""
        names = composed.Identifier(*filter(None, (schema, table)))
        read = composed.SQL("SELECT {} FROM {}").format(composed.Identifier(id_column), names)
        lock = read + composed.SQL(f" FOR {strength} SKIP LOCKED")
        with self._lock:
            admin = self.admin
            with admin.transaction(force_rollback=True):
                before = {row[0] for row in admin.execute(read)}
                free = {row[0] for row in admin.execute(lock)}
                # A row that came or went between the statements is not a locked one.
                return (before & {row[0] for row in admin.execute(read)}) - free

    def _connect_admin(self) -> psycopg.Connection[Row]:
        return psycopg.connect(
            self.dsn, autocommit=True, application_name=_ADMIN, options="-c timezone=UTC"
        )

    def _kill(self, session_id: SessionId) -> None:
        self.execute("SELECT pg_terminate_backend(%s)", [session_id])

    def _drop(self) -> None:
        self.disconnect()
        self.server.run(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            f" WHERE datname = '{self.name}' AND pid <> pg_backend_pid()"
        )
        # Waits for the backends just ended; PostgreSQL 11 and 12 have no WITH (FORCE).
        self.server.run(f'DROP DATABASE IF EXISTS "{self.name}"')

    def _client_command(self) -> list[str]:
        psql = self.server.program.sibling("psql")
        if psql is None:
            raise ProgramMissing("postgres")
        return psql.command("-X", "-q", "-v", "ON_ERROR_STOP=1", "-f", "-", self.dsn)

    def _client_environment(self) -> Mapping[str, str]:
        return {**self.server.program.variables(), "PGCLIENTENCODING": "UTF8"}


class PostgresServer(Daemon[PostgresDatabase]):
    """A PostgreSQL server; its only user is the superuser `postgres`, without password."""

    dialect: ClassVar[str] = "postgres"
    program_name: ClassVar[str] = "postgres"
    stop_signal: ClassVar[signal.Signals] = signal.SIGINT  # "fast": ends the sessions
    death_signal: ClassVar[str] = "QUIT"  # "immediate": ends its children too

    def __init__(
        self, settings: Mapping[str, str | int] | None = None, *, durable: bool = False
    ) -> None:
        super().__init__(settings, durable=durable)
        self.user = unprivileged_user()

    def dsn(self, database: str = "postgres") -> str:
        """The URL of one of the server's databases."""
        return f"postgresql://postgres@127.0.0.1:{self.port}/{database}"

    def run(self, statement: str) -> None:
        """Runs one statement in the maintenance database."""
        with psycopg.connect(self.dsn(), autocommit=True) as connection:
            connection.execute(statement)

    def initialize(self, folder: Path) -> None:
        """Runs `initdb`."""
        initdb = self.program.sibling("initdb")
        if initdb is None:
            raise ProgramMissing("postgres")
        options = ("-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
        run(
            initdb.command("-D", folder / "data", *options),
            folder=folder,
            environment=initdb.variables(),
            user=self.user,
        )

    def command(self, folder: Path) -> list[str]:
        """`postgres` in the foreground, each setting as `-c name=value`."""
        durable = _DURABLE if self.durable else {}
        settings = {**_SETTINGS, "port": self.port, **durable, **self.settings}
        options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        return self.program.command("-D", folder / "data", *options)

    def ready(self) -> bool:
        """Whether a connection is taken."""
        try:
            psycopg.connect(self.dsn(), connect_timeout=5).close()
        except psycopg.OperationalError:
            return False
        return True

    def ask_version(self) -> str:
        """`server_version` without the packager's remark."""
        with psycopg.connect(self.dsn()) as connection:
            return str(connection.info.parameter_status("server_version")).split()[0]

    def _create(self, name: str) -> PostgresDatabase:
        # Twice as fast as through the log, where the copy is written twice.
        strategy = "STRATEGY file_copy" if self.version_info >= (15,) else ""
        self.run(f'CREATE DATABASE "{name}" TEMPLATE template0 {strategy}')
        return PostgresDatabase(self, name, self.dsn(name))
