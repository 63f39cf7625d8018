"""`<table>.py`: the typed consumer module of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlclaimgen.description.model import (
    FORMAT,
    INTEGERS,
    Column,
    DeadLetterGroup,
    Form,
    Kind,
    Role,
)
from sqlclaimgen.dialects import DIALECTS
from sqlclaimgen.rendering import headers, literals, vendored
from sqlclaimgen.rendering.python_types import Types
from sqlclaimgen.statements import columns
from sqlclaimgen.statements.channels import channel
from sqlclaimgen.statements.planning import scopes, suffix
from sqlclaimgen.templating import environment

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlclaimgen.description import Description
    from sqlclaimgen.description.model import Table
    from sqlclaimgen.statements import Plan

_CONNECTIONS = {
    "postgres": "_runtime.PostgresConnection",
    "mysql": "_runtime.MySQLConnection",
    "mariadb": "_runtime.MySQLConnection",
    "sqlite": "_runtime.SQLiteConnection",
}


def render(description: Description, table: Table, plans: Sequence[Plan]) -> str:
    """The module's text."""
    env = environment("python")
    env.filters["string"] = literals.string
    env.filters["block"] = literals.block
    env.filters["docstring"] = literals.docstring
    types = Types()
    types.collect(table.columns)
    return env.get_template("module.py.j2").render(_context(description, table, plans, types))


def package(description: Description) -> str:
    """The `__init__.py` beside the modules."""
    return f'# {headers.origin(description)}\n"""Consumers of the work tables, a module each."""\n'


def _context(
    description: Description, table: Table, plans: Sequence[Plan], types: Types
) -> dict[str, Any]:
    dialects = [plan.dialect for plan in plans]
    row = columns.of_row(table)
    new = columns.of_new(table)
    outcomes = _outcomes(table)
    retry_after = table.column(Role.RETRY_AFTER)
    group = table.column(Role.GROUP)
    dedupe = table.has(Role.DEDUPE_KEY)
    has_defaults = any(c.type.kind is Kind.UUID and c.generated for c in new)
    annotated = [types.annotation(column) for column in (*row, *new)]
    defaults = [_default(column, types) or "" for column in new]
    said = " ".join([*annotated, *defaults])
    return {
        "header": headers.lines(description, table, [d.name for d in dialects]),
        "titles": _listed([d.title for d in dialects]),
        "table": table,
        "form": table.form.value,
        "format": FORMAT,
        "connections": _union(
            list(dict.fromkeys(_CONNECTIONS[d.name] for d in dialects)), "Connection"
        ),
        "outcomes": outcomes,
        "outcome_union": _union(outcomes, "Outcome"),
        "base": {
            Form.LEASE: "LeaseDelivery",
            Form.ROW_LOCK: "RowLockDelivery",
            Form.ADVISORY_LOCK: "AdvisoryDelivery",
        }[table.form],
        "row": [_field(column, types, None) for column in row],
        "new": [_field(column, types, _default(column, types)) for column in new],
        "row_columns": [_column(column, types) for column in row],
        "new_columns": [_column(column, types) for column in new],
        "id": _field(table.id, types, None),
        "order": [
            c.field
            for c in (table.column(r) for r in (Role.PRIORITY, Role.RETRY_AFTER, Role.ID))
            if c is not None
        ],
        "retry_after": retry_after,
        "group_type": types.plain(group) if group else "",
        "dedupe_field": dedupe,
        "has_attempt": table.has(Role.ATTEMPT),
        "has_last_error": table.has(Role.LAST_ERROR),
        "claims": _claims(table),
        "care": _care(table, plans),
        "exported": sorted(
            [*_exported(table, outcomes), *_care(table, plans)["names"]], key=_as_sorted
        ),
        "lost": _LOST[table.form],
        "joins": _JOINS[table.form],
        "settings": _settings(table, plans, types),
        "column": _listed_column,
        "statements": [(plan.dialect.name, plan.statements) for plan in plans],
        "vendored": vendored.PACKAGE if description.output.runtime == "vendored" else None,
        "imports": types.imports(),
        "uses_uuid": "_uuid." in said or has_defaults,
        "uses_decimal": "_decimal." in said,
    }


