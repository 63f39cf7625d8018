"""A table of a description as the runtime takes it, without the module that was generated for it."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any
from uuid import UUID

from sqlclaimgen.description.model import FORMAT, INTEGERS, Kind, Role
from sqlclaimgen.runtime.deliveries import Delivery
from sqlclaimgen.runtime.queue import Column as WireColumn
from sqlclaimgen.runtime.queue import Queue
from sqlclaimgen.statements import columns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlclaimgen.description.model import Column, Table
    from sqlclaimgen.statements import Plan


def queue_of(table: Table, plans: Sequence[Plan]) -> Queue[Any, Any, Any, Any]:
    """The queue for what looks after a table. It claims nothing: rows stay plain."""
    dedupe = table.column(Role.DEDUPE_KEY)
    return Queue(
        format=FORMAT,
        table=table.title,
        form=table.form.value,
        delivery=Delivery,
        outcomes=(),
        id_type=object,
        row=dict,
        new=dict,
        columns=[_wire(column) for column in columns.of_row(table)],
        id_field=table.id.field,
        order=(),
        enqueued=(),
        statements={
            plan.dialect.name: {statement.name: statement.text for statement in plan.statements}
            for plan in plans
        },
        lease=timedelta(seconds=table.lease) if table.has(Role.LOCKED_UNTIL) else None,
        retry_after=_role(table, Role.RETRY_AFTER),
        group=_role(table, Role.GROUP),
        dedupe_field=dedupe.field if dedupe else None,
    )


def value_of(column: Column, text: str) -> Any:
    """A value that was written on a command line. Raises ValueError when it is none of the column's."""
    if column.type.kind in INTEGERS:
        return int(text)
    if column.type.kind is Kind.UUID:
        return UUID(text)
    return text


def _role(table: Table, role: Role) -> WireColumn | None:
    column = table.column(role)
    return _wire(column) if column else None


def _wire(column: Column) -> WireColumn:
    return WireColumn(column.field, columns.kind(column))
