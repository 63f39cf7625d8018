"""Which rows a claim may take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Scope:
    """One group, the rows without a group, or the whole table. `suffix` ends the names of the
    statements that serve it."""

    suffix: str
    group: Any = None


TABLE = Scope("_table")
"""Every group of a table that has groups."""

UNGROUPED = Scope("_ungrouped")
"""The rows whose group is NULL."""

ONLY = Scope("")
"""A table without groups."""


def group(value: Any) -> Scope:
    """One group."""
    return Scope("", value)
