"""What a module tells the runtime of its table, as source: the keyword arguments of Queue."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from sqlclaimgen.rendering import literals
from sqlclaimgen.runtime.backoff import RetryPolicy
from sqlclaimgen.runtime.queue import Column as WireColumn
from sqlclaimgen.runtime.queue import Relation
from sqlclaimgen.statements import columns, queues

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlclaimgen.description.model import Column, Table
    from sqlclaimgen.rendering.python_types import Types
    from sqlclaimgen.statements import Plan


def settings(table: Table, plans: Sequence[Plan], types: Types) -> list[str]:
    """The keyword arguments of Queue that this table needs, beside those that every table has."""
    made = queues.settings(table, plans)
    return [f"{name}={_source(table, value, types)}" for name, value in made.items()]


def _source(table: Table, value: Any, types: Types) -> str:
    match value:
        case timedelta():
            return "LEASE"
        case RetryPolicy():
            parts = (value.base, value.most, value.jitter)
            written = [literals.string(value.backoff), *map(repr, parts)]
            return _exploded("_runtime.RetryPolicy", written, 4)
        case WireColumn():
            described = next(one for one in table.columns if one.field == value.field)
            return _called("_runtime.Column", column(described, types), 4)
        case Relation():
            return _relation(value)
        case str():
            return literals.string(value)
        case _:
            return repr(value)


def _relation(relation: Relation) -> str:
    lines = [
        f"            {literals.string(name)}: {literals.string(kind)},\n"
        for name, kind in relation.columns.items()
    ]
    written = [literals.string(relation.name), "{\n" + "".join(lines) + "        }"]
    if relation.schema is not None:
        written.append(f"schema={literals.string(relation.schema)}")
    written.append(f"id={literals.string(relation.id)}")
    if relation.times:
        # the formatter joins a tuple of one where it fits
        line = f"times=({literals.string(relation.times[0])},)"
        if len(relation.times) > 1 or len(line) + 9 > literals.WIDTH:
            inner = "".join(f"            {literals.string(name)},\n" for name in relation.times)
            line = f"times=(\n{inner}        )"
        written.append(line)
    return _exploded("_runtime.Relation", written, 4)


def listed(arguments: dict[str, str | None]) -> str:
    """A column in one of Queue's lists."""
    return _called("_runtime.Column", arguments, 8)


def _called(name: str, given: dict[str, str | None], indent: int) -> str:
    """A call with one argument a line: the closing comma keeps the formatter from joining them."""
    return _exploded(name, [value for value in given.values() if value is not None], indent)


def _exploded(name: str, arguments: Sequence[str], indent: int) -> str:
    inner = " " * (indent + 4)
    return f"{name}(\n" + "".join(f"{inner}{a},\n" for a in arguments) + " " * indent + ")"


def column(described: Column, types: Types) -> dict[str, str | None]:
    """The arguments of a column in Queue."""
    return {
        "field": literals.string(described.field),
        "kind": literals.string(columns.kind(described)),
        "python": types.user[described.python] if described.python else None,
    }
