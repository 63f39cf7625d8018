"""SQLite 3.35 and newer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlclaimgen.dialects.base import Capability, Dialect, NameLimit
from sqlclaimgen.dialects.storage import Limits
from sqlclaimgen.dialects.types import Kind

if TYPE_CHECKING:
    from sqlclaimgen.dialects.types import Type

_NAMES = {
    Kind.SMALLINT: "INTEGER",
    Kind.INT: "INTEGER",
    Kind.BIGINT: "INTEGER",
    Kind.TEXT: "TEXT",
    Kind.VARCHAR: "TEXT",
    Kind.BYTES: "BLOB",
    Kind.JSON: "TEXT",
    Kind.UUID: "TEXT",
    Kind.BOOLEAN: "INTEGER",
    Kind.TIMESTAMP: "INTEGER",
    Kind.DATE: "TEXT",
    Kind.NUMERIC: "TEXT",
    Kind.DOUBLE: "REAL",
}
_INTEGERS = (Kind.SMALLINT, Kind.INT, Kind.BIGINT)


class SQLite(Dialect):
    """SQLite. Times are integer microseconds since 1970; one writer at a time."""

    name = "sqlite"
    title = "SQLite"
    floor = "3.35"
    loading = 'sqlite3 -bail "$FILE" < {path}'
    name_limit = NameLimit(1000, "characters")
    limits = Limits(
        columns=2000, shared=True, prefix="sqlite_", wide_numbers=True, numbered=("integer",)
    )
    connection = "SQLiteConnection"
    has_logins = False
    sqlglot = "sqlite"
    folders = ("sqlite", "common")
    partial_indexes = True
    now_default = "(CAST(ROUND((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000)"
    time_literal = "microseconds since 1970, UTC"
    row_lock = Capability(
        served=False,
        reason="SQLite has no row locks: an open write transaction locks the whole file.",
        way_out="Add a `locked_until` column for a lease, or set `advisory_lock`.",
    )
    notify = Capability(
        served=False,
        reason="only PostgreSQL has LISTEN and NOTIFY.",
        way_out="Leave `notify` out: workers poll, once a second unless set.",
    )

    ids = "SELECT value FROM json_each(:ids)"

    keys_in_process = (
        "On SQLite this process keeps the keys: use one process per database file, for two",
        "do not see each other's keys and may both deliver a row.",
    )

    def locks_of_insert(self, *, generated: bool) -> str:
        return "the one writer's lock, until the commit"

    def lesser(self, expression: str, value: int) -> str:
        return f"MIN({expression}, {value})"

    def returned(self, expression: str, name: str, kind: Kind) -> str:
        # before 3.41 RETURNING makes floats of the integers of a table whose first column is REAL, but
        # not of what is computed from them
        return f"+{expression}" if kind in _INTEGERS else expression

    def largest(self, type: Type, spelled: str) -> int:
        return 2**63 - 1

    def left_out(self, column: str, type: str) -> str:
        return f"{column} NOT IN (SELECT value FROM json_each(:set_aside))"

    def locked(self, rows: str) -> str:
        return "the one writer's lock"

    def key_value(self, column: str) -> str:
        return f"CAST({column} AS TEXT)"

    def lock(self, key: str) -> str:
        return key

    def quote(self, name: str) -> str:
        return '"' + name.replace('"', '""') + '"'

    def boolean(self, value: bool) -> str:
        return "1" if value else "0"

    def column_type(self, type: Type, *, key: bool = False) -> str:
        return _NAMES[type.kind]
