"""Which groups a worker claims from, each in its turn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from sqlclaimgen.runtime import values
from sqlclaimgen.runtime.errors import ClaimError
from sqlclaimgen.runtime.protocols.scope import ONLY, TABLE, UNGROUPED, Scope, group
from sqlclaimgen.runtime.queue import Bound, Column


class Scopes:
    """The scopes of one worker, in turn: the one after the last that was looked at comes first, so
    that no group starves behind a busy one."""

    def __init__(
        self,
        bound: Bound,
        groups: Sequence[Any] | None,
        resume: dict[Scope, Any] | None = None,
    ) -> None:
        self._scopes = tuple(_scopes(bound, groups))
        self._next = 0
        self._resume: dict[Scope, Any] = {} if resume is None else resume

    def __len__(self) -> int:
        return len(self._scopes)

    def round(self) -> Iterator[Scope]:
        """Every scope once, beginning after the last one that was yielded."""
        for _ in self._scopes:
            scope = self._scopes[self._next % len(self._scopes)]
            self._next = (self._next + 1) % len(self._scopes)
            yield scope.resuming(self._resume.get(scope))

    def went_on(self, scope: Scope, resume: Any) -> None:
        """Remember where a claim that looks at a part stopped."""
        self._resume[scope] = resume


def _scopes(bound: Bound, groups: Sequence[Any] | None) -> Iterator[Scope]:
    queue = bound.queue
    if queue.group is None:
        if groups is not None:
            raise ClaimError(
                f"{queue.table} has no group column, and the worker was given groups. Leave them out.",
                table=queue.table,
            )
        yield ONLY
        return
    if groups is None:
        if not has_claim(bound, TABLE):
            raise ClaimError(
                f"{queue.table} is claimed one group at a time. Give the worker `groups=[..]`, or add "
                '`claims = ["group", "table"]` to the description and build again.',
                table=queue.table,
            )
        yield TABLE
        return
    if not has_claim(bound, group(None)):
        raise ClaimError(
            f"{queue.table} has no claim of one group. Leave `groups` out, or add "
            '`claims = ["group", "table"]` to the description and build again.',
            table=queue.table,
        )
    for value in groups:
        yield _one(bound, queue.group, value)


def _one(bound: Bound, column: Column, value: object) -> Scope:
    table = bound.queue.table
    if value is None:
        if not has_claim(bound, UNGROUPED):
            raise ClaimError(
                f"{table}: there is a None among `groups`, and every row has a group, for the column "
                f"{column.field} is not nullable. Leave None out.",
                table=table,
            )
        return UNGROUPED
    wanted = values.wanted(column.kind, value)
    if wanted is not None:
        raise ClaimError(
            f"{table}: there is {value!r} among `groups`, and the column {column.field} ({column.kind}) "
            f"holds {wanted}. Give the worker the values that the column has.",
            table=table,
        )
    return group(value)


def has_claim(bound: Bound, scope: Scope) -> bool:
    """Whether the table has the statements of a scope."""
    return bound.has("claim" + scope.suffix) or bound.has("walk" + scope.suffix)
