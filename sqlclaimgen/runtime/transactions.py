"""A transaction on the caller's connection, begun for real on every driver."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from sqlclaimgen.runtime.connections import Connection
from sqlclaimgen.runtime.driving import session_of


@contextlib.contextmanager
def transaction(conn: Connection) -> Iterator[None]:
    """Commit when the block ends, roll back when it raises.

    Inside a transaction that is open already the block is a savepoint of it. Drivers' own blocks
    differ: sqlite3's `with conn` begins nothing, and psycopg's closes the connection.
    """
    session = session_of(conn, table="transaction")
    if session.in_transaction:
        with _savepoint(conn):
            yield
        return
    session.begin("read committed")
    try:
        yield
    except BaseException:
        session.rollback()
        raise
    try:
        session.commit()
    except BaseException:
        session.rollback()
        raise


@contextlib.contextmanager
def _savepoint(conn: Connection) -> Iterator[None]:
    session = session_of(conn, table="transaction")
    session.run("SAVEPOINT sqlclaimgen_nested", {})
    try:
        yield
    except BaseException:
        session.run("ROLLBACK TO SAVEPOINT sqlclaimgen_nested", {})
        session.run("RELEASE SAVEPOINT sqlclaimgen_nested", {})
        raise
    session.run("RELEASE SAVEPOINT sqlclaimgen_nested", {})