_SETTLES = "Settling joins the transaction open on ``conn``, or commits its own."
_JOINS = {
    Form.LEASE: _SETTLES,
    Form.ROW_LOCK: "Settling is part of the claim's transaction: leaving its block commits.",
    Form.ADVISORY_LOCK: _SETTLES,
}
_LOST = {
    Form.LEASE: "Every settlement raises LeaseLost when the row no longer holds its token.",
    Form.ROW_LOCK: "Every settlement raises ClaimLost when the claim's transaction is gone.",
    Form.ADVISORY_LOCK: "Every settlement raises ClaimLost when the key's lock is gone.",
}
_HOW = {
    Form.LEASE: "The claim commits at once; the rows are held by the expiry in them.",
    Form.ROW_LOCK: "The rows are held by a transaction open until the block is left.",
    Form.ADVISORY_LOCK: "The row is held by a lock on its key until the block is left.",
}
_BY_KEY = (
    "Rows with the same key are in work one at a time, of this table or another.",
    "Raises ConnectionBusy when ``conn`` holds another delivery by its key.",
)
_FIFO = {
    "strict": (
        "FIFO: nothing of a group while a row of it is in work, and a head that is not",
        "due holds its group.",
    ),
    "due": (
        "FIFO: nothing of a group while a row of it is in work. A row that is not due lets",
        "the others pass.",
    ),
}


def _by_key(table: Table) -> list[str]:
    """What is said of a claim by key."""
    if table.form is not Form.ADVISORY_LOCK:
        return []
    databases = (DIALECTS[name] for name in table.dialects)
    return [*_BY_KEY, *(line for database in databases for line in database.keys_in_process)]


def _claims(table: Table) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = []
    limited = table.form is not Form.ADVISORY_LOCK
    many = "up to ``limit`` due rows" if limited else "a due row"
    for scope in scopes(table):
        grouped = table.has(Role.GROUP)
        takes = {"group": f"{many} of one group", "ungrouped": f"{many} that have no group"}
        ordered = bool(table.fifo) and scope != "ungrouped"
        if ordered:
            takes = {
                "group": "the head of one group",
                "table": "the heads of up to ``limit`` groups",
            }
        made.append(
            {
                "name": "claim" + suffix(table, scope),
                "group": scope == "group",
                "limit": limited and not (ordered and scope == "group"),
                "takes": takes.get(scope, many),
                "fifo": _FIFO[table.fifo] if ordered and table.fifo else (),
                "turns": ordered and scope == "table",
                "how": _HOW[table.form],
                "by_key": _by_key(table),
                "scope": {
                    "group": "_runtime.group(group)",
                    "ungrouped": "_runtime.UNGROUPED",
                    "table": "_runtime.TABLE" if grouped else "_runtime.ONLY",
                }[scope],
            }
        )
    return made


def _care(table: Table, plans: Sequence[Plan]) -> dict[str, Any]:
    """The functions that look after the table: each exists where its statements do."""
    made = {statement.name for statement in plans[0].statements}
    stats = [
        {
            "name": claim["name"].replace("claim", "stats", 1),
            "group": claim["group"],
            "scope": claim["scope"],
            "of": {"group": " of one group", "ungrouped": " that have no group"}.get(scope, ""),
        }
        for scope, claim in zip(scopes(table), _claims(table), strict=True)
    ]
    names = [name for name in ("redrive", "purge") if name in made]
    return {
        "stats": stats,
        "redrive": "redrive" in made,
        "oldest": "redrive_oldest" in made,
        "purge": "purge" in made,
        "names": [*names, *(one["name"] for one in stats)],
    }


def _exported(table: Table, outcomes: Sequence[str]) -> list[str]:
    made = ["QUEUE", "TABLE", "Connection", "Delivery", "New", "Outcome", "Row"]
    made += ["enqueue", "enqueue_many", *outcomes, *(claim["name"] for claim in _claims(table))]
    if table.form is Form.LEASE:
        made += ["LEASE", "extend", "release"]
    return made


def _as_sorted(name: str) -> tuple[int, str]:
    """Constants, then classes, then functions, as linters want an __all__."""
    return (0 if name.isupper() else 1 if name[0].isupper() else 2, name)


