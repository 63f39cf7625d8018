"""Looking for a due row whose key is free, and holding the key: what is before a take.

What one claim reads is bounded, whatever the keys: windows of due rows are read in claim order, and the
keys are looked at behind the LIMIT. When all of them are in use the next claim goes on behind them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
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


@dataclass(frozen=True, slots=True)
class Place:
    """Where the next claim of a scope goes on, after its first window. As it is made: behind that."""

    priority: Any = None
    """None: that of the first window, or the table is not read by priorities."""
    seen: dict[str, Any] | None = None
    """The parameters that name the last row that was looked at; None: no row of the priority was."""
    found: int = 0
    """How many rows were found in this pass."""
    at_once: bool = False
    """Whether a worker goes on without a pause: the pass before ended early, for it found many rows."""


def candidate(
    bound: Bound,
    scope: Scope,
    parameters: dict[str, Any],
    locks: Sequence[Any],
    place: Place | None,
) -> Protocol[tuple[Candidate | None, Place | None]]:
    """The first due row in claim order, of those that are read, whose key could be won, without waiting;
    and where the next claim goes on, None when this one came to the end. `locks` are left out."""
    look = _Look(bound, scope.suffix, locks)
    if bound.has("key_space"):
        space = yield from bound.run("key_space", {})
        look.file = str(space.rows[0][0] or "") if space.rows else ""
    each = [parameters]
    if bound.has("due_priorities" + scope.suffix):
        # delayed rows of a better priority are stepped over, not walked
        listed = yield from bound.run("due_priorities" + scope.suffix, parameters)
        each = [{**parameters, "priority": row[0]} for row in listed.rows]
    if not each:
        return None, None
    won, seen = yield from look.window(each[0], None, windows.FIRST)
    if won is not None:
        # its key may be that of rows before the place: this pass is not the last
        return won, replace(place, found=max(place.found, 1)) if place else None
    return (yield from look.further(each if seen else each[1:], seen, place))


@dataclass(slots=True)
class _Look:
    """One look for a row. `file` is the database whose keys this process keeps; None where the database
    keeps them."""

    bound: Bound
    suffix: str
    locks: Sequence[Any]
    file: str | None = field(default=None)

    def further(
        self, each: Sequence[dict[str, Any]], seen: dict[str, Any] | None, place: Place | None
    ) -> Protocol[tuple[Candidate | None, Place | None]]:
        """Look behind the first window, whose last row is `seen`; or from `place` on, where the last claim
        stopped. `each`: the parameters of each priority that has rows there."""
        place = place or Place()
        if place.found >= windows.MOST_FOUND:
            place = Place(at_once=True)
        each, seen = _from(place, each, seen)
        if each and self.bound.has("by_index" + self.suffix):
            yield from self.bound.run("by_index" + self.suffix, {})
        read = 0
        for here in each:
            while True:
                at = replace(place, priority=here.get("priority"), seen=seen)
                if read >= windows.MOST_READ:
                    return None, at
                width = windows.WIDE if seen else windows.FIRST
                won, seen = yield from self.window(here, seen, width)
                if won is not None:
                    return won, replace(at, found=at.found + 1)
                read += width
                if seen is None:
                    break
        # keys before the place may be free again since
        return None, Place() if place.found else None

    def window(
        self, parameters: dict[str, Any], seen: dict[str, Any] | None, width: int
    ) -> Protocol[tuple[Candidate | None, dict[str, Any] | None]]:
        """What one window brought, the first or the one behind `seen`; else the last row of it, None where
        nothing is due behind it."""
        further = "_further" if seen else ""
        named = {**parameters, **(seen or {}), "window": width, "last": width - 1}
        tried = self._tried if self.file is None else self._kept
        won = yield from tried(f"claim{further}{self.suffix}", named)
        if won is not None:
            return won, None
        last = yield from self.bound.run(f"probe{further}{self.suffix}", named)
        if not last.rows:
            return None, None
        return None, {"seen_value": last.rows[0][0], "seen_id": last.rows[0][-1]}

    def _kept(self, name: str, parameters: dict[str, Any]) -> Protocol[Candidate | None]:
        """What one window brought where the process keeps the keys."""
        file = self.file or ""
        while True:
            used = yield KeysInUse(file)
            left_out = self.bound.codec.left_out([row[0] for row in used.rows])
            result = yield from self.bound.run(name, {**parameters, **left_out})
            if not result.rows:
                return None
            id, key = result.rows[0]
            lock = KeyLock(key, key)
            if (yield HoldKey(file, lock)).rows:
                return Candidate(id, key, lock)

    def _tried(self, name: str, parameters: dict[str, Any]) -> Protocol[Candidate | None]:
        """What one window brought where the database keeps the keys. Where the statement broke off nobody
        knows whether it had won a key, and the connection is closed."""
        bound = self.bound
        try:
            result = yield from bound.run(name, {**parameters, **bound.codec.left_out(self.locks)})
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


def _from(
    place: Place, each: Sequence[dict[str, Any]], seen: dict[str, Any] | None
) -> tuple[Sequence[dict[str, Any]], dict[str, Any] | None]:
    """What is left to read of `each` from `place` on, and the row to read behind, None at the first row."""
    if place.priority is None:
        return each, place.seen or seen
    left = [here for here in each if here["priority"] >= place.priority]
    if len(left) < len(each):
        seen = None  # it is of a better priority
    if left and left[0]["priority"] == place.priority:
        seen = place.seen or seen
    return left, seen


def dropped(lock: KeyLock) -> Protocol[None]:
    """Give a key back that this process keeps."""
    yield DropKey(lock)
