"""SQLite through sqlite3."""

from __future__ import annotations

import contextlib
import sqlite3
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sqlclaimgen.runtime.drivers.base import Session
from sqlclaimgen.runtime.errors import FaultKind
from sqlclaimgen.runtime.keys import PROCESS, space_of
from sqlclaimgen.runtime.steps import DropKey, HoldKey, KeysInUse, Result, Step

_WHOLE_FILE = (
    sqlite3.SQLITE_READONLY,  # also: the file was moved or removed under the connection
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_CORRUPT,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_PROTOCOL,
    sqlite3.SQLITE_NOTADB,
)
"""Errors that concern the database file and not a row of it."""


def _primary(error: BaseException) -> int:
    """SQLite's primary code of an error; 0 where it has none."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def _text(value: bytes) -> str | bytes:
    """A text, or its bytes where they are no UTF-8: such a row keeps no other one of its claim from
    being read."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value


class SQLiteSession(Session):
    """A sqlite3 connection, whatever its isolation_level."""

    dialect = "sqlite"

    def __init__(self, connection: Any) -> None:
        super().__init__(connection)
        self._file = ""
        self._identity: tuple[int, int] | None = None
        """The file that a worker's own connection has open."""

    @property
    def in_transaction(self) -> bool:
        return not self.broken and bool(self.connection.in_transaction)

    @property
    def always_in_transaction(self) -> str | None:
        # not LEGACY_TRANSACTION_CONTROL, which is -1: there a write begins one
        if getattr(self.connection, "autocommit", None) is not False:
            return None
        return (
            "autocommit=False of sqlite3 keeps a transaction open at all times, also after a commit. Connect "
            "with autocommit=True, or leave autocommit out"
        )

    @property
    def broken(self) -> bool:
        try:
            return bool(self.connection.total_changes < 0)
        except sqlite3.ProgrammingError:
            return True  # it is closed

    def begin(self, isolation: str) -> None:
        if self._file and _identity(self._file) != self._identity:
            raise ConnectionError(
                f"{self._file} was replaced or removed after this connection had opened it"
            )
        # a deferred BEGIN that reads, then writes, fails at once in spite of the busy timeout
        self.run("BEGIN IMMEDIATE", {})

    def run(self, sql: str, parameters: Mapping[str, Any]) -> Result:
        cursor = self.connection.cursor(sqlite3.Cursor)
        cursor.row_factory = None
        texts, self.connection.text_factory = self.connection.text_factory, _text
        try:
            cursor.execute(sql, parameters)
            # an unread RETURNING holds the write lock and commits nothing
            rows = cursor.fetchall() if cursor.description is not None else ()
            return Result(rows, max(cursor.rowcount, 0), cursor.lastrowid)
        finally:
            cursor.close()
            with contextlib.suppress(sqlite3.ProgrammingError):  # closed meanwhile
                self.connection.text_factory = texts

    def execute(self, step: Step) -> Result:
        match step:
            case KeysInUse(file):
                return Result([(key,) for key in PROCESS.in_use(space_of(file, self.connection))])
            case HoldKey(file, lock):
                won = PROCESS.hold(space_of(file, self.connection), lock, self)
                return Result([(lock.key,)] if won else [])
            case DropKey(lock):
                PROCESS.drop(lock)
                return Result()
            case _:
                return super().execute(step)

    def commit(self) -> None:
        if self._by_itself:
            self.run("COMMIT", {})
        else:
            super().commit()

    def rollback(self) -> None:
        if not self._by_itself:
            super().rollback()
            return
        try:
            self.run("ROLLBACK", {})
        except sqlite3.Error:
            self.close()

    @property
    def _by_itself(self) -> bool:
        """Whether a transaction is open that the connection's own commit and rollback ignore: with
        `autocommit=True` (Python 3.12)."""
        return getattr(self.connection, "autocommit", False) is True and self.in_transaction

    def close(self) -> None:
        self.connection.close()

    def prepare(self, limit: float) -> None:
        if sys.version_info >= (3, 12):
            # with `autocommit=False` a transaction is always open
            self.connection.autocommit = True
            self.connection.autocommit = sqlite3.LEGACY_TRANSACTION_CONTROL
        self.connection.isolation_level = None
        # a wait for another writer ends as a conflict, before the statement's limit breaks the connection
        patience = min(10.0, limit * 0.75)
        self.run(f"PRAGMA busy_timeout = {int(patience * 1000)}", {})
        self._file = self.run("PRAGMA database_list", {}).rows[0][2]
        self._identity = _identity(self._file)
        try:
            self._write_ahead(patience)
        except sqlite3.OperationalError as error:
            if _primary(error) not in _WHOLE_FILE:
                raise
            raise OSError(
                f"{self._file} cannot be written ({error}). SQLite needs write access to the file and to its "
                "folder, and WAL needs a local file system"
            ) from error

    def _write_ahead(self, patience: float) -> None:
        """Set the journal to WAL where it is not set. Only then does SQLite need the file for itself,
        and it does not wait for that: tried again for `patience` seconds."""
        until = time.monotonic() + patience
        while self.run("PRAGMA journal_mode", {}).rows[0][0] not in ("wal", "memory"):
            try:
                self.run("PRAGMA journal_mode = WAL", {})
                return
            except sqlite3.OperationalError as error:
                if self.fault(error) is not FaultKind.BUSY or time.monotonic() > until:
                    raise
            time.sleep(0.01)

    def abort(self) -> None:
        self.connection.interrupt()

    def fault(self, error: BaseException) -> FaultKind | None:
        if isinstance(error, UnicodeError | OverflowError):
            return FaultKind.ROW
        if not isinstance(error, sqlite3.Error):
            return None
        if isinstance(error, sqlite3.ProgrammingError) and "closed" in str(error):
            return FaultKind.LOST
        if _primary(error) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            return FaultKind.BUSY
        if _primary(error) in _WHOLE_FILE:
            return FaultKind.LOST
        if isinstance(error, sqlite3.IntegrityError) and "UNIQUE" in str(error):
            return FaultKind.UNIQUE
        if isinstance(error, sqlite3.IntegrityError | sqlite3.DataError):
            return FaultKind.ROW
        return FaultKind.REFUSED


def _identity(file: str) -> tuple[int, int] | None:
    """What tells a file from another of its name; None where there is none."""
    try:
        found = Path(file).stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
