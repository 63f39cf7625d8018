"""Groups in order: only the head of a group is taken, and nothing while a row of it is in work.

What decides is a statement that begins after the group's guard is held: a test in the statement that
takes the guard reads what was committed before it, and handed out two rows of a group (FO-01, FO-03).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from sqlclaimgen.runtime.errors import FaultKind, StatementFailed
from sqlclaimgen.runtime.protocols.claimed import Claimed, claimed
from sqlclaimgen.runtime.protocols.scope import TABLE, Scope
from sqlclaimgen.runtime.queue import Bound
from sqlclaimgen.runtime.steps import Close, Protocol

T = TypeVar("T")

BUDGET = 1000
"""Groups that one claim looks at before it leaves the rest to the next one."""


@dataclass(frozen=True, slots=True)
class Turn:
    """Where claims over all groups go on, so that groups are served in turn. Values are as the
    database spells them; None stands before the first group."""

    after: Any = None
    start: Any = None
    """Where the circle began that is being gone round: it ends there."""
    wrapped: bool = False
    """Whether the circle has come past the last group."""
    alone_first: bool = False
    """Whether rows without a group come first this time."""


@dataclass(slots=True)
class Found:
    """What a claim of FIFO groups brought, in the order the groups were looked at."""

    rows: list[Claimed]
    limit: int
    turn: Turn | None = None
    more: bool = False
    """Whether groups were left that nothing was asked of."""
    raced: bool = False
    """Whether others were faster at every group that was guarded."""


def keeps_order(bound: Bound, scope: Scope) -> bool:
    """Whether a claim of `scope` takes heads of groups. A row without a group stands alone, in no
    order (FO-10)."""
    return bound.queue.fifo is not None and (scope.group is not None or scope == TABLE)


class Guards:
    """The guards of a claim: each keeps other claims away from a group until it is released.

    PostgreSQL's end with the transaction; SQLite has one writer and needs none. GET_LOCK of MySQL and
    MariaDB outlives the transaction and ends with the session: a session that is killed rolls back
    and frees its locks, in either order. A claim that comes between the two finds the head's row
    still locked and takes nothing.
    """

    def __init__(self, bound: Bound) -> None:
        self._bound = bound
        self._held: list[Any] = []
        self._doubtful: list[Any] = []

    def take(self, groups: Sequence[Any], limit: int) -> Protocol[list[Any]]:
        """Guard up to `limit` of `groups`, in their order, without waiting; those that others guard are
        passed over. Raises StatementFailed when the server does not say that a guard is ours."""
        bound = self._bound
        if not bound.has("guard"):
            return list(groups[:limit])
        outlives = bound.has("guard_release")
        self._doubtful = list(groups) if outlives else []
        result = yield from bound.run("guard", {**bound.codec.groups(groups), "limit": limit})
        told = {int(row[0]) - 1: row[1:] for row in result.rows}
        granted = [
            groups[place] for place in sorted(told) if all(said == 1 for said in told[place])
        ]
        self._doubtful = [groups[place] for place in told if groups[place] not in granted]
        if outlives:
            self._held += granted
        if self._doubtful:
            raise StatementFailed(
                f"{bound.queue.table}: the server did not say whether the guard of a group was taken "
                f"({self._doubtful[0]!r}). Nothing was claimed; try again.",
                table=bound.queue.table,
                kind=FaultKind.BUSY,
                statement="guard",
            )
        return granted

    def release(self) -> Protocol[None]:
        """Release what outlives the transaction; close the connection when the server does not confirm
        it, which ends its locks."""
        groups = [*self._held, *self._doubtful]
        sure, self._held, self._doubtful = len(self._held), [], []
        if not groups:
            return
        try:
            result = yield from self._bound.run("guard_release", self._bound.codec.groups(groups))
        except StatementFailed:
            yield Close()
            return
        released = {int(row[0]) for row in result.rows if row[1] == 1}
        if not released.issuperset(range(1, sure + 1)):
            yield Close()

    def released_after(self, body: Protocol[T]) -> Protocol[T]:
        """`body`, which ends its transaction, and the release after it, however it ends."""
        value = yield from self.released_on_error(body)
        yield from self.release()
        return value

    def released_on_error(self, body: Protocol[T]) -> Protocol[T]:
        """`body`, and the release when it fails, which ends its transaction too."""
        try:
            return (yield from body)
        except GeneratorExit:
            raise
        except BaseException:
            yield from self.release()
            raise


def heads(
    bound: Bound,
    scope: Scope,
    limit: int,
    parameters: dict[str, Any],
    guards: Guards,
    alone: Callable[[int], Protocol[list[Claimed]]],
    *,
    verb: str = "claim",
    again: bool = True,
) -> Protocol[Found]:
    """The head of one group, or the heads of up to `limit` groups that are free. `alone` claims rows
    that have no group. `verb` begins the names of the statements. `again`: look further in the same
    transaction when others were faster at every group that was guarded; a transaction that stays open
    should not keep guards of groups it has no row of."""
    if scope.group is not None:
        rows: list[Claimed] = []
        if (yield from guards.take([parameters["group"]], 1)):
            result = yield from bound.run(verb + scope.suffix, parameters)
            rows = claimed(bound, result.rows)
        return Found(rows, 1)
    turn: Turn = scope.resume or Turn()
    if not bound.has("claim_ungrouped"):
        return (yield from _round(bound, limit, parameters, guards, turn, verb, again))
    first = (yield from alone(limit)) if turn.alone_first else []
    if len(first) == limit:
        return Found(first, limit, _turned(turn, alone_first=False), more=True)
    found = yield from _round(bound, limit - len(first), parameters, guards, turn, verb, again)
    found.limit, found.rows = limit, [*first, *found.rows]
    if not turn.alone_first and len(found.rows) < limit:
        found.rows += yield from alone(limit - len(found.rows))
    found.turn = _turned(found.turn or turn, alone_first=not turn.alone_first)
    return found


def _turned(turn: Turn, *, alone_first: bool) -> Turn:
    return Turn(turn.after, turn.start, turn.wrapped, alone_first)


def _round(
    bound: Bound,
    limit: int,
    parameters: dict[str, Any],
    guards: Guards,
    turn: Turn,
    verb: str,
    again: bool,
) -> Protocol[Found]:
    circle = _Circle(bound, parameters, turn)
    window = max(8, 4 * limit)
    rows: list[Claimed] = []
    raced = False
    while not rows and circle.going:
        groups: list[Any] = []
        while len(groups) < limit and circle.going:
            ready = yield from circle.look(window)
            window *= 4
            if ready:
                groups += yield from guards.take(ready, limit - len(groups))
        if not groups:
            break
        if len(groups) == limit:
            circle.stop_at(groups[-1])
        result = yield from bound.run(verb + "_table", {**parameters, **bound.codec.groups(groups)})
        rows = _in_order(bound, claimed(bound, result.rows), groups)
        raced = not rows
        if not again:
            break
    turn = circle.turn if rows else circle.rest
    return Found(rows, limit, turn, not circle.over, raced)


def _in_order(bound: Bound, rows: list[Claimed], groups: Sequence[Any]) -> list[Claimed]:
    column = bound.queue.group
    assert column is not None
    index = bound.queue.index(column.field)
    places = {group: place for place, group in enumerate(groups)}
    return sorted(rows, key=lambda row: places.get(row.values[index], len(places)))


class _Circle:
    """One look at every group, from where the last claim stopped: round the end, to where it began."""

    def __init__(self, bound: Bound, parameters: dict[str, Any], turn: Turn) -> None:
        self._bound = bound
        self._parameters = parameters
        self._after = turn.after
        self._start = turn.start
        self._wrapped = self._came_from = turn.wrapped
        self._last = turn.after
        self._left = BUDGET
        self.over = False

    @property
    def going(self) -> bool:
        """Whether there are groups to look at, and leave to."""
        return not self.over and self._left > 0

    @property
    def turn(self) -> Turn:
        """Where the next claim goes on: in this circle where it was cut short, else with a new one."""
        return Turn(self._last, self._last) if self._left > 0 else self.rest

    @property
    def rest(self) -> Turn:
        """Where the next claim goes on when this one took nothing: in this circle still, so that a
        worker whose groups are all locked by somebody else comes to its end, and waits."""
        if self.over:
            return Turn(self._last, self._last)
        return Turn(self._after, self._start, self._wrapped)

    def look(self, window: int) -> Protocol[list[Any]]:
        """The groups among the next `window` that can be claimed."""
        window = min(window, self._left)
        self._came_from = self._wrapped
        ready: list[Any] = []
        result = yield from self._bound.run(
            "walk_first" if self._after is None else "walk",
            {
                **self._parameters,
                "after": self._after,
                "until": self._start if self._wrapped else None,
                "window": window,
            },
        )
        for group, can, beyond in result.rows:
            if beyond:
                self.over = True
                break
            self._after = self._last = group
            self._left -= 1
            if can:
                ready.append(group)
        if not self.over and len(result.rows) < window:
            # the last group: on from the first, unless that is where the circle began
            self.over = self._wrapped or self._start is None
            self._after, self._wrapped = None, True
        return ready

    def stop_at(self, group: Any) -> None:
        """Nothing was asked of the groups behind this one, so the next look begins there."""
        self._after = self._last = group
        self._wrapped, self.over = self._came_from, False