def _settings(table: Table, plans: Sequence[Plan], types: Types) -> list[str]:
    """The keyword arguments of Queue that this table needs, beside those that every table has."""
    made: list[str] = []
    token = table.column(Role.LOCKED_UNTIL)
    if table.form is Form.LEASE:
        made.append("lease=LEASE")
        if token is not None and token.type.precision != 6:
            made.append(f"token_precision={token.type.precision}")
    if table.has(Role.ATTEMPT):
        made.append("counts_attempts=True")
    if table.max_attempts is not None:
        made.append(f"max_attempts={table.max_attempts}")
    if table.retry is not None and table.retry.backoff != "none":
        policy = table.retry
        arguments = (
            literals.string(policy.backoff),
            repr(policy.base),
            repr(policy.max),
            repr(policy.jitter),
        )
        made.append(f"retry={_exploded('_runtime.RetryPolicy', arguments, 4)}")
    partition = table.column(Role.PARTITION_KEY)
    if partition is not None:
        made.append(f"partition={literals.string(partition.field)}")
    for name, role in (("retry_after", Role.RETRY_AFTER), ("group", Role.GROUP)):
        column = table.column(role)
        if column is not None:
            made.append(f"{name}={_called('_runtime.Column', _column(column, types), 4)}")
    if table.clock == "database":
        made.append("database_clock=True")
    if table.isolation is not None:
        made.append(f"isolation={literals.string(table.isolation)}")
    if table.fifo:
        made.append(f"fifo={literals.string(table.fifo)}")
    dedupe = table.column(Role.DEDUPE_KEY)
    if dedupe is not None:
        index = next(i.name for i in plans[0].indexes if i.unique)
        made.append(f"dedupe_field={literals.string(dedupe.field)}")
        made.append(f"dedupe_index={literals.string(index)}")
    if table.notify:
        made.append(f"channel={literals.string(channel(table))}")
    if isinstance(table.dead_letter, DeadLetterGroup):
        made.append(f"dead_group={repr_of(table.dead_letter.group)}")
    return made


def _listed_column(column: dict[str, str | None]) -> str:
    """A column in one of Queue's lists."""
    return _called("_runtime.Column", column, 8)


def _called(name: str, column: dict[str, str | None], indent: int) -> str:
    """A call with one argument a line: the closing comma keeps the formatter from joining them."""
    return _exploded(name, [value for value in column.values() if value is not None], indent)


def _exploded(name: str, arguments: Sequence[str], indent: int) -> str:
    inner = " " * (indent + 4)
    return f"{name}(\n" + "".join(f"{inner}{a},\n" for a in arguments) + " " * indent + ")"


def repr_of(value: str | int) -> str:
    """A group's value as source."""
    return literals.string(value) if isinstance(value, str) else repr(value)


def _outcomes(table: Table) -> list[str]:
    made = ["Ack", "Retry"]
    if table.has(Role.RETRY_AFTER):
        made.append("RetryAfter")
    made.append("Discard")
    if table.dead_letter is not None or table.has(Role.STATUS):
        made.append("DeadLetter")
    return made


def _field(column: Column, types: Types, default: str | None) -> dict[str, str]:
    annotation = types.annotation(column)
    line = f"    {column.field}: {annotation}"
    if default is not None:
        whole = f"{line} = {default}"
        if len(whole) > literals.WIDTH and "\n" not in default:
            whole = f"{line} = (\n        {default}\n    )"
        line = whole
    return {"name": column.field, "annotation": annotation, "line": line}


def _default(column: Column, types: Types) -> str | None:
    if column.type.kind is Kind.UUID and column.generated:
        return "_dataclasses.field(default_factory=_uuid.uuid4)"
    value = column.default
    if value is None:
        return "None" if column.null else None
    if column.type.kind in INTEGERS or isinstance(value, bool | float):
        plain = repr(value)
    else:
        plain = literals.string(str(value))
    call = _CONSTRUCTORS.get(column.type.kind)
    if column.python is not None and column.type.kind is not Kind.JSON:
        return _factory(types.plain(column), f"{call}({plain})" if call else plain)
    return _factory(call, plain) if call else plain


_CONSTRUCTORS = {
    Kind.UUID: "_uuid.UUID",
    Kind.NUMERIC: "_decimal.Decimal",
    Kind.DATE: "_datetime.date.fromisoformat",
    Kind.TIMESTAMP: "_datetime.datetime.fromisoformat",
}


def _factory(call: str, argument: str) -> str:
    """A default made for each row: a call in a class body runs once, which linters do not like."""
    line = f"        default_factory=lambda: {call}({argument}),"
    if len(line) > literals.WIDTH:
        line = f"        default_factory=lambda: {call}(\n            {argument},\n        ),"
    return f"_dataclasses.field(\n{line}\n    )"


def _column(column: Column, types: Types) -> dict[str, str | None]:
    return {
        "field": literals.string(column.field),
        "kind": literals.string(columns.kind(column)),
        "python": types.user[column.python] if column.python else None,
    }


def _listed(words: Sequence[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def _union(members: Sequence[str], name: str) -> str:
    """The right side of an alias, in parentheses where one line does not hold it."""
    line = " | ".join(members)
    if len(f"{name}: _t.TypeAlias = {line}") <= literals.WIDTH:
        return line
    if len(line) + 4 <= literals.WIDTH:
        return f"(\n    {line}\n)"
    return "(\n    " + "\n    | ".join(members) + "\n)"
