"""MySQL and MariaDB through PyMySQL."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Mapping
from typing import Any

import pymysql
from pymysql.constants import CR, ER, SERVER_STATUS
from pymysql.cursors import Cursor

from sqlclaimgen.runtime.drivers.base import Session, carried
from sqlclaimgen.runtime.drivers.sockets import hung_up
from sqlclaimgen.runtime.errors import FaultKind
from sqlclaimgen.runtime.placeholders import expanded
from sqlclaimgen.runtime.steps import Result

_LOST = frozenset(
    {
        CR.CR_SERVER_GONE_ERROR,
        CR.CR_SERVER_LOST,
        CR.CR_CONN_HOST_ERROR,
        CR.CR_CONNECTION_ERROR,
        ER.SERVER_SHUTDOWN,
        ER.NORMAL_SHUTDOWN,
        1927,  # connection was killed (MariaDB)
        3169,  # session was killed (MySQL)
        4031,  # disconnected by the server because of inactivity (MySQL)
    }
)
_CONFLICTS = frozenset(
    {
        ER.LOCK_DEADLOCK,
        1020,  # record has changed since last read (MariaDB, snapshot isolation)
        3058,  # deadlock among user-level locks
    }
)
_BUSY = frozenset(
    {
        ER.LOCK_WAIT_TIMEOUT,
        1317,  # query execution was interrupted
        1969,  # a time limit on statements (MariaDB)
        3024,  # a time limit on statements (MySQL)
        3572,  # a lock could not be had at once
    }
)
_OF_A_ROW = frozenset(
    {
        1292,  # a value that is no time, say
        1364,  # a column without a default is given none
        1366,  # a value that the column's character set lacks
        1369,  # a view's check option
        1442,  # a trigger writes the table that it belongs to
        1644,  # SIGNAL, in a trigger
        1690,  # a number out of range
        3140,  # no JSON
        3819,  # a CHECK constraint (MySQL)
        4025,  # a CHECK constraint (MariaDB)
    }
)
"""Errors that say something of one row, beside those that PyMySQL calls DataError and IntegrityError."""


def dialect_of(connection: Any) -> str:
    """`mariadb` or `mysql`, by the server's version string (`5.5.5-10.11.19-MariaDB` is MariaDB)."""
    return "mariadb" if "mariadb" in str(connection.server_version).lower() else "mysql"


class PyMySQLSession(Session):
    """A PyMySQL connection, in autocommit or not."""

    knows_transactions = False

    def __init__(self, connection: Any) -> None:
        super().__init__(connection)
        self.dialect = dialect_of(connection)
        self._prepared = False

    @property
    def in_transaction(self) -> bool:
        # PyMySQL reads the server's status from an OK, and not from what ends a list of rows: after a
        # SELECT or an INSERT .. RETURNING it has to be asked for
        if not self._told_in_transaction and not self.connection.get_autocommit():
            return self.asked_in_transaction()
        return self._told_in_transaction

    def asked_in_transaction(self) -> bool:
        # nor from an error: after a deadlock there is no transaction, and it says that there is
        try:
            self.connection.ping(reconnect=False)
        except (pymysql.Error, OSError):
            return False
        return self._told_in_transaction

    @property
    def _told_in_transaction(self) -> bool:
        return bool(self.connection.server_status & SERVER_STATUS.SERVER_STATUS_IN_TRANS)

    @property
    def broken(self) -> bool:
        return not self.connection.open

    def begin(self, isolation: str) -> None:
        if not (self._prepared and isolation == "read committed"):
            # for the next transaction only: the session keeps the caller's level
            self.run(f"SET TRANSACTION ISOLATION LEVEL {isolation.upper()}", {})
        self.run("START TRANSACTION", {})

    def run(self, sql: str, parameters: Mapping[str, Any]) -> Result:
        text, values = expanded(sql, carried(parameters, self.connection.encoding))
        with Cursor(self.connection) as cursor:
            cursor.execute(text, values)
            described: Any = cursor.description
            rows = cursor.fetchall() if described is not None else ()
            return Result(rows, cursor.rowcount, cursor.lastrowid, described)

    def close(self) -> None:
        with contextlib.suppress(pymysql.Error):  # closed already
            self.connection.close()

    def prepare(self, limit: float) -> None:
        self.run("SET SESSION time_zone = '+00:00'", {})
        self.run("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED", {})
        self.connection.autocommit(True)
        self._prepared = True

    def abort(self) -> None:
        line = getattr(self.connection, "_sock", None)
        if line is not None:
            with contextlib.suppress(OSError):
                line.shutdown(socket.SHUT_RDWR)

    @property
    def gone(self) -> bool:
        line = getattr(self.connection, "_sock", None)
        descriptor = -1 if line is None else line.fileno()
        return descriptor < 0 or hung_up(descriptor)

    def fault(self, error: BaseException) -> FaultKind | None:
        # PyMySQL lets errors of the socket through as they are
        if isinstance(error, (OSError, pymysql.InterfaceError)):
            return FaultKind.LOST
        if isinstance(error, UnicodeError):
            return FaultKind.ROW
        if not isinstance(error, pymysql.Error):
            return None
        code = error.args[0] if error.args else None
        if code in _LOST or not self.connection.open:
            return FaultKind.LOST
        if code in _CONFLICTS:
            return FaultKind.CONFLICT
        if code in _BUSY:
            return FaultKind.BUSY
        if code == ER.DUP_ENTRY:
            return FaultKind.UNIQUE
        if code in _OF_A_ROW or isinstance(error, pymysql.DataError | pymysql.IntegrityError):
            return FaultKind.ROW
        return FaultKind.REFUSED
