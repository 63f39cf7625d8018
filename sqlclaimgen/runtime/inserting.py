"""The statement that adds a row, for connections that are not driven here: asyncpg, SQLAlchemy."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Generic, TypeVar

from sqlclaimgen.runtime import placeholders
from sqlclaimgen.runtime.errors import UnsupportedServer
from sqlclaimgen.runtime.protocols import enqueuing
from sqlclaimgen.runtime.queue import Queue

N = TypeVar("N")
Parameters = TypeVar("Parameters")
"""What a style takes the values of a statement in."""

_COLON = re.compile(r"(?<![:\w\\]):(?=\w)")


@dataclass(frozen=True, slots=True)
class Style(Generic[Parameters]):
    """How a driver spells the parameters of a statement, and in what it takes their values."""

    name: str
    spell: Callable[[str, Mapping[str, Any], bool], tuple[str, Parameters]]
    """From the generated statement, the values by name, and whether names stand in backticks."""


def _named(sql: str, values: Mapping[str, Any], backticks: bool) -> tuple[str, dict[str, Any]]:
    return sql, dict(values)


def _sqlalchemy(sql: str, values: Mapping[str, Any], backticks: bool) -> tuple[str, dict[str, Any]]:
    text = placeholders.replaced(
        sql,
        lambda name: f":{name}",
        backslashes=backticks,
        kept=lambda text: _COLON.sub(r"\\:", text),
    )
    return text, dict(values)


def _pyformat(sql: str, values: Mapping[str, Any], backticks: bool) -> tuple[str, dict[str, Any]]:
    text = placeholders.replaced(
        sql,
        lambda name: f"%({name})s",
        backslashes=backticks,
        kept=lambda text: text.replace("%", "%%"),
    )
    return text, dict(values)


def _numeric(sql: str, values: Mapping[str, Any], backticks: bool) -> tuple[str, tuple[Any, ...]]:
    names = placeholders.names(sql, backslashes=backticks)
    text = placeholders.replaced(
        sql, lambda name: f"${names.index(name) + 1}", backslashes=backticks
    )
    return text, tuple(values[name] for name in names)


NAMED: Style[dict[str, Any]] = Style("named", _named)
"""`:name`, as sqlite3 and aiosqlite take it."""
SQLALCHEMY: Style[dict[str, Any]] = Style("sqlalchemy", _sqlalchemy)
"""`:name`, as SQLAlchemy's `text()` takes it."""
PYFORMAT: Style[dict[str, Any]] = Style("pyformat", _pyformat)
"""`%(name)s`, as psycopg, PyMySQL and aiomysql take it."""
NUMERIC: Style[tuple[Any, ...]] = Style("numeric", _numeric)
"""`$1`, as asyncpg takes it."""


def insert(
    queue: Queue[Any, Any, N, Any],
    new: N,
    dialect: str,
    style: Style[Parameters],
    delay: timedelta = timedelta(0),
    at: datetime | None = None,
) -> tuple[str, Parameters]:
    """The statement that adds a row, and its parameters. Raises what `enqueue` raises of a row that does
    not encode, and UnsupportedServer for a table whose time is the database's: it would have to be asked.
    """
    bound = queue.bind(dialect)
    if queue.retry_after is not None and at is None and bound.needs_reading:
        raise UnsupportedServer(
            f"{queue.table}: the table's clock is the database's, which insert() cannot read. Give the time "
            "that the row is due at, with at=.",
            table=queue.table,
        )
    values = enqueuing.parameters(bound, new, delay, at)
    return style.spell(bound.statements["enqueue"], values, bound.codec.backticks)
