"""Looking for a due row whose key is free, and holding the key: what is before a take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlclaimgen.runtime.errors import FaultKind, StatementFailed
from sqlclaimgen.runtime.keys import KeyLock
from sqlclaimgen.runtime.protocols import windows
from sqlclaimgen.runtime.protocols.scope import Scope
from sqlclaimgen.runtime.queue import Bound
from sqlclaimgen.runtime.steps import Close, DropKey, HoldKey, KeysInUse, Protocol


@dataclass(frozen=True, slots=True)
class Candidate:
    """A row whose key is held now. It may have been settled before the key was won."""

    id: Any
    """As the database spells it."""
    raw_key: Any
    lock: KeyLock

    @property
    def named(self) -> dict[str, Any]:
        """The parameters that name the row and its key."""
        name = self.lock.name
        return {"id": self.id, "key_text": self.raw_key, "lock": name, "lock_name": name}


def candidate(
    bound: Bound, scope: Scope, parameters: dict[str, Any], locks: Sequence[Any]
) -> Protocol[Candidate | None]:
    """The first due row in claim order whose key could be won, without waiting. `locks` are left out."""
    if bound.has("key_space"):
        return (yield from _in_process(bound, scope, parameters))
    if not bound.has("due_priorities" + scope.suffix):
        return (yield from _windows(bound, scope, parameters, locks))
    # delayed rows of a better priority are stepped over, not walked
    listed = yield from bound.run("due_priorities" + scope.suffix, parameters)
    for row in listed.rows:
        here = {**parameters, "priority": row[0]}
        found = yield from _windows(bound, scope, here, locks)
        if found is not None:
            return found
    return None


def _in_process(
    bound: Bound, scope: Scope, parameters: dict[str, Any]
) -> Protocol[Candidate | None]:
    """Where the process keeps the keys."""
    space = yield from bound.run("key_space", {})
    file = str(space.rows[0][0] or "") if space.rows else ""
    while True:
        used = yield KeysInUse(file)
        left_out = bound.codec.left_out([row[0] for row in used.rows])
        result = yield from bound.run("claim" + scope.suffix, {**parameters, **left_out})
        if not result.rows:
            return None
        id, key = result.rows[0]
        lock = KeyLock(key, key)
        if (yield HoldKey(file, lock)).rows:
            return Candidate(id, key, lock)


def _windows(
    bound: Bound, scope: Scope, parameters: dict[str, Any], locks: Sequence[Any]
) -> Protocol[Candidate | None]:
    """Window by window, each wider than the last: all keys of the first may be in use (ST-01)."""
    known = bound.has("locks_in_use")
    window = windows.of_keys(free=not known)
    left_out: Sequence[Any] = locks
    while True:
        named = {**parameters, **bound.codec.left_out(left_out), "window": window}
        found = yield from _tried(bound, scope, named)
        if found is not None:
            return found
        beyond = yield from bound.run(
            "probe" + scope.suffix, {**named, "window": window + 1, "last": window}
        )
        if not beyond.rows:
            return None
        if known:
            used = yield from bound.run("locks_in_use", {})
            left_out = [*locks, *(row[0] for row in used.rows)]
        window = windows.of_more_keys(window)


def _tried(bound: Bound, scope: Scope, parameters: dict[str, Any]) -> Protocol[Candidate | None]:
    """What one window brought. Where the statement broke off nobody knows whether it had won a key,
    and the connection is closed."""
    name = "claim" + scope.suffix
    try:
        result = yield from bound.run(name, parameters)
    except GeneratorExit:
        raise
    except BaseException as error:
        # refused: before it ran
        kind = error.kind if isinstance(error, StatementFailed) else None
        if kind not in (FaultKind.REFUSED, FaultKind.ROW):
            yield Close()
        raise
    if not result.rows:
        return None
    id, raw_key, lock_name, session = result.rows[0]
    key = raw_key.decode() if isinstance(raw_key, bytes) else str(raw_key)
    if session is None:
        yield Close()
        raise StatementFailed(
            f"{bound.queue.table}: the database gave no answer for the lock of the key {key!r}, so the "
            "connection was closed.",
            table=bound.queue.table,
            kind=FaultKind.LOST,
            statement=name,
        )
    return Candidate(id, raw_key, KeyLock(key, lock_name, session))


def dropped(lock: KeyLock) -> Protocol[None]:
    """Give a key back that this process keeps."""
    yield DropKey(lock)
