"""What the runtime is told of a table: the arguments of Queue, for its module and for the command line."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from sqlclaimgen.description.model import FORMAT, DeadLetterGroup, DeadLetterTable, Form, Role
from sqlclaimgen.runtime.backoff import RetryPolicy
from sqlclaimgen.runtime.queue import Column as WireColumn
from sqlclaimgen.runtime.queue import Relation
from sqlclaimgen.statements import columns
from sqlclaimgen.statements.channels import channel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlclaimgen.description.model import Column, Table
    from sqlclaimgen.statements.model import Plan


def arguments(table: Table, plans: Sequence[Plan]) -> dict[str, Any]:
    """The keyword arguments of Queue that every table has, without the types of its module."""
    ordered = (table.column(role) for role in (Role.PRIORITY, Role.RETRY_AFTER, Role.ID))
    return {
        "format": FORMAT,
        "table": table.title,
        "form": table.form.value,
        "columns": tuple(wire(column) for column in columns.of_row(table)),
        "id_field": table.id.field,
        "order": tuple(column.field for column in ordered if column is not None),
        "enqueued": tuple(wire(column) for column in columns.of_new(table)),
        "statements": {
            plan.dialect.name: {statement.name: statement.text for statement in plan.statements}
            for plan in plans
        },
    }


def settings(table: Table, plans: Sequence[Plan]) -> dict[str, Any]:
    """The keyword arguments of Queue that this table needs besides, in the order of its module."""
    made: dict[str, Any] = {}
    token = table.column(Role.LOCKED_UNTIL)
    if table.form is Form.LEASE:
        made["lease"] = timedelta(seconds=table.lease)
        if token is not None and token.type.precision is not None and token.type.precision != 6:
            made["token_precision"] = token.type.precision
    if table.has(Role.ATTEMPT):
        made["counts_attempts"] = True
    if table.max_attempts is not None:
        made["max_attempts"] = table.max_attempts
    policy = table.retry
    if policy is not None and policy.backoff != "none":
        made["retry"] = RetryPolicy(policy.backoff, policy.base, policy.max, policy.jitter)
    partition = table.column(Role.PARTITION_KEY)
    if partition is not None:
        made["partition"] = partition.field
    for name, role in (("retry_after", Role.RETRY_AFTER), ("group", Role.GROUP)):
        played = table.column(role)
        if played is not None:
            made[name] = wire(played)
    length = _error_length(table, plans)
    if length is not None:
        made["error_length"] = length
        if not isinstance(table.dead_letter, DeadLetterTable):
            made["letter_length"] = length
    made["work"] = _relation(table, table)
    if isinstance(table.dead_letter, DeadLetterTable):
        made["dead"] = _relation(table, table.dead_letter)
    if table.clock == "database":
        made["database_clock"] = True
    if table.isolation is not None:
        made["isolation"] = table.isolation
    if table.fifo:
        made["fifo"] = table.fifo
    dedupe = table.column(Role.DEDUPE_KEY)
    if dedupe is not None:
        # the runtime looks for it in the errors of the databases that cannot pass over a second row
        plan = next((p for p in plans if not p.dialect.partial_indexes), plans[0])
        made["dedupe_field"] = dedupe.field
        made["dedupe_index"] = next(index.name for index in plan.indexes if index.unique)
    if table.notify:
        made["channel"] = channel(table)
    if isinstance(table.dead_letter, DeadLetterGroup):
        made["dead_group"] = table.dead_letter.group
    return made


_TIMES = (Role.RETRY_AFTER, Role.LOCKED_UNTIL, Role.PROCESSED_AT)


def _relation(table: Table, live: Table | DeadLetterTable) -> Relation:
    """A table of the database, with the columns that it should have."""
    made = {column.name: columns.kind(column) for column in table.columns}
    times = tuple(column.name for column in table.columns if column.role in _TIMES)
    if isinstance(live, DeadLetterTable):
        times = ()
        made |= {name: "text" for name in (live.reason, live.error) if name}
        made |= {live.time: "timestamp(6)"} if live.time else {}
    return Relation(live.name, made, schema=live.schema, id=table.id.name, times=times)


def _error_length(table: Table, plans: Sequence[Plan]) -> int | None:
    """How many characters the column of the last error holds, on the database where it holds the fewest."""
    column = table.column(Role.LAST_ERROR)
    if column is None:
        return None
    spelled = (columns.spelled(table, column, plan.dialect) for plan in plans)
    found = [re.search(r"char[^(]*\((\d+)\)", text, re.IGNORECASE) for text in spelled]
    return min((int(one[1]) for one in found if one is not None), default=None)


def wire(column: Column) -> WireColumn:
    """A column as the runtime takes it. What it holds stays plain: its Python type is the module's."""
    return WireColumn(column.field, columns.kind(column))
