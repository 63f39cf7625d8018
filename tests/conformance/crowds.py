"""Tables with a history: many rows, most of them finished, made by one statement of the server's own."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlclaimgen.description.model import Column, Role
from sqlclaimgen.runtime.codecs import to_microseconds
from tests.conformance.harness import Stand

GROUPS = 5
PRIORITIES = 3
_DIGITS = " UNION ALL ".join(f"SELECT {n}" for n in range(1, 10))


def crowd(stand: Stand, n: int, *, delayed: bool = False) -> None:
    """Fill the table with `n` rows of 5 groups and 3 priorities; the oldest 95 % are finished where the
    table keeps finished rows. Of the others one in fifty is leased, and one in fifty was. A column that
    may be NULL is so in one row of ten: the rows without a group.

    `delayed`: nothing is finished, 99 % are delayed, all that is due has the last priority, and one
    row in five hundred was leased.
    """
    now = datetime.now(UTC)
    last = n if not stand.table.keeps_finished or delayed else n * 95 // 100
    finished = last if stand.table.keeps_finished and not delayed else 0
    past, future = _time(stand, now - timedelta(hours=1)), _time(stand, now + timedelta(hours=1))
    due = "n % 101 = 0"
    said: Mapping[Role, str] = {
        Role.ID: "n",
        Role.GROUP: _groups(stand),
        Role.PRIORITY: f"CASE WHEN {due} THEN 2 ELSE n % 2 END" if delayed else f"n % {PRIORITIES}",
        Role.RETRY_AFTER: f"CASE WHEN {due} THEN {past} ELSE {future} END" if delayed else past,
        Role.ATTEMPT: "1",
        Role.LOCKED_UNTIL: (
            f"CASE WHEN n <= {finished} THEN NULL WHEN n % 50 = 1 THEN {future} "
            f"WHEN n % {500 if delayed else 50} = 2 THEN {past} END"
        ),
        Role.PROCESSED_AT: f"CASE WHEN n <= {finished} THEN {past} END",
    }
    columns = [c for c in stand.table.columns if c.role in said or c.role is Role.STATUS]
    quote = stand.plan.dialect.quote
    values = [
        _status(stand, c, finished) if c.role is Role.STATUS else said[_role(c)] for c in columns
    ]
    names = ", ".join(quote(c.name) for c in columns)
    overriding = " OVERRIDING SYSTEM VALUE" if stand.dialect == "postgres" else ""
    places = " + ".join(f"{10**place} * d{place}.n" for place in range(len(str(n - 1))))
    tables = ", ".join(f"d AS d{place}" for place in range(len(str(n - 1))))
    stand.database.execute(
        f"INSERT INTO {quote(stand.table.name)} ({names}){overriding}"
        f" WITH d AS (SELECT 0 AS n UNION ALL {_DIGITS})"
        f" SELECT {', '.join(values)} FROM (SELECT 1 + {places} AS n FROM {tables}) AS counted"
        f" WHERE n <= {n} ORDER BY n"
    )
    table = quote(stand.table.name)
    stand.database.execute(
        {"postgres": f"VACUUM ANALYZE {table}", "sqlite": "ANALYZE"}.get(
            stand.dialect, f"ANALYZE TABLE {table}"
        )
    )


def _groups(stand: Stand) -> str:
    named = _among("n", [f"'g{g}'" for g in range(GROUPS)])
    column = stand.table.column(Role.GROUP)
    return f"CASE WHEN n % 10 = 9 THEN NULL ELSE {named} END" if column and column.null else named


def _role(column: Column) -> Role:
    assert column.role is not None
    return column.role


def _among(n: str, values: list[str]) -> str:
    cases = " ".join(f"WHEN {k} THEN {value}" for k, value in enumerate(values))
    return f"CASE {n} % {len(values)} {cases} END"


def _status(stand: Stand, column: Column, finished: int) -> str:
    assert column.status is not None
    literal = stand.plan.dialect.literal
    return (
        f"CASE WHEN n <= {finished} THEN {literal(column.status.done)} "
        f"ELSE {literal(column.status.pending)} END"
    )


def _time(stand: Stand, value: datetime) -> str:
    match stand.dialect:
        case "sqlite":
            return str(to_microseconds(value))
        case "postgres":
            return f"TIMESTAMPTZ '{value.isoformat()}'"
        case _:
            return f"'{value.replace(tzinfo=None).isoformat(sep=' ')}'"


def reads(connection: Any) -> int:
    """Rows that the session has read from tables and indexes so far (MySQL, MariaDB)."""
    cursor = connection.cursor()
    cursor.execute("SHOW SESSION STATUS LIKE 'Handler_read%'")
    return sum(int(value) for _, value in cursor.fetchall())


def locked(stand: Stand, above: int) -> set[int]:
    """The ids above `above` that another session cannot lock: as `Database.locked_rows`, without the
    history of the table."""
    connection = stand.connect(autocommit=True)
    cursor = connection.cursor()
    cursor.execute("SET TRANSACTION ISOLATION LEVEL READ COMMITTED")
    cursor.execute("BEGIN")
    hint = "" if stand.dialect == "postgres" else " FORCE INDEX (PRIMARY)"
    read = f"SELECT id FROM jobs{hint} WHERE id > {above}"
    cursor.execute(read)
    every = {row[0] for row in cursor.fetchall()}
    cursor.execute(f"{read} FOR UPDATE SKIP LOCKED")
    free = {row[0] for row in cursor.fetchall()}
    connection.rollback()
    connection.close()
    return every - free
