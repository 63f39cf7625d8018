"""Looking after a table: bringing dead letters back, deleting what finished long ago."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlclaimgen.runtime.errors import AlreadyQueued, ClaimError, FaultKind, StatementFailed
from sqlclaimgen.runtime.protocols.claimed import decoded_id
from sqlclaimgen.runtime.protocols.transaction import joining
from sqlclaimgen.runtime.queue import Bound
from sqlclaimgen.runtime.steps import (
    Protocol,
    ReleaseSavepoint,
    Result,
    RollbackToSavepoint,
    Savepoint,
)

PAGE = 1000
"""Rows that one statement of a redrive or a purge concerns, at most."""

_SAVEPOINT = "sqlclaimgen_redrive"


def redrive(bound: Bound, ids: Sequence[Any], *, joined: bool) -> Protocol[list[Any]]:
    """Bring these dead letters back, all or none. Returns the ids of those that were dead letters.
    Raises AlreadyQueued when the id or the key of one is queued again."""
    if joined:
        return (yield from _nested(_all_or_none(bound, ids)))
    return (yield from joining(lambda: _all_or_none(bound, ids), joined=False))


def redrive_oldest(bound: Bound, limit: int, *, joined: bool) -> Protocol[list[Any]]:
    """Bring up to `limit` dead letters back, the oldest first, passing over those whose id or key
    is queued again. Returns their ids."""
    back: list[Any] = []
    while len(back) < limit:
        moved = yield from _one_page(bound, min(limit - len(back), PAGE), joined=joined)
        if not moved:
            break
        back += moved
    return back


def _one_page(bound: Bound, size: int, *, joined: bool) -> Protocol[list[Any]]:
    return (yield from joining(lambda: _page(bound, size), joined=joined))


def _page(bound: Bound, limit: int) -> Protocol[list[Any]]:
    listed = yield from bound.run("redrive_oldest", {"now": _now(bound), "limit": limit})
    if not listed.rows:
        return []
    moved, _ = yield from _move(bound, sorted(row[0] for row in listed.rows))
    return [decoded_id(bound, raw) for raw in moved]


def _all_or_none(bound: Bound, ids: Sequence[Any]) -> Protocol[list[Any]]:
    wanted = sorted(dict.fromkeys(bound.id(one) for one in ids))
    back: list[Any] = []
    for start in range(0, len(wanted), PAGE):
        page = wanted[start : start + PAGE]
        moved, refused = yield from _move(bound, page)
        if refused:
            raise _queued(bound, decoded_id(bound, refused[0]))
        back += moved
    return [decoded_id(bound, raw) for raw in back]


def _move(bound: Bound, ids: Sequence[Any]) -> Protocol[tuple[list[Any], list[Any]]]:
    """The ids that came back, and those that are queued again; as the database spells them."""
    if bound.has("redrive_lock"):
        return (yield from _move_locked(bound, ids))
    result = yield from _write(bound, ids)
    moved = [row[0] for row in result.rows]
    if moved and bound.has("redrive_remove"):
        yield from bound.run("redrive_remove", _named(bound, moved))
    missing = sorted(set(ids) - {bound.id(decoded_id(bound, raw)) for raw in moved})
    if not missing or not bound.has("dead_among"):
        return moved, []
    left = yield from bound.run("dead_among", _named(bound, missing))
    return moved, [row[0] for row in left.rows]


def _move_locked(bound: Bound, ids: Sequence[Any]) -> Protocol[tuple[list[Any], list[Any]]]:
    # where an insert cannot pass over a row: all at once, and one by one when that is refused
    locked = yield from bound.run("redrive_lock", {"now": _now(bound), **_named(bound, ids)})
    found = [row[0] for row in locked.rows]
    moved: list[Any] = found
    refused: list[Any] = []
    try:
        if found:
            yield from _counted(bound, found)
    except StatementFailed as error:
        if error.kind is not FaultKind.UNIQUE:
            raise
        moved = []
        for one in found:
            try:
                yield from _counted(bound, [one])
            except StatementFailed as alone:
                if alone.kind is not FaultKind.UNIQUE:
                    raise
                refused.append(one)
            else:
                moved.append(one)
    if moved and bound.has("redrive_remove"):
        yield from bound.run("redrive_remove", _named(bound, moved))
    return moved, refused


def _counted(bound: Bound, ids: Sequence[Any]) -> Protocol[None]:
    result = yield from _write(bound, ids)
    if result.count != len(ids):
        # never delete what was not copied
        raise ClaimError(
            f"{bound.queue.table}: redrive locked {len(ids)} dead letters and wrote "
            f"{result.count}. Nothing was removed; run it at READ COMMITTED.",
            table=bound.queue.table,
            statement="redrive",
        )


def _write(bound: Bound, ids: Sequence[Any]) -> Protocol[Result]:
    return (yield from bound.run("redrive", {"now": _now(bound), **_named(bound, ids)}))


def _named(bound: Bound, ids: Sequence[Any]) -> dict[str, Any]:
    kind = bound.queue.id_kind
    return bound.codec.ids(kind, sorted(decoded_id(bound, raw) for raw in ids))


def _now(bound: Bound) -> Any:
    column = bound.queue.retry_after
    kind = column.kind if column is not None else "timestamp(6)"
    return bound.codec.encode(kind, bound.now())


def _nested(body: Protocol[list[Any]]) -> Protocol[list[Any]]:
    """`body` in a savepoint of the caller's transaction: a refusal leaves that as it was."""
    yield Savepoint(_SAVEPOINT)
    try:
        value = yield from body
    except GeneratorExit:
        raise
    except BaseException:
        yield RollbackToSavepoint(_SAVEPOINT)
        yield ReleaseSavepoint(_SAVEPOINT)
        raise
    yield ReleaseSavepoint(_SAVEPOINT)
    return value


def _queued(bound: Bound, row: Any) -> AlreadyQueued:
    key = f"its {bound.queue.dedupe_field} or its id" if bound.queue.dedupe_field else "its id"
    return AlreadyQueued(
        f"{bound.queue.table} {row!r}: {key} is queued again, so no dead letter was brought back. "
        "Redrive it once that row is finished, or leave it out.",
        table=bound.queue.table,
        id=row,
        statement="redrive",
    )
