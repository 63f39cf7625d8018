"""What a claim's rows look like, and the order they are handed out in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlclaimgen.runtime.protocols.counted import not_unique
from sqlclaimgen.runtime.queue import Bound
from sqlclaimgen.runtime.steps import Values


@dataclass(frozen=True, slots=True)
class Claimed:
    """One row of a claim's answer, taken apart: the columns of the Row, then the attempt where the
    table counts, then what the form adds."""

    id: Any
    """As the database spells it."""
    attempt: int
    """As the statement returned it."""
    values: Values
    rest: Values


def claimed(bound: Bound, rows: Sequence[Values]) -> list[Claimed]:
    """The rows of a claim, in claim order. Raises IdNotUnique when two of them have one id."""
    queue = bound.queue
    width = len(queue.columns)
    id_index = queue.index(queue.id_field)
    counted = 1 if queue.counts_attempts else 0
    found = [
        Claimed(
            id=row[id_index],
            attempt=int(row[width]) if counted else 1,
            values=tuple(row[:width]),
            rest=tuple(row[width + counted :]),
        )
        for row in rows
    ]
    if len({row.id for row in found}) != len(found):
        raise not_unique(bound, "claim", "two of one claim")
    if bound.codec.unordered:
        places = [queue.index(field) for field in queue.order]
        found.sort(key=lambda one: tuple(_place(one.values[n]) for n in places))
    return found


def _place(value: Any) -> tuple[int, Any]:
    """Where a value sorts in a database whose columns hold any type: SQLite's order of types."""
    match value:
        case None:
            return 0, 0
        case int() | float():
            return 1, value
        case str():
            return 2, value
        case _:
            return 3, value


def decoded_id(bound: Bound, raw: Any) -> Any:
    """An id as Python sees it; as the database spells it where that is no id of its type: such a row
    fails when it is looked at, alone, and can still be settled."""
    try:
        return bound.codec.decode(bound.queue.id_kind, raw)
    except (TypeError, ValueError):
        return raw
