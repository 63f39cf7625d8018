"""What a driver was asked to open, and what went wrong where it did not."""

from __future__ import annotations

import sys
from typing import Any

_EXTRAS = {"psycopg": "postgres", "pymysql": "mysql"}
"""What installs a driver, by its module."""
_DRIVERS = (*_EXTRAS, "sqlite3")


def is_asyncio(connection: Any) -> bool:
    """Whether it is an asyncio connection that is served."""
    psycopg = sys.modules.get("psycopg")
    return psycopg is not None and isinstance(connection, psycopg.AsyncConnection)


def is_of_another_thread(error: BaseException) -> bool:
    """Whether a connection refuses to be used because another thread opened it (sqlite3)."""
    sqlite3 = sys.modules.get("sqlite3")
    wrong = sqlite3 is not None and isinstance(error, sqlite3.ProgrammingError)
    return wrong and "same thread" in str(error)


def from_driver(error: BaseException) -> bool:
    """Whether an error is a driver's own."""
    modules = [sys.modules[name] for name in _DRIVERS if name in sys.modules]
    return any(isinstance(error, module.Error) for module in modules)


def installation(error: BaseException) -> str:
    """The command that installs the driver that was not found, where that is what the error says, else
    nothing."""
    name = error.name if isinstance(error, ModuleNotFoundError) else None
    extra = _EXTRAS.get((name or "").partition(".")[0])
    return f"pip install 'sqlclaimgen[{extra}]'" if extra else ""
