"""Keys of tables: each names a Python module and files, and no two name one table."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sqlclaimgen.description.model import DeadLetterTable
from sqlclaimgen.description.rules.fields import KEYWORDS
from sqlclaimgen.description.rules.names import fold

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlclaimgen.description.findings import Findings
    from sqlclaimgen.description.model import Table
    from sqlclaimgen.description.scope import Scope

PATTERN = "^[a-z][a-z0-9_]*$"

_KEY = re.compile(r"[a-z][a-z0-9_]*", re.ASCII)
DEVICES = frozenset({"con", "prn", "aux", "nul"}) | {
    f"{port}{n}" for port in ("com", "lpt") for n in range(1, 10)
}
"""File names that Windows keeps for devices, with any ending."""

LONGEST = 200
"""Characters. File systems take 255 bytes, endings included."""


def check(scope: Scope) -> None:
    """Refuse a key that cannot name a module and its files."""
    key = scope.key
    if not _KEY.fullmatch(key):
        what = f'the table key "{key}" is no name of a Python module'
    elif key in KEYWORDS:
        what = f'the table key "{key}" is a keyword of Python, and no module can be called so'
    elif key in DEVICES:
        what = f'the table key "{key}" cannot be a file on Windows'
    elif len(key) > LONGEST:
        what = f"the table key has {len(key)} characters, too many for the name of a file"
    else:
        return
    module = suggestion(key)
    name = scope.shape.name or key
    scope.error(
        "TABLE-KEY",
        what,
        f'Write [table.{module}] and name = "{name}": lower-case letters, digits and underscores.',
    )


def suggestion(key: str) -> str:
    """A key that is fine, for one that is not."""
    text = re.sub(r"[^a-z0-9_]+", "_", key.lower(), flags=re.ASCII).strip("_")[:LONGEST]
    if not text:
        return "jobs"
    if not text[0].isalpha() or text in KEYWORDS or text in DEVICES:
        return f"table_{text}"
    return text


def check_together(keys: Sequence[str], findings: Findings) -> set[str]:
    """The keys that name a file of another where names ignore case, refused (catalogue GI-04)."""
    refused: set[str] = set()
    seen: dict[str, str] = {}
    for key in keys:
        other = seen.setdefault(fold(re.sub(r"[^\w]", "_", key)), key)
        if other != key:
            findings.error(
                "TABLE-KEY-TWICE",
                f"the table keys `{other}` and `{key}` name one module and one file",
                'Rename one of them; name = ".." keeps the name in the database.',
                ("table", key),
            )
            refused.add(key)
    return refused


def check_tables(tables: Sequence[Table], findings: Findings) -> None:
    """Refuse two descriptions of one table, and a dead-letter table that is something else."""
    seen: dict[tuple[str, str, str], tuple[str, str]] = {}
    for table in tables:
        at: tuple[str, ...] = ("name",) if table.name != table.key else ()
        places: list[tuple[str | None, str, str, tuple[str, ...]]] = [
            (table.schema, table.name, "table", at)
        ]
        letter = table.dead_letter
        if isinstance(letter, DeadLetterTable):
            places.append(
                (letter.schema, letter.name, "dead-letter table", ("dead_letter", "table"))
            )
        for schema, name, says, at in places:
            for dialect in table.dialects:
                place = (dialect, fold(schema or ""), fold(name))
                other = seen.setdefault(place, (says, table.key))
                if other != (says, table.key):
                    findings.error(
                        "TABLE-TWICE",
                        f"`{name}` is the {says} of `{table.key}` and the {other[0]} of "
                        f"`{other[1]}`",
                        "Each is created and filled in its own way: name another table.",
                        ("table", table.key, *at),
                    )
                    break
