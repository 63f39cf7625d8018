"""What a table holds: due, delayed, in work, dead, and how long the oldest due row has waited."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeVar

from sqlclaimgen.runtime.protocols.scope import Scope
from sqlclaimgen.runtime.queue import Bound
from sqlclaimgen.runtime.steps import Protocol

CAP = 10_000
"""Where counting stops."""


@dataclass(frozen=True, slots=True)
class Count:
    """A number of rows. `more`: counting stopped, and there are more than this."""

    value: int
    more: bool = False

    def __str__(self) -> str:
        return f"{self.value}+" if self.more else str(self.value)


@dataclass(frozen=True, slots=True)
class Stats:
    """What a table, or a group of it, holds. None: the table cannot tell."""

    due: Count
    """Rows that a claim may take now."""
    delayed: Count | None
    """Rows that are due later. None without a `retry_after` column."""
    in_work: Count | None
    """Rows that a lease holds. None in the other forms, which write nothing into a row in work: it
    counts as due."""
    dead: Count | None
    """Dead letters of the whole table."""
    oldest_due: datetime | None
    """Since when the oldest of the due rows is due. None when none is, without `retry_after`, and where
    counting stopped before it was known: `due.more` is true then."""
    at: datetime
    """The time of the look."""
    row_security: bool = False
    """Whether row level security decides which rows this login sees: only those are counted."""

    @property
    def oldest_age(self) -> float | None:
        """Seconds that the oldest due row has waited since it was due."""
        if self.oldest_due is None:
            return None
        return max((self.at - self.oldest_due).total_seconds(), 0.0)


@dataclass(frozen=True, slots=True)
class StatsWithDead(Stats):
    """What a table that has dead letters holds, or a group of it."""

    dead: Count
    """Dead letters of the whole table."""


S = TypeVar("S", bound=Stats)


@dataclass(slots=True)
class _Tally:
    due: int = 0
    delayed: int = 0
    in_work: int = 0
    dead: int = 0
    oldest: list[datetime] = field(default_factory=list[datetime])
    oldest_known: bool = True
    more: set[str] = field(default_factory=set[str])

    def count(self, name: str) -> Count:
        value: int = getattr(self, name)
        return Count(min(value, CAP), name in self.more or value > CAP)


def stats(bound: Bound, scope: Scope, kind: type[S]) -> Protocol[S]:
    """Count, into a `kind` of Stats. No statement looks at more than CAP + 1 rows: a table of any size is
    cheap to look at."""
    now = bound.now()
    tally = _Tally()
    parameters: dict[str, Any] = {"now": bound.codec.time(now), "most": CAP + 1}
    group = bound.queue.group
    if scope.group is not None and group is not None:
        parameters["group"] = bound.codec.encode(group.kind, scope.group)
    delayed, leased = "stats_delayed" + scope.suffix, "stats_leased" + scope.suffix
    # a look that stopped leaves open what no other statement counts
    counted = ["due"]
    if bound.queue.retry_after is not None and not bound.has(delayed):
        counted.append("delayed")
    if bound.queue.lease is not None and not bound.has(leased):
        counted.append("in_work")
    by_time = bound.has(delayed)
    for more in (yield from _priorities(bound, scope, parameters)):
        due = yield from bound.run("stats_due" + scope.suffix, {**parameters, **more})
        _read(bound, due.rows[0], counted, tally, by_time=by_time)
        if bound.has(delayed):
            result = yield from bound.run(delayed, {**parameters, **more})
            tally.delayed += int(result.rows[0][0])
    if bound.has(leased):
        result = yield from bound.run(leased, parameters)
        _read(bound, result.rows[0], ["due", "in_work"], tally, by_time=False)
    if bound.has("stats_dead"):
        result = yield from bound.run("stats_dead", parameters)
        tally.dead = int(result.rows[0][0])
    hidden = yield from row_security(bound)
    return kind(
        due=tally.count("due"),
        delayed=tally.count("delayed") if bound.queue.retry_after is not None else None,
        in_work=tally.count("in_work") if bound.queue.lease is not None else None,
        dead=tally.count("dead") if bound.has("stats_dead") else None,
        oldest_due=min(tally.oldest, default=None) if tally.oldest_known else None,
        at=now,
        row_security=hidden,
    )


def row_security(bound: Bound) -> Protocol[bool]:
    """Whether row level security decides which rows this login sees."""
    if not bound.has("row_security"):
        return False
    result = yield from bound.run("row_security", {})
    return bool(result.rows[0][0])


def _priorities(
    bound: Bound, scope: Scope, parameters: dict[str, Any]
) -> Protocol[list[dict[str, Any]]]:
    name = "stats_priorities" + scope.suffix
    if not bound.has(name):
        return [{}]
    result = yield from bound.run(name, parameters)
    return [{"priority": row[0]} for row in result.rows]


def _read(
    bound: Bound, row: Sequence[Any], counted: Sequence[str], tally: _Tally, *, by_time: bool
) -> None:
    """Add what one look found: `counted`, the oldest due time where the table has one, and how many rows
    were looked at. `by_time`: they came in the order of their due times, the oldest first."""
    for name, value in zip(counted, row, strict=False):
        setattr(tally, name, getattr(tally, name) + int(value))
    stopped = int(row[-1]) > CAP
    if stopped:
        tally.more |= set(counted)
    if bound.queue.retry_after is None:
        return
    oldest = row[-2]
    if oldest is not None:
        tally.oldest.append(bound.codec.decode(bound.queue.retry_after.kind, oldest))
    if stopped and not (by_time and oldest is not None):
        tally.oldest_known = False
