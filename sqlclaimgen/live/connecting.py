"""From a DSN to a connection of the driver that serves it."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import parse_qsl, unquote

_POSTGRES = ("postgresql", "postgres")
_MYSQL = ("mysql", "mariadb")

_URL = re.compile(
    r"""
    (?P<scheme>[a-z]+)://
    (?:(?P<user>(?:[^@:/?\#\[\]%\s]|%[0-9A-Fa-f]{2})*)
       (?::(?P<password>(?:[^@/?\#\[\]%\s]|%[0-9A-Fa-f]{2})*))?@)?
    (?P<hosts>(?:\[[0-9A-Fa-f:.]+\]|(?:[\w.-]|%[0-9A-Fa-f]{2})*)  # several, for PostgreSQL
       (?::(?P<port>[0-9]{1,5}))?(?:,(?:\[[0-9A-Fa-f:.]+\]|[\w.-]+)(?::[0-9]{1,5})?)*)
    (?:/(?P<database>(?:[^@?\#%\s]|%[0-9A-Fa-f]{2})*))?
    (?:\?(?P<query>(?:[^@\#%\s]|%[0-9A-Fa-f]{2})*))?
    """,
    re.VERBOSE,
)
"""A DSN that can be read in one way. A character that ends the password, or the host, for one parser
and not for another is refused: the rest of a password would be taken for a host, and shown."""


class DsnRefused(Exception):
    """A DSN that leads nowhere. `hint` says the way out. Neither shows a password."""

    def __init__(self, text: str, hint: str) -> None:
        super().__init__(text)
        self.hint = hint


def connect(dsn: str) -> Any:
    """A connection to the database of `dsn`: `postgresql://`, `mysql://`, `mariadb://` or `sqlite:///`.

    Raises DsnRefused for another scheme, a DSN that cannot be read, a driver that is not installed,
    or a server that says no.
    """
    scheme, found, rest = dsn.partition("://")
    if "=" in scheme:
        return _postgres(dsn)
    if not found or not re.fullmatch("[a-z]+", scheme):
        raise _unread("it begins with none of postgresql://, mysql://, mariadb:// and sqlite:///")
    if scheme == "sqlite":
        return _sqlite(rest)
    if scheme not in _POSTGRES + _MYSQL:
        raise DsnRefused(
            f"a DSN of the scheme `{scheme}` leads to no database of these",
            "Write postgresql://user@host/database, mysql://.., mariadb://.. or sqlite:///file.",
        )
    parts = _URL.fullmatch(dsn)
    # %00 ends a text for some libraries
    if parts is None or "%00" in dsn or not dsn.isprintable():
        raise _unread(f"it is not {scheme}://user:password@host:port/database")
    return _postgres(dsn) if scheme in _POSTGRES else _mysql(parts)


def _postgres(dsn: str) -> Any:
    try:
        import psycopg
        from psycopg.conninfo import conninfo_to_dict
    except ImportError:
        raise _missing("psycopg", "postgres") from None
    try:
        conninfo_to_dict(dsn)
    except (psycopg.Error, ValueError):
        # libpq quotes the place, which may be in the password
        raise _unread("libpq finds a part of it that it does not know") from None
    try:
        return psycopg.connect(dsn, autocommit=True, application_name="sqlclaimgen")
    except psycopg.OperationalError as error:
        raise _unreachable(error) from None
    except (psycopg.Error, ValueError):
        raise _unread("psycopg does not take one of its options") from None


def _mysql(parts: re.Match[str]) -> Any:
    try:
        import pymysql
    except ImportError:
        raise _missing("PyMySQL", "mysql") from None
    port = int(parts["port"] or 3306)
    if "," in parts["hosts"] or port > 65535:
        raise _unread("PyMySQL takes one host, and a port up to 65535")
    host = parts["hosts"].removesuffix(f":{parts['port']}").strip("[]")
    user, password = parts["user"], parts["password"]
    query = parts["query"]
    try:
        options: dict[str, Any] = dict(parse_qsl(query, strict_parsing=True)) if query else {}
    except ValueError:
        raise _unread("after its ? stands something else than name=value") from None
    try:
        return pymysql.connect(
            host=unquote(host) or "localhost",
            port=port,
            user=unquote(user) if user else None,
            password=unquote(password or ""),
            database=unquote(parts["database"] or "") or None,
            charset="utf8mb4",
            autocommit=True,
            **options,
        )
    except (pymysql.Error, OSError) as error:
        raise _unreachable(error) from None
    except (ValueError, TypeError, LookupError, AttributeError):
        raise _unread("PyMySQL does not take one of its options") from None


def _sqlite(rest: str) -> Any:
    import sqlite3
    from pathlib import Path

    path = unquote(rest.partition("?")[0].removeprefix("/"))
    if "\0" in path or not Path(path).is_file():
        # SQLite has no passwords: what stands before an @ belongs to another database's DSN
        named = "of that name" if "@" in rest else path
        raise DsnRefused(
            f"there is no file {named}",
            "Write sqlite:///jobs.db for a file here, or sqlite:////var/lib/jobs.db.",
        )
    try:
        return sqlite3.connect(path, timeout=10, isolation_level=None)
    except sqlite3.Error as error:
        raise _unreachable(error) from None


def _missing(driver: str, extra: str) -> DsnRefused:
    return DsnRefused(f"{driver} is not installed", f"pip install 'sqlclaimgen[{extra}]'")


def _unread(why: str) -> DsnRefused:
    """What cannot be read is not shown: any part of it may be the password's."""
    return DsnRefused(
        f"the DSN cannot be read: {why}",
        "In a DSN that begins with a scheme, percent-encode the password and every other part: "
        "@ is %40, : %3A, / %2F, # %23, ? %3F, [ %5B, ] %5D, % %25, a space %20.",
    )


def _unreachable(error: BaseException) -> DsnRefused:
    text = " ".join(str(error).split())
    return DsnRefused(
        f"no connection: {text}", "See that the server runs, and that the DSN is right."
    )
