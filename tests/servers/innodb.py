"""What MySQL and MariaDB have in common in the tests: InnoDB, their protocol and their driver."""

from __future__ import annotations

import json
import os
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, TypeVar

import pymysql
from pymysql.connections import Connection
from pymysql.constants import CLIENT
from pymysql.cursors import Cursor

from .base import Database, Parameters, Row, SessionId
from .daemon import Daemon
from .programs import Program

_SETTINGS: dict[str, str | int] = {
    "bind-address": "127.0.0.1",
    "max-connections": 300,
    "innodb-buffer-pool-size": "64M",
    "default-time-zone": "+05:30",
}
_QUICK: dict[str, str | int] = {
    "innodb-flush-log-at-trx-commit": 2,
    "innodb-doublewrite": "OFF",
    "skip-log-bin": "",
}
# The binary log is the server's own default: on and flushed on MySQL, off on MariaDB.
_DURABLE: dict[str, str | int] = {
    "innodb-flush-log-at-trx-commit": 1,
    "innodb-doublewrite": "ON",
}
_WAITS = ("User lock", "Waiting for table metadata lock", "Waiting for table level lock")


class InnoDBDatabase(Database):
    """A database of a MySQL or MariaDB server."""

    server: InnoDBServer[Any]

    def connect(
        self, *, autocommit: bool = False, found_rows: bool = False, **options: Any
    ) -> Connection[Cursor]:
        """A PyMySQL connection; with `found_rows` an update counts the rows it matched."""
        flags = options.pop("client_flag", 0) | (CLIENT.FOUND_ROWS if found_rows else 0)
        connection = self._connect(autocommit=autocommit, client_flag=flags, **options)
        self._track(connection)
        return connection

    def session_id(self, connection: Any) -> SessionId:
        """The connection's `CONNECTION_ID()`."""
        return int(connection.thread_id())

    def sessions(self) -> set[SessionId]:
        """The connections whose current database is this one."""
        with self._lock:
            rows, own = self._process_list(), self.session_id(self.admin)
        return {row[0] for row in rows if row[3] == self.name and row[0] != own}

    def is_blocked(self, session_id: SessionId) -> bool:
        """Whether the session waits for a row, for a table, or in `GET_LOCK`."""
        if any(row[0] == session_id and row[6] in _WAITS for row in self._process_list()):
            return True
        return session_id in self._waiting_for_rows()

    def execute_script(self, text: str) -> None:
        """Sends the whole text at once; each statement commits for itself."""
        connection = self._connect(autocommit=True, client_flag=CLIENT.MULTI_STATEMENTS)
        try:
            cursor = connection.cursor()
            cursor.execute(text)
            while cursor.nextset():
                pass
        finally:
            connection.close()

    def explain(self, sql: str, params: Parameters = ()) -> Any:
        """What `EXPLAIN FORMAT=JSON` says of the statement."""
        return json.loads(self.value(f"EXPLAIN FORMAT=JSON {sql}", params))

    def locked_rows(
        self, table: str, id_column: str, schema: str | None = None, *, strength: str = "UPDATE"
    ) -> set[Any]:
        """The ids whose row in the primary key `FOR UPDATE SKIP LOCKED` passes over."""
        name = f"`{schema or self.name}`.`{table}`"
        read = f"SELECT `{id_column}` FROM {name}"
        lock = f"{read} FORCE INDEX (PRIMARY) FOR {strength} SKIP LOCKED"
        with self._lock:
            self.execute("SET TRANSACTION ISOLATION LEVEL READ COMMITTED")
            self.execute("BEGIN")
            try:
                before = {row[0] for row in self.execute(read)}
                free = {row[0] for row in self.execute(lock)}
                # A row that came or went between the statements is not a locked one.
                return (before & {row[0] for row in self.execute(read)}) - free
            finally:
                self.execute("ROLLBACK")

    @abstractmethod
    def innodb_lock_counts(self) -> dict[SessionId, int]:
        """How many row locks (record and gap locks alike) each session of the server holds."""

    @abstractmethod
    def _waiting_for_rows(self) -> set[SessionId]:
        """The sessions of the server that wait for a row lock."""

    def _process_list(self) -> list[Row]:
        # MySQL is about to drop information_schema.processlist; this statement both have.
        return self.execute("SHOW FULL PROCESSLIST")

    def _connect(self, **options: Any) -> Connection[Cursor]:
        return pymysql.connect(
            **{**self.server.address(), "database": self.name, "charset": "utf8mb4", **options}
        )

    def _connect_admin(self) -> Connection[Cursor]:
        return self._connect(
            autocommit=True,
            init_command="SET time_zone = '+00:00'",
        )

    def _kill(self, session_id: SessionId) -> None:
        self.execute(f"KILL CONNECTION {session_id:d}")

    def _drop(self) -> None:
        # An open transaction would hold up the DROP with its metadata locks.
        for session in self.sessions():
            try:
                self._kill(session)
            except pymysql.err.MySQLError:
                continue  # It ended by itself.
        self.server.run(f"DROP DATABASE `{self.name}`")

    def _client_command(self) -> list[str]:
        return self.server.client.command(
            "--no-defaults",
            "--protocol=tcp",
            "--host=127.0.0.1",
            f"--port={self.server.port}",
            "--user=root",
            "--default-character-set=utf8mb4",
            "--batch",
            "--skip-column-names",
            self.name,
        )

    def _client_environment(self) -> Mapping[str, str]:
        return self.server.client.variables()


def server_user() -> list[str]:
    """The option without which MySQL and MariaDB refuse to run as root."""
    return ["--user=root"] if os.geteuid() == 0 else []


Kind = TypeVar("Kind", bound=InnoDBDatabase)


class InnoDBServer(Daemon[Kind]):
    """A MySQL or MariaDB server; `root` needs no password over TCP from 127.0.0.1."""

    defaults: ClassVar[dict[str, str | int]]

    @property
    @abstractmethod
    def database_class(self) -> type[Kind]:
        """The class of the server's databases."""

    @property
    @abstractmethod
    def client(self) -> Program:
        """The server's own client program."""

    def address(self) -> dict[str, Any]:
        """What PyMySQL needs to reach the server as `root`."""
        # Without the last word PyMySQL 1.2 reads the machine's certificates for each connection,
        # which takes it 40 ms.
        return {"host": "127.0.0.1", "port": self.port, "user": "root", "ssl_disabled": True}

    def options(self) -> list[str]:
        """The server's settings as `--name=value`."""
        flushing = _DURABLE if self.durable else _QUICK
        settings = {**_SETTINGS, **flushing, **self.defaults, "port": self.port, **self.settings}
        return [
            f"--{name}={value}" if value != "" else f"--{name}" for name, value in settings.items()
        ]

    def run(self, statement: str) -> list[tuple[Any, ...]]:
        """Runs one statement outside any database."""
        connection = pymysql.connect(**self.address(), autocommit=True)
        try:
            with connection.cursor() as cursor:
                cursor.execute(statement)
                return list(cursor.fetchall())
        finally:
            connection.close()

    def ready(self) -> bool:
        """Whether a connection is taken."""
        try:
            self.run("SELECT 1")
        except pymysql.err.OperationalError:
            return False
        return True

    def ask_version(self) -> str:
        """`VERSION()` without the packager's remark."""
        return str(self.run("SELECT VERSION()")[0][0]).partition("-")[0]

    def _create(self, name: str) -> Kind:
        self.run(f"CREATE DATABASE `{name}` CHARACTER SET utf8mb4")
        dsn = f"{self.dialect}://root@127.0.0.1:{self.port}/{name}"
        return self.database_class(self, name, dsn)
