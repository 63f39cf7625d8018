"""Statements that name rows by their ids write no more rows than they were given ids."""

from __future__ import annotations

from typing import Any

from sqlclaimgen.runtime.errors import FaultKind, IdNotUnique
from sqlclaimgen.runtime.queue import Bound
from sqlclaimgen.runtime.steps import Protocol, Rollback


def at_most(
    bound: Bound, statement: str, written: int, ids: int, row: Any = None
) -> Protocol[None]:
    """Raise IdNotUnique when a statement wrote more rows than `ids`, after a rollback of whatever
    transaction is open: an error that is kept inside must not commit the other row's end."""
    if written > ids:
        yield Rollback()
        raise not_unique(bound, statement, f"it wrote {written} rows for {ids} ids", row)


def not_unique(bound: Bound, statement: str, what: str, row: Any = None) -> IdNotUnique:
    """The error of a statement that met two rows of one id."""
    table, column = bound.queue.table, bound.queue.id_field
    where = table if row is None else f"{table} {row!r}"
    return IdNotUnique(
        f"{where}: {statement} met two rows with one {column}: {what}. The transaction was rolled back. "
        f"Create a unique index on {column} alone, or describe another column as the id.",
        table=table,
        kind=FaultKind.REFUSED,
        id=row,
        statement=statement,
    )
