"""MySQL and MariaDB at start."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar

from sqlclaimgen.runtime.drivers.servers.base import Ends, Server, Timeout
from sqlclaimgen.runtime.placeholders import replaced
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
_PREPARED = "sqlclaimgen_check"


class MySQL(Server):
    """MySQL."""

    dialect = "mysql"
    title = "MySQL"
    floor: ClassVar[tuple[int, ...]] = (8, 0, 1)
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

    def fits(self, statement: str, sql: str, parameters: Mapping[str, Any]) -> Protocol[None]:
        # not EXPLAIN: it runs parts of a statement while it optimizes, GET_LOCK among them
        text = replaced(sql, lambda name: _marks(parameters.get(name)), backslashes=True)
        yield Run(statement, f"PREPARE {_PREPARED} FROM :text", {"text": text})
        yield Run(statement, f"DEALLOCATE PREPARE {_PREPARED}", {})

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

    def numbers(self, version: str) -> tuple[int, ...]:
        # what it tells old clients, and what some proxies pass on
        return super().numbers(version.removeprefix("5.5.5-"))

    def fits(self, statement: str, sql: str, parameters: Mapping[str, Any]) -> Protocol[None]:
        if not sql.startswith("INSERT"):
            return (yield from super().fits(statement, sql, parameters))
        # prepared, the column list of an INSERT .. SELECT is not looked at
        yield Run(statement, f"EXPLAIN {sql}", parameters)


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
