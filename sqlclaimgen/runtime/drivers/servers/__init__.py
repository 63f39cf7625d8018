"""What a worker asks each server before its first claim, by dialect."""

from __future__ import annotations

from collections.abc import Mapping

from sqlclaimgen.runtime.drivers.servers.base import Ends as Ends
from sqlclaimgen.runtime.drivers.servers.base import Server as Server
from sqlclaimgen.runtime.drivers.servers.base import Timeout as Timeout
from sqlclaimgen.runtime.drivers.servers.innodb import MariaDB, MySQL
from sqlclaimgen.runtime.drivers.servers.postgres import Postgres
from sqlclaimgen.runtime.drivers.servers.sqlite import SQLite

SERVERS: Mapping[str, Server] = {
    server.dialect: server for server in (Postgres(), MySQL(), MariaDB(), SQLite())
}
"""By dialect."""
