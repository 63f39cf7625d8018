"""Connections that are not served as they are: what of them to pass, or what to do instead."""

from __future__ import annotations

from collections.abc import Mapping

from sqlclaimgen.runtime.errors import UnsupportedServer

_INSERT = (
    "run the statement that the module's insert(new, ..) returns over it, and claim over a connection "
    "that is"
)
_SESSION = "pass its connection().connection.driver_connection, which stays in its transaction"
_ASYNC = (
    "to the functions that end in _async pass (await {}.get_raw_connection()).driver_connection, where its "
    "driver is psycopg; over another driver " + _INSERT
)
_DJANGO = "call its ensure_connection(), then pass its connection"
_POOL = "pass a connection of it"
_BLOCKING = "call the function whose name does not end in _async"

_WAYS_OUT: Mapping[str, str] = {
    "sqlalchemy.Session": _SESSION,
    "sqlalchemy.scoped_session": _SESSION,
    "sqlalchemy.Connection": "call its begin(), without which its commit() commits nothing, then pass its "
    "connection.driver_connection",
    "sqlalchemy.PoolProxiedConnection": "pass its driver_connection",
    "sqlalchemy.AsyncSession": _ASYNC.format("(await session.connection())"),
    "sqlalchemy.AsyncConnection": "call its begin(), without which its commit() commits nothing; then "
    + _ASYNC.format("connection"),
    "django.BaseDatabaseWrapper": _DJANGO,
    "django.BaseConnectionProxy": _DJANGO,
    "django.ConnectionProxy": _DJANGO,
    "psycopg_pool.ConnectionPool": _POOL,
    "psycopg_pool.AsyncConnectionPool": _POOL,
    "psycopg2.connection": _INSERT,
    "asyncpg.Connection": _INSERT,
    "asyncpg.Pool": _INSERT,
    "asyncpg.PoolConnectionProxy": _INSERT,
    "aiosqlite.Connection": _INSERT,
    "aiomysql.Connection": _INSERT,
    "asyncmy.Connection": _INSERT,
    "MySQLdb.Connection": _INSERT,
    "psycopg.AsyncConnection": "call the function whose name ends in _async, and await it",
    "psycopg.Connection": _BLOCKING,
    "pymysql.Connection": _BLOCKING,
    "sqlite3.Connection": _BLOCKING,
}
"""By library and class."""


def unserved(
    connection: object,
    *,
    table: str,
    needed: str = "a blocking connection of psycopg, PyMySQL or sqlite3",
) -> UnsupportedServer:
    """The error for a connection that cannot be used as it is."""
    kind: type[object] = type(connection)
    names = [f"{one.__module__.partition('.')[0]}.{one.__name__}" for one in kind.__mro__]
    way_out = next(
        (_WAYS_OUT[name] for name in names if name in _WAYS_OUT), "pass the driver's own"
    )
    return UnsupportedServer(
        f"{table}: a {kind.__module__}.{kind.__qualname__} is not {needed}. With this one: {way_out}.",
        table=table,
    )
