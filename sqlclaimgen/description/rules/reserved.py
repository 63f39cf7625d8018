"""Names that the DDL would create, against those that a database keeps for itself or has already."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sqlclaimgen.description.model import DeadLetterTable, Role, Table
from sqlclaimgen.description.rules.defaults import BITS
from sqlclaimgen.description.rules.lengths import at_type, indexes_of
from sqlclaimgen.description.rules.names import fold
from sqlclaimgen.dialects import DIALECTS
from sqlclaimgen.statements import care_indexes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlclaimgen.description.findings import Findings
    from sqlclaimgen.dialects import Dialect

_Path = tuple[str, ...]


class _Taken(NamedTuple):
    """A name that the DDL takes: what for, of which table, and at which key it is written."""

    what: str
    table: str
    at: _Path


def check(tables: Sequence[Table], findings: Findings) -> None:
    """Refuse names that a server would refuse. The tables have no other mistake."""
    taken: dict[tuple[str, str, str], _Taken] = {}
    for table in tables:
        _check_numbers(table, findings)
        for name in table.dialects:
            dialect = DIALECTS[name]
            _check_names(table, dialect, findings)
            _check_generated(table, dialect, findings)
            _check_taken(table, dialect, taken, findings)


def _check_names(table: Table, dialect: Dialect, findings: Findings) -> None:
    limits = dialect.limits
    dead = table.dead_letter if isinstance(table.dead_letter, DeadLetterTable) else None
    places: list[tuple[str, str, _Path]] = [
        (table.name, "table", ("name",) if table.name != table.key else ())
    ]
    if dead is not None:
        places.append((dead.name, "dead-letter table", ("dead_letter", "table")))
    for name, says, at in places:
        if limits.prefix and name.lower().startswith(limits.prefix):
            findings.error(
                "NAME-RESERVED",
                f"the {says} name `{name}` is reserved: {dialect.title} keeps names that begin with "
                f"`{limits.prefix}` for itself",
                'Name it otherwise: name = "jobs".',
                ("table", table.key, *at),
            )
    own = [(key, getattr(dead, key)) for key in ("reason", "error", "time")] if dead else []
    named: list[tuple[str, _Path]] = [
        *((column.name, ("columns", column.name)) for column in table.columns),
        *((name, ("dead_letter", key)) for key, name in own if name),
    ]
    for name, at in named:
        if (name.lower() if limits.ignores_case else name) in limits.reserved:
            findings.error(
                "NAME-RESERVED",
                f"no column can be called `{name}` on {dialect.title}, which has one of its own",
                "Rename the column.",
                ("table", table.key, *at),
            )
    schemas: list[tuple[str, _Path]] = [(table.schema or "", ("schema",))]
    if dead is not None:
        schemas.append((dead.schema or "", ("dead_letter",)))
    for text, at in [(name, at) for name, _, at in places] + named + schemas:
        if text and not limits.supplementary and max(text) > "\uffff":
            findings.error(
                "NAME",
                f'the name "{text}" has a character that {dialect.title} keeps in no name',
                "Rename it: names take characters up to U+FFFF.",
                ("table", table.key, *at),
            )


def _check_generated(table: Table, dialect: Dialect, findings: Findings) -> None:
    column = table.id
    exact = dialect.override(column.sql)
    if not column.generated or exact is None:
        return
    words = exact.lower().partition("(")[0].split()
    if words and words[0] in dialect.limits.numbered:
        return
    findings.error(
        "GENERATED",
        f"column `{column.name}` is {exact} on {dialect.title}, which numbers rows only in "
        f"{' or '.join(dialect.limits.numbered)}",
        "Leave `sql` out, or leave `generated` out and pass the id with each new row.",
        at_type(table, column, dialect),
    )


def _check_numbers(table: Table, findings: Findings) -> None:
    """A second row of a dedupe key uses an id up: few bits end after that many enqueues."""
    bits = BITS.get(table.id.type.kind, 63)
    narrow = [DIALECTS[d].title for d in table.dialects if not DIALECTS[d].limits.wide_numbers]
    if not (table.id.generated and table.has(Role.DEDUPE_KEY) and bits < 63 and narrow):
        return
    findings.warning(
        "ID-SMALL",
        f"column `{table.id.name}` is {table.id.type}: each enqueue of a key that is queued already uses an "
        f"id up on {' and '.join(narrow)}, and after {2**bits - 1:,} enqueues there is none left",
        'Write type = "bigint".',
        ("table", table.key, "columns", table.id.name, "type"),
    )


def _check_taken(
    table: Table,
    dialect: Dialect,
    taken: dict[tuple[str, str, str], _Taken],
    findings: Findings,
) -> None:
    """Names of tables and indexes, where a database keeps them in one space."""
    limits = dialect.limits
    if not limits.shared:
        return
    at: _Path = ("table", table.key)
    own = (*at, "name") if table.name != table.key else at
    names: list[tuple[str | None, str, str, _Path]] = [(table.schema, table.name, "table", own)]
    names += [(table.schema, index.name, "index", own) for index in indexes_of(table, dialect)]
    implied = [*limits.implied, *(limits.implied_generated if table.id.generated else ())]
    names += [
        (table.schema, one.format(table=table.name, id=table.id.name), "index", own)
        for one in implied
    ]
    dead = table.dead_letter
    if isinstance(dead, DeadLetterTable):
        place = (*at, "dead_letter", "table")
        names.append((dead.schema, dead.name, "dead-letter table", place))
        names += [
            (dead.schema, index.name, "index", place)
            for index in care_indexes.of_dead_letters(table, dialect)
        ]
        names += [
            (dead.schema, one.format(table=dead.name, id=table.id.name), "index", place)
            for one in limits.implied
        ]
    for schema, name, what, path in names:
        folded = fold(name) if limits.ignores_case else name
        key = (dialect.name, fold(schema or ""), folded)
        other = taken.setdefault(key, _Taken(what, table.key, path))
        if other == (what, table.key, path) or "index" not in (what, other.what):
            continue
        findings.error(
            "NAME-TAKEN",
            f"`{name}` would be the {what} of `{table.key}` and the {other.what} of `{other.table}`, and "
            f"{dialect.title} has one such name in a schema",
            "Rename one of the two tables.",
            path,
        )
