"""Looking after a table: bringing dead letters back."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from sqlclaimgen.runtime.errors import AlreadyQueued, ClaimError, FaultKind, StatementFailed
from sqlclaimgen.runtime.protocols import piecewise
from sqlclaimgen.runtime.protocols.claimed import decoded_id
from sqlclaimgen.runtime.protocols.piecewise import Kept
from sqlclaimgen.runtime.protocols.transaction import joining
from sqlclaimgen.runtime.queue import Bound
from sqlclaimgen.runtime.steps import (
    CheckConstraints,
    Protocol,
    ReleaseSavepoint,
    Result,
    RollbackToSavepoint,
    Savepoint,
)

I = TypeVar("I")
T = TypeVar("T")

PAGE = 1000
"""Rows that one statement of a redrive or a purge concerns, at most."""

_SAVEPOINT = "sqlclaimgen_redrive"


class Redriven(list[I]):
    """The ids of the dead letters that came back."""

    kept: tuple[Kept, ...] = ()
    """Those that the database refused to bring back: they are dead letters still."""


@dataclass(slots=True)
class _Moved:
    """What one transaction, or a part of one, did. Ids are as the driver takes them."""

    tried: Sequence[Any] = ()
    back: list[Any] = field(default_factory=list[Any])
    queued: list[Any] = field(default_factory=list[Any])
    """Those whose id or key is in the table."""
    refused: dict[Any, StatementFailed] = field(default_factory=dict[Any, StatementFailed])


def redrive(bound: Bound, ids: Sequence[Any], *, joined: bool) -> Protocol[Redriven[Any]]:
    """Bring these dead letters back, all or none. Returns the ids of those that were dead letters.
    Raises AlreadyQueued when the id or the key of one is queued again, and StatementFailed with its id
    when the database refuses one."""
    if joined:
        return (yield from _nested(_all_or_none(bound, ids, joined=True)))
    return (yield from joining(lambda: _all_or_none(bound, ids, joined=False), joined=False))


def redrive_oldest(
    bound: Bound, limit: int, *, joined: bool, stay: dict[Any, str] | None = None
) -> Protocol[Redriven[Any]]:
    """Bring up to `limit` dead letters back, the oldest first, passing over those whose id or key
    is queued again, and those that the database refuses. Returns the ids of the others.

    `stay` has the letters that were tried before and stay, as the driver takes their ids: they are passed
    over, and those of this call are added.
    """
    stay = {} if stay is None else stay
    back: Redriven[Any] = Redriven()
    kept: list[Kept] = []
    most = PAGE
    while len(back) < limit:
        done = _Moved()
        try:
            yield from _one_page(bound, min(limit - len(back), most), stay, done, joined=joined)
        except StatementFailed as error:
            # SQLite checks deferred foreign keys at the COMMIT, which does not tell the row
            if error.kind not in (FaultKind.ROW, FaultKind.REFUSED) or error.statement != "commit":
                raise
            most = len(done.tried) // 2
            if most:
                continue
            done = _Moved(done.tried, refused={done.tried[0]: error})
        most = PAGE
        if not done.tried:
            break
        refused = {raw: piecewise.words(error) for raw, error in done.refused.items()}
        stay |= dict.fromkeys(set(done.tried) - set(done.back), "") | refused
        back += [decoded_id(bound, raw) for raw in done.back]
        kept += [Kept(decoded_id(bound, raw), said) for raw, said in refused.items()]
    back.kept = tuple(kept)
    return back


def _one_page(
    bound: Bound, limit: int, stay: Collection[Any], done: _Moved, *, joined: bool
) -> Protocol[None]:
    return (
        yield from joining(lambda: _page(bound, limit, stay, done, joined=joined), joined=joined)
    )


def _page(
    bound: Bound, limit: int, stay: Collection[Any], done: _Moved, *, joined: bool
) -> Protocol[None]:
    # what a try found that was undone
    done.tried, done.back, done.queued, done.refused = (), [], [], {}
    parameters = {"now": _due(bound), "limit": limit + len(stay)}
    listed = yield from bound.run("redrive_oldest", parameters)
    found = [_key(bound, row[0]) for row in listed.rows]
    done.tried = sorted([id for id in found if id not in stay][:limit])
    if done.tried:
        yield from _move(bound, done, joined=joined)


def _all_or_none(bound: Bound, ids: Sequence[Any], *, joined: bool) -> Protocol[Redriven[Any]]:
    wanted = sorted(dict.fromkeys(bound.id(one) for one in ids))
    back: Redriven[Any] = Redriven()
    for start in range(0, len(wanted), PAGE):
        done = _Moved(wanted[start : start + PAGE])
        yield from _move(bound, done, joined=joined)
        for id, error in sorted(done.refused.items()):
            raise _refused(bound, decoded_id(bound, id), error) from error
        if done.queued:
            raise _queued(bound, decoded_id(bound, done.queued[0]))
        back += [decoded_id(bound, raw) for raw in done.back]
    return back


def _move(bound: Bound, done: _Moved, *, joined: bool) -> Protocol[None]:
    """Bring `done.tried` back, and say in `done` what became of them."""
    found = done.tried
    if bound.has("redrive_lock"):
        locked = yield from bound.run("redrive_lock", {"now": _due(bound), **_named(bound, found)})
        found = sorted(_key(bound, row[0]) for row in locked.rows)
    if not found:
        return

    def write(ids: Sequence[Any]) -> Protocol[None]:
        result = yield from _write(bound, ids)
        back = [_key(bound, row[0]) for row in result.rows]
        if bound.has("redrive_lock"):
            _compare(bound, len(ids), result.count)
            back = list(ids)
        if back and bound.has("redrive_remove"):
            yield from bound.run("redrive_remove", _named(bound, back))
        if not joined:
            yield CheckConstraints()
        done.back += back

    refused = yield from piecewise.changed(found, write, lambda: _write(bound, [None]))
    for id, error in refused.items():
        if error.kind is FaultKind.UNIQUE:
            done.queued.append(id)
        else:
            done.refused[id] = error
    if done.back and bound.has("redrive_number"):
        yield from bound.run("redrive_number", {"id": max(done.back)})
    missing = sorted(set(found) - set(done.back) - set(refused))
    if missing and bound.has("dead_among"):
        left = yield from bound.run("dead_among", _named(bound, missing))
        done.queued += [_key(bound, row[0]) for row in left.rows]


def _compare(bound: Bound, locked: int, written: int) -> None:
    if written != locked:
        # never delete what was not copied
        raise ClaimError(
            f"{bound.queue.table}: redrive locked {locked} dead letters and wrote "
            f"{written}. Nothing was removed; run it at READ COMMITTED.",
            table=bound.queue.table,
            statement="redrive",
        )


def _write(bound: Bound, ids: Sequence[Any]) -> Protocol[Result]:
    return (yield from bound.run("redrive", {"now": _due(bound), **_named(bound, ids)}))


def _named(bound: Bound, ids: Sequence[Any]) -> dict[str, Any]:
    kind = bound.queue.id_kind
    return bound.codec.ids(kind, [decoded_id(bound, id) for id in ids])


def _key(bound: Bound, raw: Any) -> Any:
    """An id as the driver takes it, from how the database spells it."""
    return bound.id(decoded_id(bound, raw))


def _due(bound: Bound) -> Any:
    """The time from which what comes back is due: now."""
    column = bound.queue.retry_after
    kind = column.kind if column is not None else "timestamp(6)"
    return bound.codec.encode(kind, bound.earliest())


def _nested(body: Protocol[T]) -> Protocol[T]:
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
        f"{bound.queue.table} {row!r}: {key} is queued again, or in the table still, so no dead letter "
        "was brought back. Redrive it once that row is gone, or leave it out. Where the table's ids began "
        "again, give the dead letter another id.",
        table=bound.queue.table,
        id=row,
        statement="redrive",
    )


def _refused(bound: Bound, row: Any, error: StatementFailed) -> StatementFailed:
    return StatementFailed(
        f"{bound.queue.table} {row!r}: redrive failed: {piecewise.words(error).removesuffix('.')}. The "
        "dead letter does not fit the table: a column was added, renamed or narrowed after it was written, "
        "or what it refers to is gone. No dead letter was brought back. Change its values where it is, or "
        "give a new column a default in the description and build; then redrive it again.",
        table=bound.queue.table,
        kind=error.kind,
        id=row,
        statement="redrive",
    )
