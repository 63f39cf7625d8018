"""Real database servers for tests, one interface over all four dialects.

    def test_something(database: Database) -> None:      # runs on every dialect
        connection = database.connect()

    @on_dialects("mysql", "mariadb")
    def test_two(database: InnoDBDatabase) -> None: ...

Servers start when a test first asks for them and stop when the run ends.
"""

from __future__ import annotations

from .base import ClientFailed, Database, Server
from .innodb import InnoDBDatabase, InnoDBServer
from .mariadb import MariaDBDatabase, MariaDBServer
from .mysql import MySQLDatabase, MySQLServer
from .pgbouncer import PgBouncer
from .postgres import PostgresDatabase, PostgresServer
from .processes import ServerFailed
from .programs import ProgramMissing
from .registry import ALL_DIALECTS, SERVERS, ServerPark, on_dialects
from .sqlite import SQLiteDatabase, SQLiteServer

__all__ = [
    "ALL_DIALECTS",
    "SERVERS",
    "ClientFailed",
    "Database",
    "InnoDBDatabase",
    "InnoDBServer",
    "MariaDBDatabase",
    "MariaDBServer",
    "MySQLDatabase",
    "MySQLServer",
    "PgBouncer",
    "PostgresDatabase",
    "PostgresServer",
    "ProgramMissing",
    "SQLiteDatabase",
    "SQLiteServer",
    "Server",
    "ServerFailed",
    "ServerPark",
    "on_dialects",
]
