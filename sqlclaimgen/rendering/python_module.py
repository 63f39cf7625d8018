"""`<table>.py`: the typed consumer module of a table."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from sqlclaimgen.description.model import (
    FORMAT,
    INTEGERS,
    Column,
    Form,
    Kind,
    Role,
)
from sqlclaimgen.rendering import (
    headers,
    literals,
    python_claims,
    python_settings,
    vendored,
)
from sqlclaimgen.rendering.python_types import Types
from sqlclaimgen.statements import columns, queues, retrying
from sqlclaimgen.templating import environment, folder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlclaimgen.description import Description
    from sqlclaimgen.description.model import Table
    from sqlclaimgen.dialects.base import Dialect
    from sqlclaimgen.statements import Plan


def render(description: Description, table: Table, plans: Sequence[Plan]) -> str:
    """The module's text."""
    env = environment("python")
    env.filters["string"] = literals.string
    env.filters["block"] = literals.block
    env.filters["docstring"] = literals.docstring
    source = (folder("templates") / "python" / "module.py.j2").read_text(encoding="utf-8")
    types = Types(reserved=frozenset(re.findall(r"\b_\w+", source)))
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
            list(dict.fromkeys(f"_runtime.{d.connection}" for d in dialects)), "Connection"
        ),
        "async_connections": _union(_asynchronous(dialects), "AsyncConnection"),
        "faces": python_claims.faces(asynchronous=bool(_asynchronous(dialects))),
        "dialects": [d.name for d in dialects],
        "outcomes": outcomes,
        "outcome_union": _union(outcomes, "Outcome"),
        "base": {
            Form.LEASE: "LeaseDelivery",
            Form.ROW_LOCK: "RowLockDelivery",
            Form.ADVISORY_LOCK: "AdvisoryDelivery",
        }[table.form],
        "row": [_field(column, types.annotation(column), None) for column in row],
        "new": [_field(column, types.given(column), _default(column, types)) for column in new],
        "row_columns": [python_settings.column(column, types) for column in row],
        "new_columns": [python_settings.column(column, types) for column in new],
        "id": _field(table.id, types.annotation(table.id), None),
        "order": queues.arguments(table, plans)["order"],
        "retry_after": retry_after,
        "retried": retrying.place(table),
        "group_type": types.plain(group) if group else "",
        "dedupe_field": dedupe,
        "has_attempt": table.has(Role.ATTEMPT),
        "has_last_error": table.has(Role.LAST_ERROR),
        "claims": python_claims.claims(table),
        "care": python_claims.care(table, plans),
        "exported": sorted(
            _exported(table, plans, outcomes),
            key=_as_sorted,
        ),
        "lost": python_claims.LOST[table.form],
        "joins": python_claims.JOINS[table.form],
        "settings": python_settings.settings(table, plans, types),
        "column": python_settings.listed,
        "statements": [(plan.dialect.name, plan.statements) for plan in plans],
        "vendored": vendored.PACKAGE if description.output.runtime == "vendored" else None,
        "imports": types.imports(),
        "uses_uuid": "_uuid." in said or has_defaults,
        "uses_datetime": table.form is Form.LEASE
        or retry_after is not None
        or python_claims.care(table, plans)["purge"]
        or "_datetime." in said,
        "uses_decimal": "_decimal." in said,
    }


def _exported(table: Table, plans: Sequence[Plan], outcomes: Sequence[str]) -> list[str]:
    made = [
        "QUEUE",
        "TABLE",
        "Connection",
        "Delivery",
        "New",
        "Outcome",
        "Row",
        "insert",
        *outcomes,
    ]
    functions = [
        "enqueue",
        "enqueue_many",
        *(claim["name"] for claim in python_claims.claims(table)),
        *python_claims.care(table, plans)["names"],
    ]
    if table.form is Form.LEASE:
        made.append("LEASE")
        functions += ["extend", "release"]
    if _asynchronous([plan.dialect for plan in plans]):
        made.append("AsyncConnection")
        functions += [f"{name}_async" for name in functions]
    return [*made, *functions]


def _asynchronous(dialects: Sequence[Dialect]) -> list[str]:
    """The types of the asyncio connections that are served."""
    return list(
        dict.fromkeys(f"_runtime.{d.async_connection}" for d in dialects if d.async_connection)
    )


def _as_sorted(name: str) -> tuple[int, str]:
    """Constants, then classes, then functions, as linters want an __all__."""
    return (0 if name.isupper() else 1 if name[0].isupper() else 2, name)


def _outcomes(table: Table) -> list[str]:
    made = ["Ack", "Retry"]
    if table.has(Role.RETRY_AFTER):
        made.append("RetryAfter")
    made.append("Discard")
    if table.dead_letter is not None or table.has(Role.STATUS):
        made.append("DeadLetter")
    return made


def _field(column: Column, annotation: str, default: str | None) -> dict[str, str]:
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
        return "None" if column.null or column.default_now else None
    if column.type.kind is Kind.DOUBLE:
        plain = repr(float(value)).replace("e+", "e")
    elif column.type.kind in INTEGERS or isinstance(value, bool):
        plain = repr(value)
    elif column.type.kind is Kind.NUMERIC and re.fullmatch("-?[1-9][0-9]*|0", str(value)):
        # linters want no text where a number does
        plain = str(value)
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
