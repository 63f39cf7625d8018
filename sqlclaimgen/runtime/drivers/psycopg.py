"""PostgreSQL through psycopg 3."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Mapping
from typing import Any

import psycopg
from psycopg import errors
from psycopg.abc import AdaptContext, Buffer
from psycopg.adapt import Loader, Transformer
from psycopg.pq import Format, TransactionStatus
from psycopg.rows import tuple_row

from sqlclaimgen.runtime.drivers.base import Session, carried
from sqlclaimgen.runtime.drivers.sockets import hung_up
from sqlclaimgen.runtime.errors import FaultKind
from sqlclaimgen.runtime.placeholders import pyformat
from sqlclaimgen.runtime.steps import CheckConstraints, Result, Step

_CONFLICTS = (errors.SerializationFailure, errors.DeadlockDetected)
_BUSY = (errors.LockNotAvailable, errors.QueryCanceled)
_LOST = (
    errors.AdminShutdown,
    errors.CrashShutdown,
    errors.CannotConnectNow,
    errors.IdleInTransactionSessionTimeout,
)
_OF_A_ROW = frozenset({"09", "22", "23", "27", "38", "39", "44", "P0"})
"""The classes of errors that say something of one row: data, constraints, triggers and functions."""

CHECK_CONSTRAINTS = "SET CONSTRAINTS ALL IMMEDIATE"


def opening(autocommit: bool, isolation: str) -> str:
    """The statement that opens a transaction at `isolation`. Outside autocommit psycopg has sent the
    BEGIN by itself, and the level is set inside."""
    level = isolation.upper()
    if autocommit:
        return f"BEGIN ISOLATION LEVEL {level}"
    return f"SET TRANSACTION ISOLATION LEVEL {level}"


def fault(connection: Any, error: BaseException) -> FaultKind | None:
    """What one of psycopg's errors means."""
    if isinstance(error, UnicodeError):
        return FaultKind.ROW
    if not isinstance(error, psycopg.Error):
        return None
    if connection.closed or isinstance(error, _LOST):
        return FaultKind.LOST
    if isinstance(error, _CONFLICTS):
        return FaultKind.CONFLICT
    if isinstance(error, _BUSY):
        return FaultKind.BUSY
    if isinstance(error, errors.InFailedSqlTransaction):
        return FaultKind.ABORTED
    if isinstance(error, errors.UniqueViolation):
        return FaultKind.UNIQUE
    if isinstance(error, psycopg.OperationalError) and error.sqlstate is None:
        return FaultKind.LOST
    if isinstance(error, psycopg.DataError) or (error.sqlstate or "")[:2] in _OF_A_ROW:
        return FaultKind.ROW
    return FaultKind.REFUSED


def encodings(connection: Any) -> tuple[str, str]:
    """The encodings of the connection and of its database."""
    info = connection.info
    return info.encoding, info.parameter_status("server_encoding") or "utf-8"


def shut(connection: Any) -> None:
    """Shut a connection's socket down: a read that waits on it returns at once with an error."""
    try:
        descriptor = os.dup(connection.fileno())
    except (psycopg.Error, OSError):
        return  # closed already
    with socket.socket(fileno=descriptor) as line, contextlib.suppress(OSError):
        line.shutdown(socket.SHUT_RDWR)


def gone(connection: Any) -> bool:
    """Whether the server has closed a connection. Says nothing to it."""
    try:
        return hung_up(connection.fileno())
    except (psycopg.Error, OSError):
        return True  # closed here


def notified(connection: Any, seconds: float) -> bool:
    """Wait for notifications, at most so long: whether any came. Raises psycopg's errors."""
    return len(list(connection.notifies(timeout=seconds, stop_after=1))) > 0


class _TimeOrText(Loader):
    """A time or date, or its text where Python has no value for it."""

    def __init__(self, oid: int, context: AdaptContext | None = None) -> None:
        super().__init__(oid, context)
        known = psycopg.adapters.get_loader(oid, Format.TEXT)
        assert known is not None
        self._known = known(oid, context)

    def load(self, data: Buffer) -> Any:
        try:
            return self._known.load(data)
        except psycopg.DataError:
            return bytes(data).decode()


def rows_with_text(cursor: Any) -> list[tuple[Any, ...]]:
    """The rows that the cursor brought and could not read, for a time of one is `infinity`, say: it is
    text here, so that the row keeps no other one of its claim from being read."""
    for name in ("timestamptz", "timestamp", "date"):
        cursor.adapters.register_loader(name, _TimeOrText)
    transformer = Transformer(cursor)
    transformer.set_pgresult(cursor.pgresult)
    return transformer.load_rows(0, cursor.pgresult.ntuples, tuple)


class PsycopgSession(Session):
    """A psycopg connection, in autocommit or not."""

    dialect = "postgres"

    @property
    def in_transaction(self) -> bool:
        return self.connection.info.transaction_status in (
            TransactionStatus.ACTIVE,
            TransactionStatus.INTRANS,
            TransactionStatus.INERROR,
        )

    @property
    def broken(self) -> bool:
        return self.connection.info.transaction_status in (
            TransactionStatus.INERROR,
            TransactionStatus.UNKNOWN,
        )

    def begin(self, isolation: str) -> None:
        self.run(opening(self.connection.autocommit, isolation), {})

    def run(self, sql: str, parameters: Mapping[str, Any]) -> Result:
        # not connection.cursor(): the caller's row_factory and cursor_factory are theirs
        with psycopg.Cursor(self.connection, row_factory=tuple_row) as cursor:
            cursor.execute(pyformat(sql).encode(), carried(parameters, *encodings(self.connection)))
            described = cursor.description
            try:
                rows = cursor.fetchall() if described is not None else ()
            except psycopg.DataError:
                rows = rows_with_text(cursor)
            return Result(rows, cursor.rowcount, described=described)

    def execute(self, step: Step) -> Result:
        if isinstance(step, CheckConstraints):
            return self.run(CHECK_CONSTRAINTS, {})
        return super().execute(step)

    def close(self) -> None:
        self.connection.close()

    def prepare(self, limit: float) -> None:
        # a pooler in transaction mode gives each transaction another server connection: nothing may
        # be left behind on one, prepared statements least of all
        self.connection.prepare_threshold = None
        if self.in_transaction:
            self.connection.commit()  # `connect` has set something: a search_path, a role
        self.connection.autocommit = True

    def abort(self) -> None:
        shut(self.connection)

    @property
    def gone(self) -> bool:
        return gone(self.connection)

    def fault(self, error: BaseException) -> FaultKind | None:
        return fault(self.connection, error)
