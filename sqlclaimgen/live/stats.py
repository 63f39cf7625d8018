"""What the work tables of a database hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlclaimgen.description.model import Role
from sqlclaimgen.live.queues import queue_of, value_of
from sqlclaimgen.rendering import plans
from sqlclaimgen.runtime.care import Stats, stats
from sqlclaimgen.runtime.protocols import scope as scopes
from sqlclaimgen.statements.planning import scopes as scopes_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlclaimgen.description.model import Table
    from sqlclaimgen.runtime.protocols.scope import Scope


@dataclass(frozen=True, slots=True)
class Look:
    """What was found of one table, or of one group of it."""

    table: str
    scope: str
    """The group, or words for the rest: `whole table`, `no group`."""
    stats: Stats


def look(table: Table, connection: Any, groups: Sequence[str]) -> Iterator[Look]:
    """Count a table, or these groups of it. Raises ValueError for a group the table cannot have."""
    queue = queue_of(table, plans(table))
    for words, scope in _scopes(table, groups):
        yield Look(table.key, words, stats(queue, connection, scope, Stats))


def needs_group(table: Table) -> bool:
    """Whether the table can be counted group by group only: it has no index for the whole."""
    return scopes_of(table) == ("group",)


def _scopes(table: Table, groups: Sequence[str]) -> Iterator[tuple[str, Scope]]:
    made = scopes_of(table)
    if groups:
        column = table.column(Role.GROUP)
        if column is None or "group" not in made:
            raise ValueError(f"{table.key} has no claim of one group")
        for text in groups:
            yield text, scopes.group(value_of(column, text))
        return
    if "table" in made:
        yield "whole table", scopes.TABLE if table.has(Role.GROUP) else scopes.ONLY
    elif "ungrouped" in made:
        yield "no group", scopes.UNGROUPED
