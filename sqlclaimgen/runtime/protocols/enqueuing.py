"""Adding rows, always in the caller's transaction."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from sqlclaimgen.runtime.errors import AlreadyQueued, FaultKind, StatementFailed, ValueRefused
from sqlclaimgen.runtime.outcomes import checked_delay
from sqlclaimgen.runtime.protocols.outcomes import due_after
from sqlclaimgen.runtime.queue import Bound, Column
from sqlclaimgen.runtime.steps import Protocol
from sqlclaimgen.runtime.values import check_text, encoded


def enqueue(bound: Bound, new: Any, delay: timedelta, at: datetime | None = None) -> Protocol[Any]:
    """Insert one row and return its id. Raises AlreadyQueued when its dedupe key is in the table, and
    what `parameters` raises."""
    queue = bound.queue
    try:
        result = yield from bound.run("enqueue", parameters(bound, new, delay, at))
    except StatementFailed as error:
        if error.kind is FaultKind.UNIQUE and _names(error, queue.dedupe_index):
            raise _queued(bound, new) from error
        if error.kind in (FaultKind.REFUSED, FaultKind.ROW) or (
            error.kind is FaultKind.UNIQUE and _small_ids(bound)
        ):
            raise _refused(bound, error) from error.__cause__
        raise
    if result.rows:
        return bound.codec.decode(queue.id_kind, result.rows[0][0])
    if result.count == 0:
        raise _queued(bound, new)
    # MySQL returns nothing: the id is the producer's, or the last one that was generated
    return getattr(new, queue.id_field, result.last_id)


def parameters(bound: Bound, new: Any, delay: timedelta, at: datetime | None) -> dict[str, Any]:
    """The parameters of the statement. The row is due at `at`, or after `delay`. Raises TypeError or
    ValueError for what is no New of this table, or has a value that does not encode."""
    queue = bound.queue
    _check_class(bound, new)
    checked_delay(delay)
    values = {column.field: _encoded(bound, column, new) for column in queue.enqueued}
    if queue.retry_after is not None:
        due = due_after(bound, delay) if at is None else _checked_time(bound, at, delay)
        values[queue.retry_after.field] = bound.codec.encode(queue.retry_after.kind, due)
    return values


def _checked_time(bound: Bound, at: datetime, delay: timedelta) -> datetime:
    table = bound.queue.table
    if delay:
        raise ValueError(f"{table}: enqueue takes either delay or at, and was given both.")
    if at.tzinfo is None:
        raise ValueError(
            f"{table}: at is {at!r}, without a time zone, so nobody could say which moment it is."
        )
    return at


def _check_class(bound: Bound, new: object) -> None:
    wanted = bound.queue.new
    if not isinstance(new, wanted):
        raise TypeError(
            f"{bound.queue.table}: enqueue takes a {_named(wanted)}, and was given a {_named(type(new))}."
        )


def _named(kind: type[Any]) -> str:
    module = "" if kind.__module__ == "builtins" else f"{kind.__module__}."
    return module + kind.__qualname__


def _encoded(bound: Bound, column: Column, new: Any) -> Any:
    try:
        value = encoded(bound.codec, column, getattr(new, column.field))
        if isinstance(value, str):
            check_text(value, nul=bound.queue.holds_nul, json=column.kind == "json")
        return value
    except TypeError as error:
        why = str(error).removesuffix(".")
        raise TypeError(
            f"{bound.queue.table}: {column.field} of the row to enqueue does not encode: {why}. Give "
            "plain data, a dataclass, a pydantic model, or what the column's own type holds."
        ) from error
    except ValueError as error:
        why = str(error).removesuffix(".")
        raise ValueRefused(
            f"{bound.queue.table}: {column.field} of the row to enqueue does not encode: {why}.",
            table=bound.queue.table,
            column=column.field,
        ) from error


def _refused(bound: Bound, error: StatementFailed) -> StatementFailed:
    """What the database says of a row it does not take, in its first line: PostgreSQL puts the whole
    row into the next ones. The driver's own error, the cause, has them all."""
    why = str(error.__cause__ or error).strip().partition("\n")[0].removesuffix(".")
    used_up = (
        f" Or the ids that the database generates are used up: {bound.queue.id_field} is a "
        f"{bound.queue.id_kind}, and a bigint lasts."
        if _small_ids(bound)
        else ""
    )
    return StatementFailed(
        f"{bound.queue.table}: enqueue failed: {why}. Either a value does not fit its column, or the live "
        f"table is not the one of the generated DDL.{used_up}",
        table=bound.queue.table,
        kind=error.kind,
        statement=error.statement,
    )


def _small_ids(bound: Bound) -> bool:
    """Whether the database generates ids of which there may be none left."""
    queue = bound.queue
    given = any(column.field == queue.id_field for column in queue.enqueued)
    return not given and queue.id_kind in ("smallint", "int")


def _names(error: StatementFailed, index: str | None) -> bool:
    return index is not None and index in str(error)


def _queued(bound: Bound, new: Any) -> AlreadyQueued:
    name = bound.queue.dedupe_field or "its key"
    return AlreadyQueued(
        f"{bound.queue.table}: a row with {name} = {getattr(new, name, None)!r} is queued already. It "
        "keeps its place; enqueue again once it is finished.",
        table=bound.queue.table,
        statement="enqueue",
        key=getattr(new, name, None),
    )
