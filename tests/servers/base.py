"""What every server of the tests offers, whatever its dialect."""

from __future__ import annotations

import itertools
import re
import subprocess
import threading
import time
import weakref
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Generic, Self, TypeVar

Row = tuple[Any, ...]
Parameters = Sequence[Any] | Mapping[str, Any]
SessionId = int

_NUMBERS = itertools.count(1)


class ClientFailed(Exception):
    """A server's own client program refused a file; the text is what it printed."""


class Database(ABC):
    """A database of its own for one test, dropped at the end of the `with` block.

    `dsn` is what the product's `--dsn` takes. A private *admin* connection, which commits each
    statement and whose session is in UTC, runs what the methods here need; it is opened again
    after the server was restarted.
    """

    dialect: ClassVar[str]

    def __init__(self, server: Server[Any], name: str, dsn: str) -> None:
        self.server = server
        self._dropped = False
        self.name = name
        self.dsn = dsn
        self._lock = threading.RLock()
        self._admin: Any = None
        self._opened: weakref.WeakSet[Any] = weakref.WeakSet()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.drop()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.dsn}>"

    # -- connections --------------------------------------------------------------------------

    @abstractmethod
    def connect(self, *, autocommit: bool = False, **options: Any) -> Any:
        """A new connection of the plain driver; `options` go to the driver's own `connect`."""

    @abstractmethod
    def session_id(self, connection: Any) -> SessionId:
        """The server's number for a connection's session; runs no statement."""

    @abstractmethod
    def sessions(self) -> set[SessionId]:
        """The sessions of this database, the admin connection's left out."""

    @abstractmethod
    def is_blocked(self, session_id: SessionId) -> bool:
        """Whether that session waits for a lock of another one right now."""

    def kill_session(self, session_id: SessionId) -> None:
        """Ends a session from outside and returns once it is gone.

        Raises `LookupError` where there is no such session.
        """
        if session_id not in self.sessions():
            raise LookupError(f"{self.name} has no session {session_id}")
        self._kill(session_id)
        self._wait(lambda: session_id not in self.sessions(), f"session {session_id} stays", 20)

    def wait_until_blocked(self, session_id: SessionId, timeout: float = 10) -> None:
        """Waits until that session waits for a lock; `TimeoutError` after `timeout` seconds."""
        self._wait(lambda: self.is_blocked(session_id), f"{session_id} is not blocked", timeout)

    def wait_until_idle(self, timeout: float = 10) -> None:
        """Waits until no session but the admin's is left; `TimeoutError` after `timeout`."""
        self._wait(lambda: not self.sessions(), f"{self.name} still has sessions", timeout)

    # -- statements ---------------------------------------------------------------------------

    def execute(self, sql: str, params: Parameters = ()) -> list[Row]:
        """Runs one statement on the admin connection and returns its rows, if any.

        Placeholders are `%s` or `%(name)s` on every dialect. Without parameters the text is sent
        as it is, so that a percent sign needs no escape.
        """
        with self._lock:
            cursor = self.admin.cursor()
            try:
                cursor.execute(*self._call(sql, params))
                return [tuple(row) for row in cursor.fetchall()] if cursor.description else []
            finally:
                cursor.close()

    def value(self, sql: str, params: Parameters = ()) -> Any:
        """The first column of a statement's only row."""
        rows = self.execute(sql, params)
        assert len(rows) == 1, f"{len(rows)} rows, not one: {sql}"
        return rows[0][0]

    @abstractmethod
    def execute_script(self, text: str) -> None:
        """Runs a text of several statements through the driver."""

    def load_with_client(self, path: Path | str) -> str:
        """Runs a file with the server's own client program, stopping at the first error.

        Returns what the client printed; raises `ClientFailed`.
        """
        with open(path, "rb") as file:
            done = subprocess.run(
                self._client_command(),
                env=self._client_environment(),
                stdin=file,
                capture_output=True,
                timeout=120,
                check=False,
            )
        if done.returncode != 0:
            raise ClientFailed(done.stderr.decode(errors="replace").strip())
        return done.stdout.decode(errors="replace")

    @abstractmethod
    def explain(self, sql: str, params: Parameters = ()) -> Any:
        """The plan of a statement: the server's JSON parsed, on SQLite a list of lines."""

    @abstractmethod
    def locked_rows(
        self, table: str, id_column: str, schema: str | None = None, *, strength: str = "UPDATE"
    ) -> set[Any]:
        """The ids of rows that another session cannot lock right now.

        It locks every other row of the table for a moment, which a claim that runs at the same
        time passes over. `strength` is what stands after `FOR`.
        """

    # -- the rest -----------------------------------------------------------------------------

    @property
    def admin(self) -> Any:
        """The admin connection. Hold no transaction open on it."""
        if self._admin is None:
            self._admin = self._connect_admin()
        return self._admin

    def disconnect(self) -> None:
        """Closes the admin connection; the next use opens it again."""
        with self._lock:
            connection, self._admin = self._admin, None
        self._close(connection)

    def drop(self) -> None:
        """Ends every session and removes the database. A second call does nothing."""
        if self._dropped:
            return
        self._dropped = True
        self.server.forget(self)
        if self.server.running:
            self._drop()
        self.disconnect()
        for connection in list(self._opened):
            self._close(connection)

    def _track(self, connection: Any) -> Any:
        self._opened.add(connection)
        return connection

    def _close(self, connection: Any) -> None:
        try:
            if connection is not None:
                connection.close()
        except Exception:
            return  # The server may be gone, or the connection closed before.

    def _wait(self, condition: Any, otherwise: str, timeout: float) -> None:
        deadline = time.monotonic() + timeout
        while not condition():
            if time.monotonic() > deadline:
                raise TimeoutError(f"{otherwise} after {timeout} seconds")
            time.sleep(0.005)

    def _call(self, sql: str, params: Parameters) -> tuple[Any, ...]:
        return (sql, params) if params else (sql,)

    @abstractmethod
    def _connect_admin(self) -> Any: ...

    @abstractmethod
    def _kill(self, session_id: SessionId) -> None: ...

    @abstractmethod
    def _drop(self) -> None: ...

    @abstractmethod
    def _client_command(self) -> list[str]: ...

    def _client_environment(self) -> Mapping[str, str] | None:
        return None


