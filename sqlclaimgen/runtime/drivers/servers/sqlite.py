"""SQLite at start."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from sqlclaimgen.runtime.drivers.servers.base import Server
from sqlclaimgen.runtime.drivers.servers.live import LiveColumn, LiveTable
from sqlclaimgen.runtime.queue import Relation
from sqlclaimgen.runtime.steps import Protocol, Run

_MISSING = re.compile(r"(?:no such column: (?:\w+\.)*|table .+ has no column named )(.+)")


class SQLite(Server):
    """SQLite: a library of this process, on this host's clock."""

    dialect = "sqlite"
    title = "SQLite"
    floor = (3, 35)
    needs = "RETURNING"
    version_query = "SELECT sqlite_version()"
    # SQLite takes a quoted name that is no column for a string, except in the list of an INSERT
    others = ("redrive", "purge", "stats")

    quotes_strings = True

    def live(self, relation: Relation) -> Protocol[LiveTable | None]:
        given = {"table": relation.name, "schema": relation.schema}
        schema = ", :schema" if relation.schema else ""
        result = yield Run(
            "live_columns",
            'SELECT name, type, "notnull" AND dflt_value IS NULL AND NOT pk, pk, hidden'
            f" FROM pragma_table_xinfo(:table{schema})",
            given,
        )
        if not result.rows:
            return None
        keys = [row for row in result.rows if row[3]]
        # INTEGER PRIMARY KEY names the row's own number; a NULL there is numbered on insert
        numbered = len(keys) == 1 and str(keys[0][1]).upper() == "INTEGER"
        found = LiveTable(
            [
                LiveColumn(name, type, bool(required) and not hidden, numbered and bool(key))
                for name, type, required, key, hidden in result.rows
            ],
            cased=False,
        )
        found.index(("", row[0]) for row in keys)
        master = f"{_quoted(relation.schema)}.sqlite_master" if relation.schema else "sqlite_master"
        result = yield Run(
            "live_indexes",
            "SELECT l.name, i.name, m.type, m.sql FROM "
            f"{master} AS m LEFT JOIN pragma_index_list(m.name{schema}) AS l"
            f' ON l."unique" AND NOT l.partial LEFT JOIN pragma_index_info(l.name{schema}) AS i'
            " WHERE m.name = :table COLLATE NOCASE AND m.type IN ('table', 'view')",
            given,
        )
        found.view = any(row[2] == "view" for row in result.rows)
        found.index(row[:2] for row in result.rows if row[0] is not None)
        counted = any("AUTOINCREMENT" in str(row[3]).upper() for row in result.rows)
        found.reuses = any(column.numbered for column in found.columns) and not counted
        return found

    def fits(self, statement: str, sql: str, parameters: Mapping[str, Any]) -> Protocol[None]:
        yield Run(statement, f"EXPLAIN {sql}", parameters)

    def column(self, sql: str, error: BaseException | None) -> str | None:
        found = _MISSING.match(str(error))
        return found[1] if found else None


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
