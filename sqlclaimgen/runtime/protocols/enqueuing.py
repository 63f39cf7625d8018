"""Adding rows, always in the caller's transaction."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from sqlclaimgen.runtime.errors import AlreadyQueued, FaultKind, StatementFailed
from sqlclaimgen.runtime.outcomes import checked_delay
from sqlclaimgen.runtime.protocols.outcomes import due_at
from sqlclaimgen.runtime.queue import Bound, Column
from sqlclaimgen.runtime.steps import Protocol
from sqlclaimgen.runtime.values import encoded


def enqueue(bound: Bound, new: Any, delay: timedelta) -> Protocol[Any]:
    """Insert one row and return its id. Raises AlreadyQueued when its dedupe key is in the table."""
    queue = bound.queue
    checked_delay(delay)
    parameters = {column.field: _encoded(bound, column, new) for column in queue.enqueued}
    if queue.retry_after is not None:
        due = due_at(bound.now(), delay)
        parameters[queue.retry_after.field] = bound.codec.encode(queue.retry_after.kind, due)
    try:
        result = yield from bound.run("enqueue", parameters)
    except StatementFailed as error:
        if error.kind is FaultKind.UNIQUE and _names(error, queue.dedupe_index):
            raise _queued(bound, new) from error
        raise
    if result.rows:
        return bound.codec.decode(queue.id_kind, result.rows[0][0])
    if result.count == 0:
        raise _queued(bound, new)
    # MySQL returns nothing: the id is the producer's, or the last one that was generated
    return getattr(new, queue.id_field, result.last_id)


def _encoded(bound: Bound, column: Column, new: Any) -> Any:
    try:
        return encoded(bound.codec, column, getattr(new, column.field))
    except TypeError as error:
        raise TypeError(
            f"{bound.queue.table}: {column.field} of the row to enqueue does not encode: {error}. Give "
            "plain data, a dataclass, a pydantic model, or what the column's own type holds."
        ) from error


def _names(error: StatementFailed, index: str | None) -> bool:
    return index is not None and index in str(error)


def _queued(bound: Bound, new: Any) -> AlreadyQueued:
    name = bound.queue.dedupe_field or "its key"
    return AlreadyQueued(
        f"{bound.queue.table}: a row with {name} = {getattr(new, name, None)!r} is queued already. It "
        "keeps its place; enqueue again once it is finished.",
        table=bound.queue.table,
        statement="enqueue",
    )
