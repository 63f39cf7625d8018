"""PostgreSQL 11 and newer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlclaimgen.dialects.base import YES, Dialect, NameLimit
from sqlclaimgen.dialects.storage import Limits
from sqlclaimgen.dialects.types import Kind

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from sqlclaimgen.dialects.types import Type

_NAMES = {
    Kind.SMALLINT: "smallint",
    Kind.INT: "integer",
    Kind.BIGINT: "bigint",
    Kind.TEXT: "text",
    Kind.BYTES: "bytea",
    Kind.JSON: "jsonb",
    Kind.UUID: "uuid",
    Kind.BOOLEAN: "boolean",
    Kind.DATE: "date",
    Kind.DOUBLE: "double precision",
}


class Postgres(Dialect):
    """PostgreSQL. Text compares exactly under its default collations; names are cut at 63 bytes."""

    name = "postgres"
    title = "PostgreSQL"
    floor = "11"
    loading = 'psql "$DSN" -v ON_ERROR_STOP=1 --single-transaction -f {path}'
    name_limit = NameLimit(63, "bytes")
    limits = Limits(
        entry=2704,
        columns=1600,
        shared=True,
        implied=("{table}_pkey",),
        implied_generated=("{table}_{id}_seq",),
        reserved=frozenset({"ctid", "tableoid", "xmin", "xmax", "cmin", "cmax"}),
        ignores_case=False,
        numbered=("bigint", "int8", "integer", "int", "int4", "smallint", "int2"),
    )
    connection = "PostgresConnection"
    async_connection = "AsyncPostgresConnection"
    sqlglot = "postgres"
    notify = YES
    folders = ("postgres", "common")
    partial_indexes = True
    now_default = "clock_timestamp()"
    time_literal = "timestamptz"

    def quote(self, name: str) -> str:
        return '"' + name.replace('"', '""') + '"'

    def spelled(self, value: Any) -> str:
        if type(value) is bytes:
            return f"'\\x{value.hex()}'::bytea"
        if issubclass(type(value), list):
            # text of an array, which takes the type of what it is compared with
            return self.text("{" + ",".join(_element(item) for item in value) + "}")
        return super().spelled(value)

    def time(self, value: datetime) -> str:
        return f"TIMESTAMPTZ {super().time(value)}"

    def typed(self, parameter: str, type: str) -> str:
        return f"CAST(:{parameter} AS {type})"

    holds_lock = "pg_backend_pid() = :session"

    def key_value(self, column: str) -> str:
        return f"CAST({column} AS text)"

    def key(self, pieces: Sequence[str]) -> str:
        if len(pieces) == 1 and not pieces[0].startswith("CAST"):
            return f"CAST({pieces[0]} AS text)"
        return super().key(pieces)

    def lock(self, key: str) -> str:
        # "C": another collation may hash texts alike that it sorts alike
        return f'hashtextextended({key} COLLATE "C", 0)'

    def enqueued(self, value: str, type: str) -> str:
        return f"CAST({value} AS {type})" if type in ("json", "jsonb") else value

    def left_out(self, column: str, type: str) -> str:
        return f"{column} <> ALL(CAST(:set_aside AS {type}[]))"

    def among(self, column: str, type: str) -> str:
        return f"{column} = ANY(CAST(:ids AS {type}[]))"

    def storage(self, *, lease: bool, keeps_finished: bool) -> tuple[str, ...]:
        settings: list[str] = []
        if lease:
            # leases are updates: room on the page keeps 98 % of them out of the indexes (55 % without)
            settings.append("fillfactor = 70")
        if keeps_finished:
            # the default scale factor waits for a fifth of the history
            settings += [
                "autovacuum_vacuum_scale_factor = 0",
                "autovacuum_vacuum_threshold = 2000",
                "autovacuum_vacuum_cost_delay = 0",
            ]
        return tuple(settings)

    def returned(self, expression: str, name: str, kind: Kind) -> str:
        return f"CAST({expression} AS text) AS {name}" if kind is Kind.JSON else expression

    def column_type(self, type: Type, *, key: bool = False) -> str:
        match type.kind:
            case Kind.VARCHAR:
                return f"varchar({type.length})"
            case Kind.NUMERIC:
                return f"numeric({type.precision},{type.scale})"
            case Kind.TIMESTAMP:
                return f"timestamptz({type.precision})"
            case kind:
                return _NAMES[kind]


def _element(value: Any) -> str:
    """An item of an array's text."""
    return '"' + str(value).replace("\\", "\\\\").replace('"', '\\"') + '"'
