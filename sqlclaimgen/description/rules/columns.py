"""Columns: role, type, null and what else one column says, resolved."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from sqlclaimgen.description.model import INTEGERS, Column, Kind, Role, StatusValues, Type
from sqlclaimgen.description.roles import ROLES
from sqlclaimgen.description.rules import defaults, spellings

if TYPE_CHECKING:
    from sqlclaimgen.description.column_shape import ColumnShape
    from sqlclaimgen.description.scope import Scope

_FALLBACK = Type(Kind.TEXT)
"""Stands in for a refused type, so that the other rules can go on."""


def resolve(scope: Scope) -> tuple[Column, ...]:
    """The table's columns in the order of the file, fields still unnamed."""
    roles = _roles(scope)
    group = next((name for name, role in roles.items() if role is Role.GROUP), None)
    return tuple(
        _column(scope, name, shape, roles.get(name), scope.shape.columns.get(group or ""))
        for name, shape in scope.shape.columns.items()
    )


def _roles(scope: Scope) -> dict[str, Role]:
    """The role of each column that has one; each role once."""
    taken: dict[Role, str] = {}
    for name, shape in scope.shape.columns.items():
        role = Role(shape.role) if shape.role else None
        if role is None and name == Role.LOCKED_UNTIL.value:
            role = (
                None
                if scope.findings.is_broken(scope.path("columns", name, "role"))
                else Role.LOCKED_UNTIL
            )
        if role is None:
            continue
        if role not in taken:
            taken[role] = name
        elif role is Role.ID:
            scope.error(
                "ID-COMPOSITE",
                f"columns `{taken[role]}` and `{name}` have role `id`, and an id is one column",
                'Add a column that identifies the row alone ({ role = "id", type = "bigint", '
                "generated = true }) and keep the others unique in the database.",
                "columns",
                name,
                "role",
            )
        else:
            scope.error(
                "ROLE-TWICE",
                f"columns `{taken[role]}` and `{name}` both play role `{role}`",
                "A role belongs to one column: take it from one of them."
                if shape.role
                else "A column called `locked_until` plays that role: rename it, or take the role "
                f"from `{taken[role]}`.",
                "columns",
                name,
                *(["role"] if shape.role else []),
            )
    return {name: role for role, name in taken.items()}


def _column(
    scope: Scope, name: str, shape: ColumnShape, role: Role | None, group: ColumnShape | None
) -> Column:
    rule = ROLES[role] if role else None
    type_ = _type(scope, name, shape, role, group)
    null = _null(scope, name, shape, role)
    _generated(scope, name, shape, role, type_)
    status = _status(scope, name, shape, role, type_ or _FALLBACK)
    default, default_now = defaults.resolve(scope, name, shape, rule, type_, status)
    python = spellings.python_type(scope, name, shape, role)
    spellings.check_sql(scope, name, shape)
    if type_ is None:
        scope.doubtful.add(name)
    return Column(
        name=name,
        field=name,
        type=type_ or _FALLBACK,
        role=role,
        null=null,
        generated=shape.generated,
        default=default,
        default_now=default_now,
        sql=MappingProxyType(dict(shape.sql)),
        python=python,
        status=status,
    )


def _type(
    scope: Scope, name: str, shape: ColumnShape, role: Role | None, group: ColumnShape | None
) -> Type | None:
    rule = ROLES[role] if role else None
    if scope.findings.is_broken(scope.path("columns", name, "type")):
        return None
    if shape.type is None:
        if role is Role.STATUS and shape.status and isinstance(shape.status.pending, int):
            return Type(Kind.SMALLINT)
        if role is Role.ORIGIN and group and group.type:
            return group.type
        if rule and rule.type:
            return rule.type
        if not scope.findings.is_broken(scope.path("columns", name, "role")):
            scope.error(
                "TYPE-MISSING",
                f"column `{name}` has no type"
                + (f", and role `{role}` gives none" if role else ""),
                'Write one: type = "bigint", "text", "json" or another of the reference.',
                "columns",
                name,
            )
        return None
    if rule and rule.kinds is not None and shape.type.kind not in rule.kinds:
        kinds = " or ".join(kind.value for kind in Kind if kind in rule.kinds)
        unasked = "" if shape.role else " (a column called `locked_until` plays it unasked)"
        scope.error(
            "TYPE-OF-ROLE",
            f"column `{name}` is {shape.type}, and role `{role}`{unasked} needs {kinds}",
            f'Write type = "{rule.type or sorted(rule.kinds)[0]}", '
            "or give the role to another column.",
            "columns",
            name,
            "type",
        )
        return None
    return shape.type


def _null(scope: Scope, name: str, shape: ColumnShape, role: Role | None) -> bool:
    if role is None:
        return bool(shape.null)
    rule = ROLES[role]
    if shape.null is None or shape.null == rule.null:
        return rule.null
    if rule.fixed is None:
        return shape.null
    word = "must be nullable" if rule.null else "must not be nullable"
    scope.error(
        "NULL-OF-ROLE",
        f"column `{name}` has role `{role}` and {word}: {rule.fixed}",
        f"Leave `null` out: the role makes the column {'nullable' if rule.null else 'not null'}.",
        "columns",
        name,
        "null",
    )
    return rule.null


def _generated(
    scope: Scope, name: str, shape: ColumnShape, role: Role | None, type_: Type | None
) -> None:
    if not shape.generated:
        return
    if role is not Role.ID:
        if scope.findings.is_broken(scope.path("columns", name, "role")):
            return
        what = f"column `{name}` is generated, and only the id may be"
        hint = 'Give it role = "id", or a `default`.'
    elif type_ and type_.kind not in INTEGERS:
        what = f"column `{name}` is {type_}, and databases number rows in integers only"
        hint = "Leave `generated` out and pass the id with each new row (uuid.uuid4())."
    else:
        return
    scope.error("GENERATED", what, hint, "columns", name, "generated")


def _status(
    scope: Scope, name: str, shape: ColumnShape, role: Role | None, type_: Type
) -> StatusValues | None:
    at = ("columns", name, "status")
    if role is not Role.STATUS:
        if shape.status and not scope.findings.is_broken(scope.path("columns", name, "role")):
            scope.error(
                "STATUS",
                f"column `{name}` has no role `status`, so `status` has no effect",
                'Give the column role = "status", or leave `status` out.',
                *at,
            )
        return None
    if shape.status is None:
        if type_.kind in INTEGERS and not scope.findings.is_broken(scope.path(*at)):
            scope.error(
                "STATUS",
                f"column `{name}` is {type_}, and `status` does not say its values",
                "Write status = { pending = 0, done = 1, dead = 2 } with the table's own numbers.",
                "columns",
                name,
            )
        return StatusValues("pending", "done", "dead")
    values = StatusValues(shape.status.pending, shape.status.done, shape.status.dead)
    written = {"pending": values.pending, "done": values.done, "dead": values.dead}
    for word, value in written.items():
        wrong = defaults.unfit(value, type_) or defaults.broken(value)
        if wrong:
            scope.error(
                "STATUS",
                f"`{word}` of column `{name}` {wrong}",
                f"Write a value that {type_} can hold.",
                *at,
                word,
            )
    if len(set(written.values())) < len(written):
        scope.error(
            "STATUS",
            f"two values of column `{name}` are equal",
            "Pending, done and dead rows need a value each.",
            *at,
        )
    return values
