"""SQLite behind the same interface: a server is a folder, a database a file in it."""

from __future__ import annotations

import itertools
import re
import shutil
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from .base import Database, Parameters, Server, SessionId
from .processes import temporary_folder
from .programs import find

_SESSIONS = itertools.count(1)


class SQLiteDatabase(Database):
    """A database file; its sessions are the connections that `connect` opened in this process."""

    dialect: ClassVar[str] = "sqlite"

    def __init__(self, server: Server[SQLiteDatabase], path: Path) -> None:
        super().__init__(server, path.name, f"sqlite:///{path}")
        self.path = path
        self._connections: dict[SessionId, sqlite3.Connection] = {}

    def connect(self, *, autocommit: bool = False, **options: Any) -> sqlite3.Connection:
        """A sqlite3 connection that waits ten seconds for locks and may change threads.

        `autocommit=True` means `isolation_level=None`; an `isolation_level` of its own wins.
        """
        level = {"isolation_level": None} if autocommit else {}
        defaults = {"timeout": 10.0, "check_same_thread": False, **level}
        connection = sqlite3.connect(self.path, **{**defaults, **options})
        with self._lock:
            self._connections[next(_SESSIONS)] = connection
        return connection

    def session_id(self, connection: Any) -> SessionId:
        """A number of this process for a connection; `LookupError` for one from elsewhere."""
        for session, known in self._connections.items():
            if known is connection:
                return session
        raise LookupError("not a connection of this database")

    def sessions(self) -> set[SessionId]:
        """The connections that are still open."""
        with self._lock:
            self._connections = {s: c for s, c in self._connections.items() if _is_open(c)}
            return set(self._connections)

    def is_blocked(self, session_id: SessionId) -> bool:
        """SQLite cannot tell: a connection that waits sleeps inside its own process."""
        raise NotImplementedError("SQLite does not show who waits")

    def execute_script(self, text: str) -> None:
        """`executescript`; each statement commits for itself."""
        with self._lock:
            self.admin.executescript(text)

    def explain(self, sql: str, params: Parameters = ()) -> list[str]:
        """The lines of `EXPLAIN QUERY PLAN`."""
        return [row[3] for row in self.execute(f"EXPLAIN QUERY PLAN {sql}", params)]

    def locked_rows(
        self, table: str, id_column: str, schema: str | None = None, *, strength: str = "UPDATE"
    ) -> set[Any]:
        """Every id while another connection holds the write lock, none otherwise."""
        probe = sqlite3.connect(self.path, timeout=0, isolation_level=None)
        try:
            probe.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            name = f'"{schema}"."{table}"' if schema else f'"{table}"'
            return {row[0] for row in self.execute(f'SELECT "{id_column}" FROM {name}')}
        finally:
            probe.close()
        return set()

    def close_connections(self) -> None:
        """Closes every connection, which rolls back what they have open."""
        for connection in list(self._connections.values()):
            _cut(connection)
        self.sessions()

    def _call(self, sql: str, params: Parameters) -> tuple[Any, ...]:
        if not params:
            return (sql,)
        if isinstance(params, Mapping):
            return re.sub(r"%\((\w+)\)s", r":\1", sql).replace("%%", "%"), params
        return sql.replace("%s", "?").replace("%%", "%"), params

    def _connect_admin(self) -> sqlite3.Connection:
        return sqlite3.connect(self.path, timeout=10, isolation_level=None, check_same_thread=False)

    def _kill(self, session_id: SessionId) -> None:
        _cut(self._connections[session_id])

    def _drop(self) -> None:
        self.close_connections()
        self.disconnect()
        for suffix in ("", "-wal", "-shm", "-journal"):
            self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)

    def _client_command(self) -> list[str]:
        return find("sqlite").command("-batch", "-bail", self.path)


class SQLiteServer(Server[SQLiteDatabase]):
    """SQLite: nothing to start; a stop or a crash closes the connections of this process."""

    dialect: ClassVar[str] = "sqlite"

    def __init__(
        self, settings: Mapping[str, str | int] | None = None, *, durable: bool = False
    ) -> None:
        super().__init__(settings, durable=durable)
        self.version = sqlite3.sqlite_version
        self._running = False
        self._folder: Path | None = None

    @property
    def running(self) -> bool:
        """Whether `start` was called after the last stop."""
        return self._running

    def start(self) -> None:
        """Creates the folder of the database files."""
        if self._folder is None:
            self._folder = temporary_folder(self.dialect, on_disk=self.durable)
        self._running = True

    def stop(self) -> None:
        """Closes the connections; the files stay."""
        self.disconnect()
        for database in list(self._databases):
            database.close_connections()
        self._running = False

    def kill(self) -> None:
        """The same as `stop`: SQLite crashes with the process that uses it, not by itself."""
        self.stop()

    def close(self) -> None:
        """Closes the connections and removes the files."""
        self.stop()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
        self._folder = None

    def _create(self, name: str) -> SQLiteDatabase:
        assert self._folder is not None
        return SQLiteDatabase(self, self._folder / f"{name}.sqlite")


def _is_open(connection: sqlite3.Connection) -> bool:
    try:
        return connection.total_changes >= 0
    except sqlite3.ProgrammingError:
        return False


def _cut(connection: sqlite3.Connection) -> None:
    try:
        connection.interrupt()
        connection.close()
    except sqlite3.Error:
        return  # Closed before, or bound to the thread that opened it.
