"""Dead letters brought back from the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlclaimgen.live.queues import queue_of, value_of
from sqlclaimgen.rendering import plans
from sqlclaimgen.runtime.care import redrive, row_security

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlclaimgen.description.model import Table
    from sqlclaimgen.runtime.care import Redriven

PAGE = 1000
"""Rows brought back in one transaction."""


def reason_against(table: Table, *, oldest: bool) -> str | None:
    """Why a table's dead letters cannot come back, or not the oldest of them; None: they can."""
    made = {statement.name for statement in plans(table)[0].statements}
    if "redrive" not in made:
        return f"{table.key} keeps no dead letters that can come back"
    if oldest and "redrive_oldest" not in made:
        return f"{table.key} has no index that finds its oldest dead letters"
    return None


def sees_a_part(table: Table, connection: Any) -> bool:
    """Whether row level security decides which rows this login sees."""
    return row_security(queue_of(table, plans(table)), connection)


def these(table: Table, connection: Any, ids: Sequence[str]) -> list[Any]:
    """Bring these back, all or none. Raises AlreadyQueued, and ValueError for what is no id."""
    queue = queue_of(table, plans(table))
    return redrive(queue, connection, [value_of(table.id, text) for text in ids])


def oldest(table: Table, connection: Any, limit: int | None) -> Iterator[Redriven[Any]]:
    """Bring back up to `limit`, the oldest first, all of them for None. Yields what each transaction
    brought back."""
    queue = queue_of(table, plans(table))
    stay: dict[Any, str] = {}
    done = 0
    while limit is None or done < limit:
        size = PAGE if limit is None else min(PAGE, limit - done)
        moved = redrive(queue, connection, None, size, stay)
        if moved or moved.kept:
            yield moved
        done += len(moved)
        if len(moved) < size:
            return
