"""`stats` and `redrive`: what an operator asks of, and does to, tables on a server."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING, Any

from sqlclaimgen.cli import console, described
from sqlclaimgen.cli.console import DIFFERENT, FINE, Format, counted, fail, out

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence
    from pathlib import Path

    from sqlclaimgen.live.stats import Look
    from sqlclaimgen.runtime.protocols.stats import Count, Stats

_HEADS = ("table", "rows", "due", "delayed", "in work", "dead", "oldest due")


@contextlib.contextmanager
def _connection(dsn: str) -> Generator[Any]:
    from sqlclaimgen.live.connecting import DsnRefused, connect
    from sqlclaimgen.runtime.errors import ClaimError

    try:
        connection = connect(dsn)
    except DsnRefused as refused:
        fail(str(refused), refused.hint)
    try:
        yield connection
    except ClaimError as error:
        fail(str(error))
    finally:
        connection.close()


def stats(path: Path, keys: list[str], groups: list[str], dsn: str, form: Format) -> int:
    """Print what tables hold. Returns the exit code."""
    from sqlclaimgen.live.stats import look, needs_group

    description = described.read(path)
    tables = [described.table(description, key) for key in keys] or list(description.tables)
    for table in tables:
        if needs_group(table) and not groups:
            fail(
                f"{table.key} is read group by group",
                'Add --group, or write claims = ["group", "table"] in the description.',
            )
    found: list[Look] = []
    with _connection(dsn) as connection:
        for table in tables:
            try:
                found += look(table, connection, groups)
            except ValueError as error:
                fail(str(error), f"Leave --group out for {table.key}, or name one of its groups.")
    for key in dict.fromkeys(one.table for one in found if one.stats.row_security):
        _warn_of_row_security(key)
    if form is Format.JSON:
        console.out_json([_json(one) for one in found])
        return FINE
    rows = [_HEADS, *(_cells(one) for one in found)]
    widths = [max(len(row[n]) for row in rows) for n in range(len(_HEADS))]
    for n, row in enumerate(rows):
        line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        out(line.rstrip(), "bold" if n == 0 else None)
    return FINE


def _warn_of_row_security(key: str) -> None:
    warning = console.styled("warning", "yellow", sys.stderr)
    console.err(f"{warning}: row level security decides which rows of {key} this login sees")
    console.hint("Use the tables' owner, or a role with BYPASSRLS, to see all of them.")


def _cells(one: Look) -> tuple[str, ...]:
    stats = one.stats
    counts = (stats.due, stats.delayed, stats.in_work, stats.dead)
    shown = ["-" if count is None else str(count) for count in counts]
    return (one.table, one.scope, *shown, _age(stats))


def _age(stats: Stats) -> str:
    if stats.oldest_age is not None:
        return f"{stats.oldest_age:.0f} s"
    # rows without a due time have no age; of too many rows it is not known
    return "unknown" if stats.due.more and stats.delayed is not None else "-"


def _json(one: Look) -> dict[str, Any]:
    stats = one.stats
    return {
        "table": one.table,
        "rows": one.scope,
        "due": _count(stats.due),
        "delayed": _count(stats.delayed),
        "in_work": _count(stats.in_work),
        "dead": _count(stats.dead),
        "oldest_due_seconds": stats.oldest_age,
        "at": stats.at.isoformat(),
        "row_security": stats.row_security,
    }


def _count(count: Count | None) -> dict[str, Any] | None:
    return None if count is None else {"value": count.value, "more": count.more}


def redrive(
    path: Path, key: str, ids: Sequence[str], limit: int | None, every: bool, dsn: str
) -> int:
    """Bring dead letters back and say how many. Returns the exit code: 1 where none of the ids is a dead
    letter, or the database refused one."""
    from sqlclaimgen.live import redrive as live
    from sqlclaimgen.live.queues import value_of

    if (bool(ids) + (limit is not None) + every) != 1:
        fail("redrive takes --id, --limit or --all", "Give one of the three.")
    table = described.table(described.read(path), key)
    against = live.reason_against(table, oldest=not ids)
    if against is not None:
        fail(against, "Its page says where its dead letters go.")
    for text in ids:
        try:
            value_of(table.id, text)
        except ValueError:
            fail(f"`{text}` is no id of {table.key}", f"Its ids are {table.id.type}.")
    back = stayed = 0
    with _connection(dsn) as connection:
        if live.sees_a_part(table, connection):
            _warn_of_row_security(table.key)
        if ids:
            back = len(live.these(table, connection, ids))
        else:
            for moved in live.oldest(table, connection, limit):
                back += len(moved)
                stayed += len(moved.kept)
                for kept in moved.kept:
                    console.err(f"{table.key} {kept.id!r} stays a dead letter: {kept.error}")
                console.err(f"{back} brought back")
    out(f"{table.key}: {counted(back, 'dead letter')} brought back")
    if missing := len(set(ids)) - back if ids else 0:
        are = "is no dead letter" if missing == 1 else "are no dead letters"
        console.err(f"{missing} of the ids {are}")
    return DIFFERENT if stayed or (ids and not back) else FINE
