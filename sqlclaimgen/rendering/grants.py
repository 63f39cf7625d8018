"""The rights that logins need on a table, and no more."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sqlclaimgen.description.model import DeadLetterTable

if TYPE_CHECKING:
    from sqlclaimgen.description.model import Table


class Grant(NamedTuple):
    """What one kind of login is granted."""

    login: str
    does: str
    work: str
    """On the work table."""
    dead: str
    """On the table of its dead letters; empty: nothing."""


def grants(table: Table) -> list[Grant]:
    """By kind of login. Nothing is needed beside: no sequence, no right on the whole server."""
    buried = isinstance(table.dead_letter, DeadLetterTable)
    return [
        Grant("producers", "`enqueue`", "SELECT, INSERT", ""),
        Grant(
            "workers",
            "claims, extensions and settlements, in a worker and by hand",
            "SELECT, UPDATE, DELETE",
            "SELECT, INSERT, UPDATE" if buried else "",
        ),
        Grant(
            "operators",
            "`stats`, `redrive`, `purge`",
            "SELECT, INSERT, UPDATE, DELETE",
            "SELECT, UPDATE, DELETE" if buried else "",
        ),
    ]
