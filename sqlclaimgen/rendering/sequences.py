"""The claim of a table as a Mermaid sequence diagram, and its statements in words."""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING

from sqlclaimgen.description.model import Form, Role
from sqlclaimgen.rendering.markdown import code, listed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlclaimgen.description.model import Table
    from sqlclaimgen.statements import Plan

_AFTER = frozenset({"extend", "release", "give_back", "holding", "present", "unlock", "ack"})
"""The first statement that is no part of a claim, whatever the form."""


def diagram(table: Table, database: str) -> list[str]:
    """The lines below `sequenceDiagram`."""
    lines = [
        "autonumber",
        "participant P as Producer",
        "participant W as Worker",
        f"participant D as {database}",
        "P->>D: enqueue, in the producer's own transaction",
    ]
    bodies = {Form.LEASE: _lease, Form.ROW_LOCK: _row_lock, Form.ADVISORY_LOCK: _advisory}
    return [*lines, *_indented(bodies[table.form](table))]


def _indented(lines: list[str]) -> list[str]:
    """What stands inside of a block is set in."""
    depth = 0
    made: list[str] = []
    for line in lines:
        word = line.partition(" ")[0]
        depth -= word in ("end", "else")
        made.append("    " * depth + line)
        depth += word in ("loop", "alt", "else")
    return made


def _guarded(table: Table, begin: str) -> list[str]:
    """The claim's statements up to its rows."""
    if not table.fifo:
        return [f"W->>D: {begin}, claim"]
    return [
        f"W->>D: {begin}, guard",
        "Note over W,D: no other claim takes a row of this group until this transaction has ended",
        "W->>D: claim, a fresh statement that sees the head of the group",
    ]


def _given_up(table: Table) -> list[str]:
    if table.max_attempts is None or table.form is Form.ROW_LOCK:
        return []
    return [f"Note over D: rows whose crashes used up {table.max_attempts} attempts are given up"]


def _counting(table: Table) -> str:
    return " and attempt + 1" if table.has(Role.ATTEMPT) else ""


def _settling(table: Table) -> list[str]:
    failing = "retry"
    if table.has(Role.RETRY_AFTER):
        failing += " or retry_after"
    if table.max_attempts is not None:
        failing += ", at the last attempt dead_letter"
    return [
        "alt the handler returns",
        "W->>D: ack",
        "else it fails",
        f"W->>D: {failing}",
        "end",
    ]


def _lease(table: Table) -> list[str]:
    return [
        *_guarded(table, "BEGIN"),
        *_given_up(table),
        f"Note over D: locked_until = now + {table.lease} s{_counting(table)}",
        "W->>D: COMMIT",
        "D-->>W: rows",
        "Note over W: handlers run, no connection held",
        f"loop every {table.lease / 2:g} s while a handler runs",
        "W->>D: extend, COMMIT",
        "end",
        *_settling(table),
        "Note over D: written only while the row holds this delivery's token",
        "W->>D: COMMIT",
    ]


def _row_lock(table: Table) -> list[str]:
    return [
        *_guarded(table, "BEGIN"),
        "D-->>W: a row, locked",
        "Note over W,D: the handler runs, the transaction stays open",
        *_settling(table),
        "W->>D: COMMIT",
        "Note over D: the row and its outcome change in one commit",
    ]


def _advisory(table: Table) -> list[str]:
    return [
        "W->>D: BEGIN, claim",
        "D-->>W: a due row whose key nobody holds, and the lock on its key",
        "W->>D: take",
        f"Note over D: the row is read again under its whole condition{_counting(table)}",
        *_given_up(table),
        "W->>D: COMMIT",
        "D-->>W: the row",
        "Note over W,D: the handler runs, the key stays locked, no transaction is open",
        *_settling(table),
        "W->>D: COMMIT",
        "W->>D: unlock",
    ]


def in_words(table: Table, plans: Sequence[Plan]) -> list[str]:
    """The statements of a claim in the order in which they run, by database."""
    made: dict[tuple[str, ...], list[str]] = {}
    for plan in plans:
        names = (statement.name for statement in plan.statements)
        claim = tuple(takewhile(lambda name: name not in _AFTER, names))
        made.setdefault(claim, []).append(plan.dialect.title)
    return [
        f"- {listed(titles)}: {', '.join(code(name) for name in names)}."
        for names, titles in made.items()
    ]
