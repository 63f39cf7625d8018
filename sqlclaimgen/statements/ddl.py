"""The DDL of a table: what a DBA runs once, before the first row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlclaimgen.description.model import INTEGERS, Column, DeadLetterTable, Form, Kind, Role

if TYPE_CHECKING:
    import jinja2

    from sqlclaimgen.description.model import Table
    from sqlclaimgen.statements.model import Index
    from sqlclaimgen.statements.names_in_sql import ColumnInSQL, NamesInSQL

_COMMENTS = {
    Role.ATTEMPT: "Number of the next delivery, from 1. Each claim adds one.",
    Role.LOCKED_UNTIL: "Lease: the row is held until then. NULL: free.",
    Role.RETRY_AFTER: "The row is not due before.",
    Role.PROCESSED_AT: "When the row was finished. NULL: not yet.",
    Role.PRIORITY: "Smaller is more urgent.",
    Role.GROUP: "The queue within the table.",
    Role.PARTITION_KEY: "One worker process runs the rows of one key that it has claimed one at a time.",
    Role.LAST_ERROR: "What went wrong the last time.",
    Role.DEDUPE_KEY: "At most one row with this key is queued.",
    Role.STATUS: "Whether the row waits, is finished, or was given up.",
    Role.ORIGIN: "The group a dead letter came from.",
}
_SET_WHEN_BROUGHT_BACK = (Role.ATTEMPT, Role.RETRY_AFTER, Role.STATUS)
"""What a dead letter that comes back takes no value of."""

_COUNTED_AT_THE_END = (
    "Number of the next delivery, from 1; counted when a delivery gives its row back, "
    "so a crash adds none."
)
"""The attempt in the row lock form: the claim writes nothing."""


def comment(table: Table, column: Column) -> str | None:
    """What is said of a column by its role: in the database, and on the page."""
    if column.role is Role.ATTEMPT and table.form is Form.ROW_LOCK:
        return _COUNTED_AT_THE_END
    return _COMMENTS.get(column.role) if column.role else None


@dataclass(frozen=True, slots=True)
class ColumnDefinition:
    """One line of CREATE TABLE. `check` is SQLite's, which compares types only when told."""

    name: str
    type: str
    null: bool
    default: str | None
    generated: bool
    id: bool
    time: bool
    json: bool
    comment: str | None
    """Text, not yet quoted."""


def _definition(names: NamesInSQL, column: ColumnInSQL, *, dead: bool) -> ColumnDefinition:
    described: Column = column.column
    # what the version before writes into the dead-letter table has the default too
    default = column.default if not dead or described.role not in _SET_WHEN_BROUGHT_BACK else None
    return ColumnDefinition(
        name=column.name,
        type=column.type,
        null=described.null or (dead and described.role is not Role.ID),
        default=default,
        generated=described.generated and described.type.kind in INTEGERS and not dead,
        id=described.role is Role.ID,
        time=described.type.kind is Kind.TIMESTAMP,
        json=column.json,
        comment=None if dead else comment(names.described, described),
    )


def _quoted(names: NamesInSQL, made: tuple[Index, ...]) -> list[dict[str, object]]:
    quote = names.dialect.quote
    return [
        {
            "name": quote(index.name),
            "columns": [quote(column) for column in index.columns],
            "serves": " and ".join(index.serves),
            "relies": "relies" if len(index.serves) == 1 else "rely",
            "where": index.where,
            "unique": index.unique,
        }
        for index in made
    ]


def render(
    env: jinja2.Environment,
    names: NamesInSQL,
    made: tuple[Index, ...],
    dead_made: tuple[Index, ...] = (),
) -> str:
    """The text of `<table>.ddl.sql`, without its header."""
    dialect = names.dialect
    dead = names.described.dead_letter
    extras: list[tuple[str, str, bool]] = []
    if isinstance(dead, DeadLetterTable):
        for which, kind in (("reason", "text"), ("error", "text"), ("time", "time")):
            name = names.dead_extra(which)
            if name:
                extras.append((name, dialect.extra_type(kind), kind == "time"))
    return env.get_template("ddl/table.sql").render(
        t=names,
        columns=[_definition(names, column, dead=False) for column in names.columns],
        dead_columns=[_definition(names, column, dead=True) for column in names.columns],
        extras=extras,
        indexes=_quoted(names, made),
        dead_indexes=_quoted(names, dead_made),
        storage=dialect.storage(
            lease=names.described.form is Form.LEASE,
            keeps_finished=names.described.keeps_finished,
        ),
    )
