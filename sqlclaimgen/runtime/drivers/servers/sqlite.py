"""SQLite at start."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from sqlclaimgen.runtime.drivers.servers.base import Server
from sqlclaimgen.runtime.steps import Protocol, Run

_MISSING = re.compile(r"(?:no such column: (?:\w+\.)*|table .+ has no column named )(.+)")


class SQLite(Server):
    """SQLite: a library of this process, on this host's clock."""

    dialect = "sqlite"
    title = "SQLite"
    floor = (3, 35)
    version_query = "SELECT sqlite_version()"
    # SQLite takes a quoted name that is no column for a string, except in the list of an INSERT
    others = ("redrive", "purge", "stats")

    def fits(self, statement: str, sql: str, parameters: Mapping[str, Any]) -> Protocol[None]:
        yield Run(statement, f"EXPLAIN {sql}", parameters)

    def column(self, sql: str, error: BaseException | None) -> str | None:
        found = _MISSING.match(str(error))
        return found[1] if found else None