D = TypeVar("D", bound=Database)


class Server(ABC, Generic[D]):
    """A server that the tests start, stop and crash at will.

    `settings` are the server's own settings, put over the tests' defaults. Its clock shows UTC+5:30
    to sessions that do not say otherwise, so that code which takes UTC for granted is found out.
    Unless it is `durable`, a commit need not survive a crash of the machine: tests are quicker so.
    A durable server has its data on a disk, and flushes each commit as it would in production.
    """

    dialect: ClassVar[str]

    def __init__(
        self, settings: Mapping[str, str | int] | None = None, *, durable: bool = False
    ) -> None:
        self.settings = dict(settings or {})
        self.durable = durable
        self.version = ""
        self._databases: weakref.WeakSet[D] = weakref.WeakSet()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    @property
    def version_info(self) -> tuple[int, ...]:
        """The version as numbers."""
        return tuple(int(number) for number in re.findall(r"\d+", self.version))

    @property
    @abstractmethod
    def running(self) -> bool:
        """Whether the server takes connections."""

    @abstractmethod
    def start(self) -> None:
        """Starts the server and waits until it answers. Does nothing when it runs."""

    @abstractmethod
    def stop(self) -> None:
        """Stops the server in order; its sessions are ended, its data stays."""

    @abstractmethod
    def kill(self) -> None:
        """Crashes the server: SIGKILL; its data stays for the next `start`."""

    @abstractmethod
    def close(self) -> None:
        """Stops the server and removes its data."""

    def restart(self) -> None:
        """Stops the server in order and starts it again, on the same port."""
        self.stop()
        self.start()

    def database(self) -> D:
        """A new, empty database; use it in a `with` block. Starts the server if need be."""
        self.start()
        database = self._create(f"claims_{next(_NUMBERS)}")
        self._databases.add(database)
        return database

    def forget(self, database: D) -> None:
        """Takes a dropped database off the list of those to disconnect."""
        self._databases.discard(database)

    def disconnect(self) -> None:
        """Closes the admin connections, which a stop would break."""
        for database in list(self._databases):
            database.disconnect()

    @abstractmethod
    def _create(self, name: str) -> D: ...
