"""Lengths of keys, rows and texts that the DDL would have, against what the table's databases take."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlclaimgen.description.model import (
    Column,
    DeadLetterGroup,
    DeadLetterTable,
    Kind,
    Role,
    Table,
)
from sqlclaimgen.dialects import DIALECTS
from sqlclaimgen.dialects.storage import size
from sqlclaimgen.statements import care_indexes, columns, indexes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlclaimgen.description.findings import Findings
    from sqlclaimgen.dialects import Dialect
    from sqlclaimgen.statements.model import Index


def check(tables: Sequence[Table], findings: Findings) -> None:
    """Refuse what is too long for a server. The tables have no other mistake."""
    for table in tables:
        for name in table.dialects:
            dialect = DIALECTS[name]
            _check_texts(table, dialect, findings)
            _check_keys(table, dialect, findings)
            _check_row(table, dialect, findings)


def indexes_of(table: Table, dialect: Dialect) -> tuple[Index, ...]:
    """The work table's indexes. Their conditions matter here only where they differ."""
    finished = "finished" if indexes.finished_by(table) else None
    alive = "alive" if isinstance(table.dead_letter, DeadLetterGroup) else None
    return indexes.indexes(table, dialect, finished, alive)


def at_type(table: Table, column: Column, dialect: Dialect) -> tuple[str, ...]:
    """Where the type of a column is written."""
    key = ("sql", dialect.name) if dialect.name in column.sql else ("type",)
    return ("table", table.key, "columns", column.name, *key)


def _check_texts(table: Table, dialect: Dialect, findings: Findings) -> None:
    """Texts of the description in a column whose type has no length, and has one on this database."""
    most = dialect.limits.text_key
    for column in table.columns:
        if most is None or column.type.kind is not Kind.TEXT or dialect.override(column.sql):
            continue
        if not columns.is_key(table, column):
            continue
        at = ("table", table.key, "columns", column.name)
        texts: list[tuple[object, tuple[str, ...]]] = []
        if column.status is not None:
            given = column.status
            texts += [
                (getattr(given, word), (*at, "status", word))
                for word in ("pending", "done", "dead")
            ]
        else:
            texts.append((column.default, (*at, "default")))
        if column.role is Role.GROUP and isinstance(table.dead_letter, DeadLetterGroup):
            texts.append((table.dead_letter.group, ("table", table.key, "dead_letter", "group")))
        for text, path in texts:
            if isinstance(text, str) and len(text) > most:
                findings.error(
                    "TEXT-TOO-LONG",
                    f"a value of column `{column.name}` has {len(text)} characters, and "
                    f"{dialect.title} keeps {most} of a text that is compared",
                    f'Shorten it, or write type = "varchar({len(text)})".',
                    path,
                )


def _check_keys(table: Table, dialect: Dialect, findings: Findings) -> None:
    made = indexes_of(table, dialect)
    if dialect.limits.key is None:
        _note_long_keys(table, dialect, made, findings)
        return
    wanted: list[tuple[str, tuple[str, ...], bool]]
    wanted = [("the primary key", (table.id.name,), False)]
    wanted += [(f"index `{index.name}`", index.columns, index.unique) for index in made]
    wanted += [
        (f"index `{index.name}`", index.columns, False)
        for index in care_indexes.of_dead_letters(table, dialect)
    ]
    tightest: dict[str, tuple[int, Column, str, str]] = {}
    for says, names, unique in wanted:
        sizes = [
            (column, size(columns.spelled(table, column, dialect)))
            for column in table.columns
            if column.name in names
        ]
        unkeyed = next((column for column, one in sizes if one.key is None), None)
        # a dead letter's time is no column of the table
        total = sum(one.key or 0 for _, one in sizes) + 8 * (len(names) - len(sizes))
        if unkeyed is not None:
            findings.error(
                "INDEX-TOO-LONG",
                f"column `{unkeyed.name}` is {columns.spelled(table, unkeyed, dialect)}, which "
                f"{dialect.title} keeps in no index, and {says} has it",
                'Write a type with a length: "varchar(191)".',
                at_type(table, unkeyed, dialect),
            )
        elif total > dialect.limits.key and not (unique and dialect.limits.long_unique):
            widest, one = max(sizes, key=lambda pair: pair[1].key or 0)
            spare = dialect.limits.key - total + (one.key or 0)
            what = (
                f"{says} would have {total} bytes, and {dialect.title} takes {dialect.limits.key}"
            )
            hint = "Make its columns shorter."
            if one.character and spare >= one.character:
                hint = (
                    f"Write at most varchar({spare // one.character}) for column `{widest.name}`."
                )
            # of several indexes the one that leaves the column the least, so that the hint is enough
            if widest.name not in tightest or spare < tightest[widest.name][0]:
                tightest[widest.name] = spare, widest, what, hint
    for _, column, what, hint in tightest.values():
        findings.error("INDEX-TOO-LONG", what, hint, at_type(table, column, dialect))


