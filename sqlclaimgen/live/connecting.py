"""From a DSN to a connection of the driver that serves it."""

from __future__ import annotations

from typing import Any
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

_POSTGRES = ("postgresql", "postgres")
_MYSQL = ("mysql", "mariadb")


class DsnRefused(Exception):
    """A DSN that leads nowhere. `hint` says the way out. Neither shows a password."""

    def __init__(self, text: str, hint: str) -> None:
        super().__init__(text)
        self.hint = hint


def connect(dsn: str) -> Any:
    """A connection to the database of `dsn`: `postgresql://`, `mysql://`, `mariadb://` or `sqlite:///`.

    Raises DsnRefused for another scheme, a driver that is not installed, or a server that says no.
    """
    parts = urlsplit(dsn)
    if parts.scheme in _POSTGRES or (not parts.scheme and "=" in dsn):
        return _postgres(dsn)
    if parts.scheme in _MYSQL:
        return _mysql(parts)
    if parts.scheme == "sqlite":
        return _sqlite(parts)
    raise DsnRefused(
        f"a DSN of the scheme `{parts.scheme}` leads to no database of these",
        "Write postgresql://user@host/database, mysql://.., mariadb://.. or sqlite:///file.",
    )


def _postgres(dsn: str) -> Any:
    try:
        import psycopg
    except ImportError:
        raise _missing("psycopg", "postgres") from None
    try:
        return psycopg.connect(dsn, autocommit=True, application_name="sqlclaimgen")
    except psycopg.Error as error:
        raise _unreachable(error) from error


def _mysql(parts: SplitResult) -> Any:
    try:
        import pymysql
    except ImportError:
        raise _missing("PyMySQL", "mysql") from None
    options: dict[str, Any] = dict(parse_qsl(parts.query))
    try:
        return pymysql.connect(
            host=parts.hostname or "localhost",
            port=parts.port or 3306,
            user=unquote(parts.username) if parts.username else None,
            password=unquote(parts.password or ""),
            database=unquote(parts.path.removeprefix("/")) or None,
            charset="utf8mb4",
            autocommit=True,
            **options,
        )
    except (pymysql.Error, OSError, ValueError, TypeError) as error:
        raise _unreachable(error) from error


def _sqlite(parts: SplitResult) -> Any:
    import sqlite3
    from pathlib import Path

    path = unquote(parts.netloc + parts.path.removeprefix("/"))
    if not Path(path).is_file():
        raise DsnRefused(
            f"there is no file {path}",
            "Write sqlite:///jobs.db for a file here, or sqlite:////var/lib/jobs.db.",
        )
    return sqlite3.connect(path, timeout=10, isolation_level=None)


def _missing(driver: str, extra: str) -> DsnRefused:
    return DsnRefused(f"{driver} is not installed", f"pip install 'sqlclaimgen[{extra}]'")


def _unreachable(error: BaseException) -> DsnRefused:
    text = " ".join(str(error).split())
    return DsnRefused(
        f"no connection: {text}", "See that the server runs, and that the DSN is right."
    )
