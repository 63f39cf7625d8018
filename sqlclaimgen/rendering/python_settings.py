"""What a module tells the runtime of its table: the keyword arguments of Queue."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlclaimgen.description.model import Column, DeadLetterGroup, Form, Role
from sqlclaimgen.rendering import literals
from sqlclaimgen.statements import columns
from sqlclaimgen.statements.channels import channel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlclaimgen.description.model import Table
    from sqlclaimgen.rendering.python_types import Types
    from sqlclaimgen.statements import Plan


def settings(table: Table, plans: Sequence[Plan], types: Types) -> list[str]:
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
        played = table.column(role)
        if played is not None:
            made.append(f"{name}={_called('_runtime.Column', column(played, types), 4)}")
    if table.clock == "database":
        made.append("database_clock=True")
    if table.isolation is not None:
        made.append(f"isolation={literals.string(table.isolation)}")
    if table.fifo:
        made.append(f"fifo={literals.string(table.fifo)}")
    dedupe = table.column(Role.DEDUPE_KEY)
    if dedupe is not None:
        # the runtime looks for it in the errors of the databases that cannot pass over a second row
        plan = next((p for p in plans if not p.dialect.partial_indexes), plans[0])
        index = next(i.name for i in plan.indexes if i.unique)
        made.append(f"dedupe_field={literals.string(dedupe.field)}")
        made.append(f"dedupe_index={literals.string(index)}")
    if table.notify:
        made.append(f"channel={literals.string(channel(table))}")
    if isinstance(table.dead_letter, DeadLetterGroup):
        made.append(f"dead_group={repr_of(table.dead_letter.group)}")
    return made


def listed(arguments: dict[str, str | None]) -> str:
    """A column in one of Queue's lists."""
    return _called("_runtime.Column", arguments, 8)


def _called(name: str, given: dict[str, str | None], indent: int) -> str:
    """A call with one argument a line: the closing comma keeps the formatter from joining them."""
    return _exploded(name, [value for value in given.values() if value is not None], indent)


def _exploded(name: str, arguments: Sequence[str], indent: int) -> str:
    inner = " " * (indent + 4)
    return f"{name}(\n" + "".join(f"{inner}{a},\n" for a in arguments) + " " * indent + ")"


def repr_of(value: str | int) -> str:
    """A group's value as source."""
    return literals.string(value) if isinstance(value, str) else repr(value)


def column(described: Column, types: Types) -> dict[str, str | None]:
    """The arguments of a column in Queue."""
    return {
        "field": literals.string(described.field),
        "kind": literals.string(columns.kind(described)),
        "python": types.user[described.python] if described.python else None,
    }
