"""A transaction on the caller's connection, begun for real on every driver."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Generator

from sqlclaimgen.runtime import batches, joined, publishing
from sqlclaimgen.runtime.batches import Batch
from sqlclaimgen.runtime.connections import Connection
from sqlclaimgen.runtime.drivers.base import Session
from sqlclaimgen.runtime.driving import drive, session_of
from sqlclaimgen.runtime.held_by_transaction import ended
from sqlclaimgen.runtime.protocols import nesting

# MySQL forgets an outer savepoint when an inner one takes its name
_numbers = itertools.count(1)


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
    claim = batches.on(conn)
    if claim is not None:
        if not session.in_transaction:
            claim.lose()
            raise ended(claim)
        with _inside(session, claim):
            yield
        return
    # asked: after a deadlock PyMySQL still says that a transaction is open
    if session.in_transaction and session.asked_in_transaction():
        with _savepoint(session):
            yield
        return
    session.begin("read committed")
    try:
        joined.begun(session)
    except BaseException:
        session.rollback()
        raise
    try:
        yield
        joined.prove(session)
        session.commit()
    except BaseException:
        joined.undone(session)
        session.rollback()
        raise
    publishing.committed(joined.kept(session))


def _name() -> str:
    return f"sqlclaimgen_nested_{next(_numbers)}"


@contextlib.contextmanager
def _savepoint(session: Session) -> Generator[None, None, None]:
    name = _name()
    session.run(f"SAVEPOINT {name}", {})
    joined.begun(session)
    try:
        yield
        joined.prove(session)
        session.run(f"RELEASE SAVEPOINT {name}", {})
    except BaseException:
        joined.undone(session)
        # where it is gone with its transaction the block around tells
        with contextlib.suppress(Exception):
            session.run(f"ROLLBACK TO SAVEPOINT {name}", {})
            session.run(f"RELEASE SAVEPOINT {name}", {})
        raise
    joined.kept(session)


@contextlib.contextmanager
def _inside(session: Session, claim: Batch) -> Generator[None, None, None]:
    try:
        drive(session, nesting.enter(claim, _name()), table=claim.table)
    except nesting.Gone as error:
        claim.lose()
        raise ended(claim) from error.__cause__
    try:
        yield
    except BaseException:
        drive(session, nesting.undo(claim), table=claim.table)
        raise
    drive(session, nesting.leave(claim), table=claim.table)
