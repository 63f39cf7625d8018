"""Drivers' connections, as far as types go: a module names those it serves and needs no driver for it."""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias


class PostgresConnection(Protocol):
    """A psycopg 3 connection."""

    @property
    def pgconn(self) -> Any: ...
    def commit(self) -> None: ...
    def rollback(self) -> None: ...


class AsyncPostgresConnection(Protocol):
    """A psycopg 3 asyncio connection."""

    @property
    def pgconn(self) -> Any: ...
    async def commit(self) -> None: ...
    async def rollback(self) -> None: ...


class SQLiteConnection(Protocol):
    """A sqlite3 connection."""

    @property
    def in_transaction(self) -> bool: ...
    def commit(self) -> None: ...
    def rollback(self) -> None: ...


class MySQLConnection(Protocol):
    """A PyMySQL connection, to MySQL or MariaDB."""

    def get_autocommit(self) -> bool: ...
    def commit(self) -> None: ...
    def rollback(self) -> None: ...


Connection: TypeAlias = PostgresConnection | SQLiteConnection | MySQLConnection
"""Any blocking connection."""
