"""Keys that are understood and checked, and whose effect is still to come."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlclaimgen.description.findings import Findings
    from sqlclaimgen.description.shape import FileShape, TableShape


@dataclass(frozen=True, slots=True)
class NotServed:
    """A key, the values of it that are not served, and what to do until they are."""

    keys: tuple[str, ...]
    refuses: Callable[[TableShape], bool]
    way_out: str


NOT_SERVED: tuple[NotServed, ...] = (
    NotServed(
        ("commit_order",),
        lambda table: table.commit_order,
        "Leave it out: rows are claimed in order of priority, time and id.",
    ),
    NotServed(
        ("mode",),
        lambda table: table.mode is not None,
        "Leave it out: write transactions begin with BEGIN IMMEDIATE.",
    ),
)
"""Remove an entry with the change that serves its key."""


def check(shape: FileShape, findings: Findings) -> None:
    """Refuse keys whose effect is still to come."""
    for key, table in shape.table.items():
        for entry in NOT_SERVED:
            if entry.refuses(table):
                findings.error(
                    "NOT-SERVED-YET",
                    f"`{'.'.join(entry.keys)}` of table `{key}` is understood, and not served yet",
                    entry.way_out,
                    ("table", key, *entry.keys),
                )
