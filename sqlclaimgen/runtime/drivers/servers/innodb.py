"""MySQL and MariaDB at start."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from sqlclaimgen.runtime.drivers.servers.base import Ends, Server, Timeout
from sqlclaimgen.runtime.drivers.servers.live import LiveColumn, LiveTable
from sqlclaimgen.runtime.errors import StatementFailed
from sqlclaimgen.runtime.placeholders import replaced
from sqlclaimgen.runtime.queue import Relation
from sqlclaimgen.runtime.steps import Many, Protocol, Run

_ENDS = {
    "wait_timeout": Ends.IDLE,
    # MariaDB
    "idle_transaction_timeout": Ends.IDLE_INSIDE,
    "idle_write_transaction_timeout": Ends.IDLE_INSIDE,
}
_TIMES = frozenset({7, 12})
_INTEGERS = frozenset({1, 2, 3, 8, 9})
_UNKNOWN_COLUMN = 1054
_NO_DEFAULT = 1364
_FORBIDDEN = frozenset({1044, 1142, 1143, 1370})
_PREPARED = "sqlclaimgen_check"

_COLUMNS = """\
SELECT c.column_name, c.data_type,
    c.is_nullable = 'NO' AND c.column_default IS NULL AND INSTR(@@SESSION.sql_mode, 'STRICT_') > 0,
    c.extra, t.table_type, t.create_options
