"""A table of a description as the runtime takes it, without the module that was generated for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID

from sqlclaimgen.description.model import INTEGERS, Kind
from sqlclaimgen.runtime.deliveries import Delivery
from sqlclaimgen.runtime.queue import Queue
from sqlclaimgen.statements import queues

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlclaimgen.description.model import Column, Table
    from sqlclaimgen.statements import Plan


def queue_of(table: Table, plans: Sequence[Plan]) -> Queue[Any, Any, Any, Any]:
    """The queue for what looks after a table: the one of its module, but for the module's types. It
    claims nothing: rows stay plain."""
    return Queue(
        delivery=Delivery,
        outcomes=(),
        id_type=object,
        row=dict,
        new=dict,
        **queues.arguments(table, plans),
        **queues.settings(table, plans),
    )


def value_of(column: Column, text: str) -> Any:
    """A value that was written on a command line. Raises ValueError when it is none of the column's."""
    try:
        if column.type.kind in INTEGERS:
            value = int(text)
            if not -(2**63) <= value < 2**63:
                raise ValueError
            return value
        return UUID(text) if column.type.kind is Kind.UUID else text
    except ValueError:
        raise ValueError(f"`{text:.80}` is no {column.type}") from None
