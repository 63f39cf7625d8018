"""The indexes of a table: a statement exists only with its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlclaimgen.description.model import Form, Role, Table
from sqlclaimgen.statements.model import Index
from sqlclaimgen.statements.names import bounded

if TYPE_CHECKING:
    from sqlclaimgen.dialects import Dialect


def _names(table: Table, *roles: Role) -> tuple[str, ...]:
    columns = (table.column(role) for role in roles)
    return tuple(column.name for column in columns if column is not None)


def finished_by(table: Table) -> Role | None:
    """The role that says whether a row is finished; None where finished rows are deleted."""
    if table.has(Role.STATUS):
        return Role.STATUS
    return Role.PROCESSED_AT if table.has(Role.PROCESSED_AT) else None


def claim_index(table: Table, dialect: Dialect, scope: str, where: str | None) -> Index:
    """The index that yields the claim order of `scope` (`group` or `table`)."""
    lead = _names(table, Role.GROUP) if scope == "group" else ()
    order = _names(table, Role.PRIORITY, Role.RETRY_AFTER, Role.ID)
    suffix = "claim" if scope == "group" or not table.has(Role.GROUP) else "claim_table"
    name = bounded(table.name, suffix, dialect)
    serves = suffix
    if dialect.partial_indexes:
        return Index(name, (*lead, *order), serves, where=where)
    finished = finished_by(table)
    equal = _names(table, finished) if finished else ()
    if table.form is Form.LEASE:
        # two branches, free rows and expired ones, each with its own range of this column
        equal += _names(table, Role.LOCKED_UNTIL)
    return Index(name, (*lead, *equal, *order), serves)


def indexes(table: Table, dialect: Dialect, where: str | None) -> tuple[Index, ...]:
    """Every index of the table but the primary key."""
    made = [claim_index(table, dialect, scope, where) for scope in table.claims]
    if table.has(Role.DEDUPE_KEY):
        made.append(
            Index(
                bounded(table.name, "dedupe", dialect),
                _names(table, Role.DEDUPE_KEY),
                "enqueue",
                unique=True,
            )
        )
    return tuple(made)
