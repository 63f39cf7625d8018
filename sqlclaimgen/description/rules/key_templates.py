"""Templates of advisory lock keys: `accounts-{account}`, with `{{` and `}}` for braces.

A parser of its own: `str.format` would take attributes, conversions and format specs, and fail on
a brace in the text (catalogue GI-10).
"""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import TYPE_CHECKING

from sqlclaimgen.description.characters import hidden, named
from sqlclaimgen.description.model import INTEGERS, TEXTS, KeyPart, KeyTemplate, Kind

if TYPE_CHECKING:
    from sqlclaimgen.description.model import Column
    from sqlclaimgen.description.scope import Scope

AT = "advisory_lock"

_PIECE = re.compile(r"(?P<double>\{\{|\}\})|\{(?P<name>[^{}]*)\}|(?P<lone>[{}])|(?P<text>[^{}]+)")


def resolve(scope: Scope) -> KeyTemplate | None:
    """The key of the advisory lock form, taken apart."""
    source = scope.shape.advisory_lock
    if source is None:
        return None
    if not source.strip():
        scope.error(
            "KEY-EMPTY",
            "the key of `advisory_lock` is empty",
            'Write what keeps rows apart: advisory_lock = "accounts-{account}".',
            AT,
        )
    if (at := hidden(source)) is not None:
        scope.error(
            "KEY-TEXT",
            f"the key of `advisory_lock` holds the character {named(source[at])}, which ends a line "
            "or is not seen",
            "Write the key on one line of plain text.",
            AT,
            inside=at,
        )
    parts: list[KeyPart] = []
    text = ""
    for match in _PIECE.finditer(source):
        if match["text"] or match["double"]:
            text += match["text"] or match["double"][0]
        elif match["lone"]:
            _report_lone(scope, match["lone"], match.start())
        else:
            column = _column(scope, match["name"], match.start())
            if column is not None:
                parts += [KeyPart(text=text)] if text else []
                parts.append(KeyPart(column=column))
                text = ""
    parts += [KeyPart(text=text)] if text else []
    return KeyTemplate(source, tuple(parts))


def _report_lone(scope: Scope, brace: str, at: int) -> None:
    other = "is not closed" if brace == "{" else "closes nothing"
    scope.error(
        "KEY-BRACE",
        f"a `{brace}` in the key {other}",
        f"Write {{column}} for a column's value, and `{brace}{brace}` for the brace itself.",
        AT,
        inside=at,
    )


def _column(scope: Scope, name: str, at: int) -> Column | None:
    columns = {column.name: column for column in scope.columns}
    column = columns.get(name)
    if column is None:
        _report_unknown(scope, name, at, list(columns))
        return None
    kind = column.type.kind
    if column.name in scope.doubtful:
        return column
    if column.null:
        scope.error(
            "KEY-NULL",
            f"column `{name}` in the key may be NULL, and such a row would never be claimed",
            "Use a column that is not nullable.",
            AT,
            inside=at,
        )
    if kind not in INTEGERS | TEXTS | {Kind.UUID}:
        scope.error(
            "KEY-TYPE",
            f"column `{name}` in the key is {column.type}, which each database spells its own way",
            "Use integers, text or uuid in a key.",
            AT,
            inside=at,
        )
    return column


def _report_unknown(scope: Scope, name: str, at: int, columns: list[str]) -> None:
    bare = re.split(r"[!:.\[]", name, maxsplit=1)[0].strip()
    if bare != name and bare in columns:
        what = f"`{{{name}}}` is more than a column's name"
        hint = f"Write {{{bare}}}: values are inserted as they are, without conversion or format."
    elif not name.strip():
        what = "a `{}` in the key names no column"
        hint = "Write {column} with the column's name, or `{{}}` for the braces themselves."
    elif scope.findings.is_broken(scope.path("columns", name)):
        return
    else:
        close = get_close_matches(name, columns, 1)
        what = f"the key names column `{name}`, and table `{scope.key}` has none"
        hint = (
            f"Did you mean {{{close[0]}}}?"
            if close
            else f"Its columns are {', '.join(columns)}; `{{{{` and `}}}}` are braces themselves."
        )
    scope.error("KEY-COLUMN", what, hint, AT, inside=at)
