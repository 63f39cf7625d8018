"""`:name` in a generated statement to what a driver takes.

The text in the `.sql` file is the one that runs; only its placeholders are respelled here.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from typing import Any

# a name is a field's: marks that Python allows in one are no part of a word to `\w`;
# identifiers and strings are passed over, and so is `::`, which a user's `where` may hold
_ANSI = re.compile(
    r"""(?P<skip>"(?:[^"]|"")*"|'(?:[^']|'')*'|--[^\n]*|::)|:(?P<name>[A-Za-z_\x80-\U0010ffff][\w\x80-\U0010ffff]*)|(?P<percent>%)"""
)
_MYSQL = re.compile(
    r"""(?P<skip>`(?:[^`]|``)*`|"(?:[^"\\]|\\.|"")*"|'(?:[^'\\]|\\.|'')*'|--[^\n]*)"""
    r"""|:(?P<name>[A-Za-z_\x80-\U0010ffff][\w\x80-\U0010ffff]*)|(?P<percent>%)""",
    re.DOTALL,
)


def _doubled(text: str) -> str:
    return text.replace("%", "%%")


def _respell(
    pattern: re.Pattern[str],
    sql: str,
    placeholder: Callable[[str], str],
    kept: Callable[[str], str] = _doubled,
) -> str:
    def one(match: re.Match[str]) -> str:
        name = match["name"]
        return placeholder(name) if name else kept(match[0])

    return pattern.sub(one, sql)


@functools.cache
def pyformat(sql: str) -> str:
    """For psycopg: `:name` to `%(name)s`, and `%` doubled, inside quotes too."""
    return _respell(_ANSI, sql, lambda name: f"%({name})s")


@functools.cache
def names(sql: str, *, backslashes: bool = False) -> tuple[str, ...]:
    """The placeholders of a statement, in order, each once. `backslashes`: names are in backticks and
    a backslash escapes in strings, as on MySQL and MariaDB."""
    found = (match["name"] for match in (_MYSQL if backslashes else _ANSI).finditer(sql))
    return tuple(dict.fromkeys(name for name in found if name))


def replaced(
    sql: str,
    placeholder: Callable[[str], str],
    *,
    backslashes: bool = False,
    kept: Callable[[str], str] = str,
) -> str:
    """The statement with something else for each placeholder: a literal, or another spelling. `kept` is
    given its quoted names and strings, its comments and each `%`."""
    return _respell(_MYSQL if backslashes else _ANSI, sql, placeholder, kept)


def expanded(sql: str, parameters: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """For PyMySQL: as pyformat, with one placeholder for each item of a `Many`."""
    # the generator, which reads names alone, does without
    from sqlclaimgen.runtime.steps import Many

    values: dict[str, Any] = {}

    def placeholder(name: str) -> str:
        value = parameters[name]
        if not isinstance(value, Many):
            values[name] = value
            return f"%({name})s"
        return ", ".join(_item(f"{name}_{n}", item, values) for n, item in enumerate(value.items))

    return _respell(_MYSQL, sql, placeholder), values


def _item(name: str, item: Any, values: dict[str, Any]) -> str:
    if not isinstance(item, tuple):
        values[name] = item
        return f"%({name})s"
    parts: list[str] = []
    for n, part in enumerate(item):  # pyright: ignore[reportUnknownArgumentType,reportUnknownVariableType]
        values[f"{name}_{n}"] = part
        parts.append(f"%({name}_{n})s")
    return "(" + ", ".join(parts) + ")"
