"""The indexes of the statements that look after a table: purge, and the list of dead letters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlclaimgen.description.model import DeadLetterGroup, DeadLetterTable, Role, Table
from sqlclaimgen.statements.model import Index
from sqlclaimgen.statements.names import bounded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlclaimgen.dialects import Dialect

_PRIMARY = "the primary key of the dead-letter table"


def of_table(table: Table, dialect: Dialect) -> tuple[Index, ...]:
    """The work table's own: where a time tells finished rows, and where dead letters stay marked."""
    status = table.column(Role.STATUS)
    time = table.column(Role.PROCESSED_AT)
    marks = status is not None and table.dead_letter is None
    if dialect.partial_indexes:
        return tuple(_partial(table, dialect))
    # one index that leads with the status serves both
    lead = (status.name,) if status is not None else ()
    if time is not None:
        serves = ("purge", "redrive_oldest") if marks else ("purge",)
        return (Index(bounded(table.name, "purge", dialect), (*lead, time.name), serves),)
    if marks:
        columns = (*lead, table.id.name)
        return (Index(bounded(table.name, "given_up", dialect), columns, ("redrive_oldest",)),)
    return ()


def _partial(table: Table, dialect: Dialect) -> list[Index]:
    made: list[Index] = []
    status = table.column(Role.STATUS)
    time = table.column(Role.PROCESSED_AT)

    def where(which: str) -> str:
        assert status is not None and status.status is not None
        value = getattr(status.status, which)
        return f"{dialect.quote(status.name)} = {dialect.literal(value)}"

    if time is not None:
        finished = where("done") if status else f"{dialect.quote(time.name)} IS NOT NULL"
        made.append(
            Index(bounded(table.name, "purge", dialect), (time.name,), ("purge",), finished)
        )
    if status is not None and table.dead_letter is None:
        columns = (*((time.name,) if time else ()), table.id.name)
        name = bounded(table.name, "given_up", dialect)
        made.append(Index(name, columns, ("redrive_oldest",), where("dead")))
    return made


def of_dead_letters(table: Table, dialect: Dialect) -> tuple[Index, ...]:
    """The dead-letter table's: oldest first, where it keeps a time."""
    dead = table.dead_letter
    if not isinstance(dead, DeadLetterTable) or dead.time is None:
        return ()
    name = bounded(dead.name, "oldest", dialect)
    return (Index(name, (dead.time, table.id.name), ("redrive_oldest",)),)


def context(table: Table, made: Sequence[Index], dead: Sequence[Index]) -> dict[str, object]:
    """What the templates of `care/` ask: the names of their indexes, and whether dead letters come
    back. None: the statement that would need the index does not exist."""
    oldest = next((i.name for i in (*made, *dead) if "redrive_oldest" in i.serves), None)
    redrives = True
    match table.dead_letter:
        case DeadLetterTable():
            oldest = oldest or _PRIMARY
        case DeadLetterGroup():
            redrives = table.has(Role.ORIGIN)
            named = (i.name for i in made if "claim" in i.serves or "order" in i.uses)
            oldest = next(named, None)
        case None:
            redrives = table.has(Role.STATUS)
    return {
        "redrives": redrives,
        "oldest_index": oldest,
        "purge_index": next((i.name for i in made if "purge" in i.serves), None),
        "dead_counted": oldest is not None,
    }
