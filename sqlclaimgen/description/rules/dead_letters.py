"""Dead letters: the table or the group that rows go to when they are given up."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlclaimgen.description.model import DeadLetterGroup, DeadLetterTable, Role
from sqlclaimgen.description.rules import defaults, names

if TYPE_CHECKING:
    from sqlclaimgen.description.scope import Scope
    from sqlclaimgen.description.shape import DeadLetterShape

OWN_COLUMNS = {"reason": "reason", "error": "error", "time": "died_at"}
"""The columns a dead-letter table has beside those of its work table, unless they are named."""


def resolve(scope: Scope) -> DeadLetterTable | DeadLetterGroup | None:
    """Where dead letters go."""
    shape = scope.shape.dead_letter
    if shape is None:
        return None
    if scope.shape.max_attempts is None and not scope.findings.is_broken(
        scope.path("max_attempts")
    ):
        scope.error(
            "DEAD-LETTER-NEVER",
            "`dead_letter` is set, and without `max_attempts` no row is ever given up",
            "Write max_attempts = 5, or leave `dead_letter` out.",
            "dead_letter",
        )
    if shape.table is not None and shape.group is not None:
        scope.error(
            "DEAD-LETTER",
            "`dead_letter` names a table and a group",
            "Dead letters go to one place: leave one of the two out.",
            "dead_letter",
        )
    if shape.table is not None:
        return _table(scope, shape, shape.table)
    if shape.group is not None:
        return _group(scope, shape, shape.group)
    if not scope.findings.is_broken(scope.path("dead_letter")):
        scope.error(
            "DEAD-LETTER",
            "`dead_letter` says no place",
            'Write dead_letter = { table = "jobs_dead" } or { group = "escalated" }.',
            "dead_letter",
        )
    return None


def _table(scope: Scope, shape: DeadLetterShape, name: str) -> DeadLetterTable:
    names.check_name(scope, name, "dead-letter table name", "dead_letter", "table")
    if shape.schema_ is not None:
        names.check_name(scope, shape.schema_, "schema name", "dead_letter", "schema")
    own = {key: _own_column(scope, shape, key) for key in OWN_COLUMNS}
    taken = {names.fold(column): column for column in scope.shape.columns}
    for key, column in own.items():
        if column is None:
            continue
        written = getattr(shape, key) is not None
        other = taken.setdefault(names.fold(column), column)
        if other is not column:
            scope.error(
                "DEAD-LETTER-COLUMN",
                f"the dead-letter table `{name}` would have two columns `{column}`: "
                f"its {key} and another",
                f'Name it otherwise, {key} = "dead_{column}", or write {key} = false for none.',
                "dead_letter",
                *([key] if written else []),
            )
    schema = shape.schema_ if shape.schema_ is not None else scope.shape.schema_
    return DeadLetterTable(name, schema, own["reason"], own["error"], own["time"])


def _own_column(scope: Scope, shape: DeadLetterShape, key: str) -> str | None:
    value = getattr(shape, key)
    if value is False:
        return None
    if value is None:
        # A copy, so that it is never the same object as a column's name of equal text.
        return "".join(OWN_COLUMNS[key])
    names.check_name(scope, value, "column name", "dead_letter", key)
    return str(value)


def _group(scope: Scope, shape: DeadLetterShape, group: str | int) -> DeadLetterGroup:
    for key in ("schema", *OWN_COLUMNS):
        if (
            getattr(shape, "schema_" if key == "schema" else key) is not None
            and shape.table is None
        ):
            scope.error(
                "DEAD-LETTER",
                f"`dead_letter.{key}` has no effect: dead letters stay in this table",
                "Leave it out.",
                "dead_letter",
                key,
            )
    at = ("dead_letter", "group")
    column = scope.column(Role.GROUP)
    if column is None:
        if scope.lacks(Role.GROUP):
            scope.error(
                "DEAD-LETTER-GROUP",
                f"dead letters go to a group, and table `{scope.key}` has none",
                'Give a column role = "group", or write dead_letter = { table = ".." }.',
                *at,
            )
        return DeadLetterGroup(group)
    wrong = None if column.name in scope.doubtful else defaults.unfit(group, column.type)
    wrong = wrong or defaults.broken(group)
    if wrong or group == "":
        scope.error(
            "DEAD-LETTER-GROUP",
            f"the dead letters' group {wrong or 'is empty'}",
            f"Write a value that column `{column.name}` can hold.",
            *at,
        )
    _check_companions(scope)
    return DeadLetterGroup(group)


def _check_companions(scope: Scope) -> None:
    group, origin = scope.column(Role.GROUP), scope.column(Role.ORIGIN)
    if scope.lacks(Role.ORIGIN):
        scope.warning(
            "DEAD-LETTER-ORIGIN",
            "dead letters keep no trace of their group, so `redrive` cannot send them back",
            'Add a column for it: origin = { role = "origin" }.',
            "dead_letter",
            "group",
        )
    elif group and origin and origin.type != group.type and origin.name not in scope.doubtful:
        scope.error(
            "ORIGIN-TYPE",
            f"column `{origin.name}` is {origin.type} and keeps values of `{group.name}`, "
            f"which is {group.type}",
            "Leave its type out: it is the group's.",
            "columns",
            origin.name,
            "type",
        )
    dedupe = scope.column(Role.DEDUPE_KEY)
    if dedupe and not dedupe.null:
        scope.error(
            "NULL-OF-ROLE",
            f"column `{dedupe.name}` must be nullable: a dead letter gives its key free",
            "Leave `null` out: a column of role `dedupe_key` is nullable by itself.",
            "columns",
            dedupe.name,
            "null",
        )


def check_origin(scope: Scope) -> None:
    """Refuse an origin column on a table whose dead letters do not stay in it."""
    origin = scope.column(Role.ORIGIN)
    shape = scope.shape.dead_letter
    if origin is None or (shape and shape.group is not None):
        return
    if scope.findings.is_broken(scope.path("dead_letter")):
        return
    scope.error(
        "ORIGIN-UNUSED",
        f"column `{origin.name}` keeps the group of dead letters, and none stay in this table",
        'Write dead_letter = { group = "escalated" }, or take the role from the column.',
        "columns",
        origin.name,
        "role",
    )
