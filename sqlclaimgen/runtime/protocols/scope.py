"""Which rows a claim may take."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any


@dataclass(frozen=True, slots=True)
class Scope:
    """One group, the rows without a group, or the whole table. `suffix` ends the names of the
    statements that serve it."""

    suffix: str
    group: Any = None
    resume: Any = field(default=None, compare=False)
    """Where a claim that looks at a part goes on: what the last one left in `Taken.resume`."""

    def resuming(self, resume: Any) -> Scope:
        """The same rows, going on where a claim left off."""
        return replace(self, resume=resume)


TABLE = Scope("_table")
"""Every group of a table that has groups."""

UNGROUPED = Scope("_ungrouped")
"""The rows whose group is NULL."""

ONLY = Scope("")
"""A table without groups."""


def group(value: Any) -> Scope:
    """One group."""
    return Scope("", value)
