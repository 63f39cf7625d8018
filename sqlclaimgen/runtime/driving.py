"""Running a protocol on a connection, blocking."""

from __future__ import annotations

import re
import sys
from typing import Any, TypeVar

from sqlclaimgen.runtime.drivers.base import Session, State
from sqlclaimgen.runtime.drivers.foreign import unserved
from sqlclaimgen.runtime.errors import FaultKind, StatementFailed, UnsupportedServer
from sqlclaimgen.runtime.steps import Protocol, Result, Run, Step

T = TypeVar("T")

_WAYS_OUT = {
    FaultKind.LOST: "The connection is gone; open a new one.",
    FaultKind.CONFLICT: "Nothing of it was written; try again.",
    FaultKind.BUSY: "Nothing of it was written; try again.",
    FaultKind.ABORTED: "An earlier error aborted this transaction; roll it back.",
    FaultKind.UNIQUE: "A row with the same key exists.",
    FaultKind.ROW: "It concerns this row alone: mend the row, or what refuses it.",
    FaultKind.REFUSED: "Where it names a table, a column or an index, compare the live table with "
    "the generated DDL.",
}


def session_of(connection: Any, *, table: str) -> Session:
    """The session for a blocking connection, by its class. Raises UnsupportedServer for anything else."""
    psycopg = sys.modules.get("psycopg")
    if psycopg is not None and isinstance(connection, psycopg.Connection):
        from sqlclaimgen.runtime.drivers.psycopg import PsycopgSession

        refuse_pipeline(connection, table=table)
        return PsycopgSession(connection)
    pymysql = sys.modules.get("pymysql")
    if pymysql is not None and isinstance(connection, pymysql.connections.Connection):
        from sqlclaimgen.runtime.drivers.pymysql import PyMySQLSession

        return PyMySQLSession(connection)
    sqlite3 = sys.modules.get("sqlite3")
    if sqlite3 is not None and isinstance(connection, sqlite3.Connection):
        from sqlclaimgen.runtime.drivers.sqlite import SQLiteSession

        return SQLiteSession(connection)
    raise unserved(connection, table=table)


def refuse_pipeline(connection: Any, *, table: str) -> None:
    """Raise UnsupportedServer for a psycopg connection in pipeline mode."""
    if connection.info.pipeline_status:
        # claimed rows would not be read, and every settlement would look like one that counted
        raise UnsupportedServer(
            f"{table}: this connection is in pipeline mode, where answers come later than they are "
            "needed here. Leave its pipeline() block first, or use another connection.",
            table=table,
        )


def failure(table: str, step: Step, error: BaseException, kind: FaultKind) -> StatementFailed:
    """The runtime's error for a driver's: which table, which row, which statement, what to do."""
    name = step.statement if isinstance(step, Run) else _words(type(step).__name__)
    row = step.id if isinstance(step, Run) else None
    where = f"{table} {row!r}" if row is not None else table
    return StatementFailed(
        f"{where}: {name} failed: {str(error).rstrip().removesuffix('.')}. {_WAYS_OUT[kind]}",
        table=table,
        kind=kind,
        id=row,
        statement=name,
    )


def _words(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", " ", name).lower()


def translated(state: State, table: str | None, step: Step, caught: BaseException) -> BaseException:
    """What a protocol is told when a step failed: StatementFailed for a driver's error, where a table is
    named."""
    kind = state.fault(caught)
    if kind is None or table is None:
        return caught
    error = failure(table, step, caught, kind)
    error.__cause__ = caught
    return error


def drive(session: Session, protocol: Protocol[T], *, table: str | None) -> T:
    """Run a protocol to its end on one connection. A driver's error reaches it as StatementFailed, or as
    it is where no table is named."""
    result: Result | None = None
    error: BaseException | None = None
    while True:
        try:
            step = protocol.throw(error) if error else protocol.send(result)  # type: ignore[arg-type]
        except StopIteration as stop:
            value: T = stop.value
            return value
        result, error = None, None
        try:
            result = session.execute(step)
        except BaseException as caught:
            error = translated(session, table, step, caught)