FROM information_schema.columns AS c
JOIN information_schema.tables AS t USING (table_schema, table_name)
WHERE c.table_schema = COALESCE(:schema, DATABASE()) AND c.table_name = :table"""
_UNIQUE = """\
SELECT index_name, column_name FROM information_schema.statistics
WHERE table_schema = COALESCE(:schema, DATABASE()) AND table_name = :table AND non_unique = 0
    AND column_name IS NOT NULL"""
_ZONE = """\
SELECT @@SESSION.time_zone, UNIX_TIMESTAMP('2024-01-15 00:00:00'), UNIX_TIMESTAMP('2024-07-15 00:00:00')"""
_IN_UTC = (1705276800, 1721001600)


class MySQL(Server):
    """MySQL."""

    dialect = "mysql"
    title = "MySQL"
    floor: ClassVar[tuple[int, ...]] = (8, 0, 1)
    needs: ClassVar[str] = "SKIP LOCKED"
    fifo: ClassVar[tuple[tuple[int, ...], str] | None] = ((8, 0, 4), "JSON_TABLE")
    session = "SELECT CONNECTION_ID()"
    clock = "SELECT UTC_TIMESTAMP(6)"
    version_query = "SELECT VERSION()"
    holds: ClassVar[Mapping[str, frozenset[int]]] = {
        "timestamp": _TIMES,
        **dict.fromkeys(("smallint", "int", "bigint"), _INTEGERS),
    }

    def timeouts(self) -> Protocol[list[Timeout]]:
        found = yield from _variables("SESSION", *_ENDS)
        return [
            Timeout(name, float(value), _ENDS[name])
            for name, value in found.items()
            if float(value) > 0
        ]

    def unlogged(self) -> Protocol[str | None]:
        found = yield from _variables("SESSION", "log_bin", "binlog_format")
        statement = found.get("binlog_format") == "STATEMENT"
        return "binlog_format = STATEMENT" if statement and _on(found.get("log_bin")) else None

    def multi_master(self) -> Protocol[str | None]:
        found = yield from _variables(
            "GLOBAL", "wsrep_on", "wsrep_provider", "group_replication_single_primary_mode"
        )
        if _on(found.get("wsrep_on")) and found.get("wsrep_provider", "none") != "none":
            return "wsrep_on = ON (Galera)"
        if found.get("group_replication_single_primary_mode", "ON") in ("OFF", "0"):
            return "group_replication_single_primary_mode = OFF"
        return None

    def told(self, connection: Any) -> int | None:
        return int(connection.thread_id())

    def live(self, relation: Relation) -> Protocol[LiveTable | None]:
        given = {"table": relation.name, "schema": relation.schema}
        result = yield Run("live_columns", _COLUMNS, given)
        if not result.rows:
            return None
        found = LiveTable(
            [
                LiveColumn(
                    name,
                    type,
                    required=bool(required) and not _made(extra),
                    numbered="auto_increment" in extra.lower(),
                    changes="on update" in extra.lower(),
                    zoned=type.lower() == "timestamp",
                )
                for name, type, required, extra, *_ in map(_texts, result.rows)
            ],
            view=str(result.rows[0][4]) == "VIEW",
            partitioned="partitioned" in str(result.rows[0][5] or ""),
            cased=False,
        )
        result = yield Run("live_indexes", _UNIQUE, given)
        found.index(result.rows)
        return found

    def other_zone(self) -> Protocol[str | None]:
        # a time of winter and one of summer: a zone's name tells little, and SYSTEM nothing
        result = yield Run("time_zone", _ZONE, {})
        zone, winter, summer = result.rows[0]
        return None if (int(winter), int(summer)) == _IN_UTC else str(zone)

    def fits(self, statement: str, sql: str, parameters: Mapping[str, Any]) -> Protocol[None]:
        # not EXPLAIN: it runs parts of a statement while it optimizes, GET_LOCK among them
        text = replaced(sql, lambda name: _marks(parameters.get(name)), backslashes=True)
        yield Run(statement, f"PREPARE {_PREPARED} FROM :text", {"text": text})
        yield Run(statement, f"DEALLOCATE PREPARE {_PREPARED}", {})

    def forbids(self, error: BaseException | None) -> bool:
        arguments: tuple[Any, ...] = getattr(error, "args", ())
        return bool(arguments) and arguments[0] in _FORBIDDEN

    def column(self, sql: str, error: BaseException | None) -> str | None:
        arguments: tuple[Any, ...] = getattr(error, "args", ())
        if len(arguments) < 2 or arguments[0] != _UNKNOWN_COLUMN:
            return None
        found = re.search(r"'([^']+)'", str(arguments[1]))
        return found[1].rpartition(".")[2] if found else None


class MariaDB(MySQL):
    """MariaDB."""

    dialect = "mariadb"
    title = "MariaDB"
    floor = (10, 6)
    fifo = None

    def numbers(self, version: str) -> tuple[int, ...]:
        # what it tells old clients, and what some proxies pass on
        return super().numbers(version.removeprefix("5.5.5-"))

    def fits(self, statement: str, sql: str, parameters: Mapping[str, Any]) -> Protocol[None]:
        if not sql.startswith("INSERT"):
            return (yield from super().fits(statement, sql, parameters))
        # prepared, the column list of an INSERT .. SELECT is not looked at
        try:
            yield Run(statement, f"EXPLAIN {sql}", parameters)
        except StatementFailed as error:
            # a column that it would have to name is a finding of its own, as on every server
            if getattr(error.__cause__, "args", (None,))[0] != _NO_DEFAULT:
                raise


def _variables(scope: str, *names: str) -> Protocol[dict[str, str]]:
    """The variables that this server has: one that it does not know brings no row, and no error."""
    listed = ", ".join(f"'{name}'" for name in names)
    result = yield Run("variables", f"SHOW {scope} VARIABLES WHERE Variable_name IN ({listed})", {})
    return {str(name): str(value) for name, value in result.rows}


def _on(value: str | None) -> bool:
    return value in ("ON", "1")


def _marks(value: Any) -> str:
    """A parameter as a prepared statement marks it."""
    if not isinstance(value, Many):
        return "?"
    return ", ".join(
        "(" + ", ".join("?" * len(item)) + ")" if isinstance(item, tuple) else "?"  # pyright: ignore[reportUnknownArgumentType]
        for item in value.items
    )


def _texts(row: Sequence[Any]) -> tuple[Any, ...]:
    """MySQL 8 gives some columns of its catalogue as bytes."""
    return tuple(value.decode() if isinstance(value, bytes) else value for value in row)


def _made(extra: str) -> bool:
    """Whether the server computes a column's value itself."""
    return any(word in extra.lower() for word in ("auto_increment", " generated"))
