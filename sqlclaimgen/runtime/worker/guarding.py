"""A connection in a handler's hands refuses to commit: its transaction ends with the settlement."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Generator
from typing import Any

from sqlclaimgen.runtime.errors import CommitRefused, FaultKind, StatementFailed
from sqlclaimgen.runtime.protocols import handler_transaction
from sqlclaimgen.runtime.worker.sessions import AsyncSession

_NAMES = ("commit", "rollback", "begin", "close")


def require_open(session: AsyncSession, table: str, id: object, *, commits: bool) -> None:
    """Raise when a transactional handler's transaction is over, and where the outcome `commits` it also
    when it cannot be committed: a COMMIT of an aborted one would be a silent ROLLBACK. Asks nobody."""
    if session.aborted:
        if not commits:
            return
        raise StatementFailed(
            f"{table} {id!r}: a statement of the handler failed and aborted its transaction, and the "
            "handler went on. Let the error out, or run the statement in a savepoint.",
            table=table,
            id=id,
            kind=FaultKind.ABORTED,
        )
    if not session.in_transaction:
        raise handler_transaction.over(table, id)


def _refuse(name: str) -> Any:
    def refused(*args: Any, **kwargs: Any) -> None:
        raise CommitRefused(
            f"{name}() on the connection of a transactional handler: its transaction is committed with "
            "the ack and rolled back with anything else. Return an outcome, or raise.",
            table="",
            statement=name,
        )

    return refused


@contextlib.contextmanager
def commits_refused(connection: Any) -> Generator[None]:
    """While the block runs, the connection's own commit, rollback and close raise CommitRefused."""
    if isinstance(connection, sqlite3.Connection):
        # a type of C, whose methods cannot be shadowed: the engine itself refuses
        connection.set_authorizer(_authorize)
        try:
            yield
        finally:
            connection.set_authorizer(None)
        return
    shadowed = [name for name in _NAMES if hasattr(connection, name)]
    for name in shadowed:
        setattr(connection, name, _refuse(name))
    try:
        yield
    finally:
        for name in shadowed:
            delattr(connection, name)


def _authorize(action: int, first: str | None, *rest: Any) -> int:
    if action == sqlite3.SQLITE_TRANSACTION:
        return sqlite3.SQLITE_DENY
    return sqlite3.SQLITE_OK
