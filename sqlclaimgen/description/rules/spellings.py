"""Spellings of a column's type that are not ours: a database's exact type, a type in Python."""

from __future__ import annotations

import keyword
import unicodedata
from typing import TYPE_CHECKING

from sqlclaimgen.description.characters import hidden
from sqlclaimgen.description.model import PythonType, Role
from sqlclaimgen.description.roles import ROLES
from sqlclaimgen.dialects import exact_types

if TYPE_CHECKING:
    from sqlclaimgen.description.column_shape import ColumnShape
    from sqlclaimgen.description.scope import Scope


def python_type(
    scope: Scope, name: str, shape: ColumnShape, role: Role | None
) -> PythonType | None:
    """The type that `python = "module:Name"` names."""
    if shape.python is None:
        return None
    at = ("columns", name, "python")
    if role and (reason := ROLES[role].python):
        scope.error(
            "PYTHON-TYPE",
            f"column `{name}` has role `{role}` and cannot hold a type of your own: {reason}",
            "Leave `python` out.",
            *at,
        )
        return None
    module, colon, name_in_module = shape.python.partition(":")
    if module == "__future__":
        scope.error(
            "PYTHON-TYPE",
            f"`python` of column `{name}` names `__future__`, which is part of the language",
            "Name a type of your own.",
            *at,
        )
        return None
    if colon and _names(module, dotted=True) and _names(name_in_module, dotted=False):
        return PythonType(module, name_in_module)
    scope.error(
        "PYTHON-TYPE",
        f'`python` of column `{name}` is "{shape.python}", which names no type',
        'Write the module, a colon and the name: python = "app.models:Report".',
        *at,
    )
    return None


def _names(text: str, *, dotted: bool) -> bool:
    parts = text.split(".") if dotted else [text]
    return all(
        part.isidentifier()
        and not keyword.iskeyword(part)
        # Python reads another name than the one that is written
        and unicodedata.normalize("NFKC", part) == part
        for part in parts
    )


def check_sql(scope: Scope, name: str, shape: ColumnShape) -> None:
    """Refuse an exact type that is more than a type: it is written into the DDL as it stands."""
    for dialect, text in shape.sql.items():
        if hidden(text) is not None or not exact_types.is_type(text):
            scope.error(
                "SQL-TYPE",
                f"`sql.{dialect}` of column `{name}` is no type",
                'Write a type\'s name, with a size, a character set or a collation behind it: "varchar(40)".',
                "columns",
                name,
                "sql",
                dialect,
            )
