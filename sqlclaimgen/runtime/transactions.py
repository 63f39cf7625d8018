"""A transaction on the caller's connection, begun for real on every driver."""

from __future__ import annotations

import contextlib
from collections.abc import Generator

from sqlclaimgen.runtime import blocks
from sqlclaimgen.runtime.connections import Connection
from sqlclaimgen.runtime.driving import drive, session_of


@contextlib.contextmanager
def transaction(conn: Connection) -> Generator[None, None, None]:
    """Commit when the block ends, roll back when it raises: what was settled inside has no outcome then,
    and can be settled otherwise. A commit wakes this process's workers of the tables that were enqueued
    to.

    Inside a transaction that is open already the block is a savepoint of it; inside the block of a row
    lock claim, of the claim's. Drivers' own blocks differ: sqlite3's `with conn` begins nothing, and
    psycopg's closes the connection. Raises ClaimLost when the claim's transaction has ended, and
    StatementFailed when the block's own has, or was aborted by an error that was kept inside.
    """
    session = session_of(conn, table="transaction")
    block = blocks.of(session)
    drive(session, block.enter(), table=block.table)
    try:
        yield
    except BaseException:
        drive(session, block.undo(), table=block.table)
        raise
    drive(session, block.leave(), table=block.table)
