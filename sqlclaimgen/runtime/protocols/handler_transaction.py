"""The transaction that a transactional handler works in: begun before it, and the same one after it."""

from __future__ import annotations

from sqlclaimgen.runtime.errors import CommitRefused, FaultKind, StatementFailed
from sqlclaimgen.runtime.steps import (
    Begin,
    Protocol,
    ReleaseSavepoint,
    Rollback,
    Savepoint,
)

SAVEPOINT = "sqlclaimgen_handler"
"""There as long as the transaction is: a deadlock that the handler keeps to itself has rolled all of it
back on MySQL and MariaDB, and an ack would commit alone."""


def begun(isolation: str | None, first: Protocol[None] | None = None) -> Protocol[None]:
    """Open it, and run `first` in it before anything that may be undone."""
    yield Begin(isolation)
    try:
        if first is not None:
            yield from first
        yield Savepoint(SAVEPOINT)
    except GeneratorExit:
        raise
    except BaseException:
        yield Rollback()
        raise


def proven(table: str, id: object) -> Protocol[None]:
    """Raise CommitRefused when the open transaction is another one, or none."""
    try:
        yield ReleaseSavepoint(SAVEPOINT)
    except StatementFailed as error:
        if error.kind in (FaultKind.LOST, FaultKind.ABORTED, FaultKind.CONFLICT):
            raise
        raise over(table, id) from error


def over(table: str, id: object) -> CommitRefused:
    """The handler's transaction ended under it."""
    return CommitRefused(
        f"{table} {id!r}: the transaction of the handler is over before its ack: by a COMMIT or ROLLBACK "
        "in its SQL, by a statement that commits by itself (DDL on MySQL), by a deadlock whose error the "
        "handler kept to itself, or with its connection. What it wrote is not committed with the ack.",
        table=table,
        id=id,
    )