def _note_long_keys(
    table: Table, dialect: Dialect, made: Sequence[Index], findings: Findings
) -> None:
    """PostgreSQL refuses a row whose entry in an index is too long, and not the index."""
    most = dialect.limits.entry
    if most is None:
        return
    keyed = {name for index in made for name in index.columns} | {table.id.name}
    for column in table.columns:
        length = column.type.length or 0
        if column.name in keyed and length * 4 > most and not dialect.override(column.sql):
            findings.warning(
                "INDEX-LONG",
                f"column `{column.name}` is {column.type} and in an index: {dialect.title} refuses a row "
                f"whose entry there is longer than {most} bytes",
                f"Write at most varchar({most // 4 - 30}), or keep the values short.",
                at_type(table, column, dialect),
            )


def _rows(
    table: Table, dialect: Dialect
) -> Iterator[tuple[str, list[tuple[Column | None, str, bool]]]]:
    """Each table of the DDL: its columns, their spelled types, and whether they may be NULL."""
    own = [
        (column, columns.spelled(table, column, dialect), column.null) for column in table.columns
    ]
    work: list[tuple[Column | None, str, bool]] = [*own]
    yield table.name, work
    dead = table.dead_letter
    if isinstance(dead, DeadLetterTable):
        extras = [(dead.reason, "text"), (dead.error, "text"), (dead.time, "time")]
        letters: list[tuple[Column | None, str, bool]] = [
            (column, spelled, column.role is not Role.ID) for column, spelled, _ in own
        ]
        letters += [(None, dialect.extra_type(kind), True) for name, kind in extras if name]
        yield dead.name, letters


def _check_row(table: Table, dialect: Dialect, findings: Findings) -> None:
    limits = dialect.limits
    rows = list(_rows(table, dialect))
    for name, row in rows:
        if len(row) > limits.columns:
            findings.error(
                "COLUMNS",
                f"table `{name}` would have {len(row)} columns, and {dialect.title} takes "
                f"{limits.columns}",
                "Keep what claims do not need in one column of type json.",
                ("table", table.key, "columns"),
            )
            return
    # the longer one, so that what its hint says fits both
    total, name, row = max(((_bytes(row), name, row) for name, row in rows), key=lambda one: one[0])
    if limits.row is None or total <= limits.row:
        return
    sizes = [(column, size(spelled)) for column, spelled, _ in row]
    chosen = [(column, one) for column, one in sizes if column and one.character]
    if not chosen:
        return
    widest, one = max(chosen, key=lambda pair: pair[1].row)
    spare = (limits.row - total + one.row - 2) // one.character
    findings.error(
        "ROW-TOO-LONG",
        f"a row of table `{name}` would have {total} bytes, and {dialect.title} takes "
        f"{limits.row}, long texts left out",
        f'Write "text" for column `{widest.name}`'
        + (f", or at most varchar({spare})." if spare > 0 else "."),
        at_type(table, widest, dialect),
    )


def _bytes(row: Sequence[tuple[Column | None, str, bool]]) -> int:
    """What InnoDB keeps of a row: its columns, and a bit for each that may be NULL."""
    nullable = sum(null for _, _, null in row)
    return sum(size(spelled).row for _, spelled, _ in row) + max(1, (nullable + 7) // 8)
