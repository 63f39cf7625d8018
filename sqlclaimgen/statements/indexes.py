"""The indexes of a table: a statement exists only with its own."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from sqlclaimgen.description.model import Form, Role, Table
from sqlclaimgen.statements import care_indexes
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


def claim_index(
    table: Table, dialect: Dialect, scope: str, where: str | None, alive: str | None = None
) -> Index:
    """The index that yields the claim order of `scope` (`group` or `table`). `where` tells unfinished
    rows, `alive` those that are no dead letters of this table's own."""
    lead = _names(table, Role.GROUP) if scope == "group" else ()
    order = _names(table, Role.PRIORITY, Role.RETRY_AFTER, Role.ID)
    suffix = "claim" if scope == "group" or not table.has(Role.GROUP) else "claim_table"
    name = bounded(table.name, suffix, dialect)
    if dialect.partial_indexes:
        narrow = _both(dialect, alive, where) if scope == "table" else where
        return Index(name, (*lead, *order), (suffix,), where=narrow)
    finished = finished_by(table)
    equal = _names(table, finished) if finished else ()
    if table.form is Form.LEASE:
        # two branches, free rows and expired ones, each with its own range of this column
        equal += _names(table, Role.LOCKED_UNTIL)
    return Index(name, (*lead, *equal, *order), (suffix,))


def fifo_indexes(table: Table, dialect: Dialect, where: str | None) -> list[Index]:
    """The indexes of a table whose groups are kept in order: the order inside a group, the rows in
    work by group (lease form), and the claim order of the rows that have no group."""
    group = _names(table, Role.GROUP)
    finished = finished_by(table)
    lead = _names(table, finished) if finished and not dialect.partial_indexes else ()
    delayed = (Role.RETRY_AFTER,) if table.fifo == "due" else ()
    inside = _names(table, Role.PRIORITY, *delayed, Role.ID)
    walks = ["claim_table", "walk"] if "table" in table.claims else []
    claims = ["claim"] if "group" in table.claims else []
    served = ", ".join(claims + walks)
    made = [
        Index(
            bounded(table.name, "claim", dialect),
            (*lead, *group, *inside),
            (f"finding the head of a group ({served})",),
            where=_both(dialect, where, None),
            uses=("order",),
        )
    ]
    held = _names(table, Role.LOCKED_UNTIL)
    if table.form is Form.LEASE:
        made.append(
            Index(
                bounded(table.name, "work", dialect),
                (*lead, *group, *held),
                (f"seeing whether a group is in work ({served})",),
                where=_both(dialect, where, f"{dialect.quote(held[0])} IS NOT NULL"),
                uses=("work",),
            )
        )
    column = table.column(Role.GROUP)
    if column is not None and column.null:
        made.append(ungrouped_index(table, dialect, where))
    return made


def ungrouped_index(table: Table, dialect: Dialect, where: str | None) -> Index:
    """The claim order of the rows that have no group. PostgreSQL takes `IS NULL` for no constant, and
    would sort them all below the lock: an index of these rows alone has them in order."""
    group = _names(table, Role.GROUP)
    columns = claim_index(table, dialect, "group", where).columns
    if dialect.partial_indexes:
        columns = columns[1:]
    missing = _both(dialect, f"{dialect.quote(group[0])} IS NULL", where)
    name = bounded(table.name, "claim_ungrouped", dialect)
    return Index(name, columns, ("claim_ungrouped",), where=missing)


def _both(dialect: Dialect, one: str | None, other: str | None) -> str | None:
    """The condition of a partial index, where the database has those."""
    given = [c for c in (one, other) if c]
    return " AND ".join(given) if given and dialect.partial_indexes else None


def indexes(
    table: Table, dialect: Dialect, where: str | None, alive: str | None
) -> tuple[Index, ...]:
    """Every index of the table but the primary key."""
    if table.fifo:
        made = fifo_indexes(table, dialect, where)
    else:
        made = [claim_index(table, dialect, scope, where, alive) for scope in table.claims]
        group = table.column(Role.GROUP)
        if group is not None and group.null and "group" in table.claims and dialect.partial_indexes:
            made.append(ungrouped_index(table, dialect, where))
    # an order by id alone is the primary key's
    made = [index for index in made if index.where or index.columns != (table.id.name,)]
    if table.has(Role.DEDUPE_KEY):
        made.append(
            Index(
                bounded(table.name, "dedupe", dialect),
                _names(table, Role.DEDUPE_KEY),
                ("enqueue",),
                unique=True,
            )
        )
    made += care_indexes.of_table(table, dialect)
    return _each_once(made)


def _each_once(made: list[Index]) -> tuple[Index, ...]:
    """Without those that another one covers, which serves what they would have served. A second index
    on the same columns costs every write, and the servers warn of it (1831)."""
    kept: dict[str, Index] = {index.name: index for index in made}
    for index in made:
        others = [other for other in made if other is not index and other.covers(index)]
        # of two that are equal the first stays
        longest = max([index, *others], key=lambda one: (len(one.columns), -made.index(one)))
        if longest is not index:
            del kept[index.name]
            kept[longest.name] = dataclasses.replace(
                kept[longest.name],
                serves=(*kept[longest.name].serves, *index.serves),
                uses=(*kept[longest.name].uses, *index.uses),
            )
    return tuple(kept.values())
