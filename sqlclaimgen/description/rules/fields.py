"""Python names of columns: what a dataclass can call its fields (catalogue GI-01, GI-02, GI-04)."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlclaimgen.description.scope import Scope

KEYWORDS = frozenset(
    {
        "False",
        "None",
        "True",
        "and",
        "as",
        "assert",
        "async",
        "await",
        "break",
        "class",
        "continue",
        "def",
        "del",
        "elif",
        "else",
        "except",
        "finally",
        "for",
        "from",
        "global",
        "if",
        "import",
        "in",
        "is",
        "lambda",
        "nonlocal",
        "not",
        "or",
        "pass",
        "raise",
        "return",
        "try",
        "while",
        "with",
        "yield",
    }
)
"""Written out, so that one description gives the same bytes under every Python."""

SOFT_KEYWORDS = frozenset({"case", "match", "type"})

ANNOTATIONS = frozenset(
    {
        "bool",
        "bytearray",
        "bytes",
        "complex",
        "dict",
        "float",
        "frozenset",
        "int",
        "list",
        "memoryview",
        "object",
        "range",
        "set",
        "slice",
        "str",
        "tuple",
    }
)
"""A field of this name would hide the type from the annotations of the fields below it."""

AMBIGUOUS = frozenset({"I", "O", "l"})
"""ruff refuses these as names (E741)."""

RESERVED = KEYWORDS | SOFT_KEYWORDS | ANNOTATIONS | AMBIGUOUS


def resolve(scope: Scope) -> dict[str, str]:
    """The field of each column, by the column's name."""
    fields: dict[str, str] = {}
    owners: dict[str, str] = {}
    for column in scope.columns:
        name = column.name
        shape = scope.shape.columns[name]
        if shape.field is not None:
            field = _chosen(scope, name, shape.field)
        else:
            field = _mapped(scope, name)
        if field is None:
            fields[name] = "unnamed"
            continue
        if (owner := owners.setdefault(field, name)) != name:
            scope.error(
                "FIELD-TWICE",
                f"columns `{owner}` and `{name}` are both called `{field}` in Python",
                f'Give one of them a name of its own: field = "{field.rstrip("_")}_2".',
                "columns",
                name,
                *(["field"] if shape.field is not None else []),
            )
        fields[name] = field
    return fields


def field_name(column: str) -> str | None:
    """The Python name for a column's name, or None when too little of it is left.

    NFKC, as Python reads names; what no name may contain becomes `_`; underscores in front go,
    because such a name is private to type checkers; a digit in front gets `column_` before it; a
    name that Python or the generated class needs gets `_` behind it.
    """
    text = unicodedata.normalize("NFKC", column.strip())
    text = "".join(c if ("_" + c).isidentifier() else "_" for c in text).lstrip("_")
    if not text or not text.strip("_"):
        return None
    if not text.isidentifier():
        text = f"column_{text}"
    return f"{text}_" if text in RESERVED else text


def _mapped(scope: Scope, name: str) -> str | None:
    field = field_name(name)
    if field is None and name.strip():
        scope.error(
            "FIELD-UNMAPPABLE",
            f'nothing of the column name "{name}" can be a name in Python',
            'Name it yourself: field = "share".',
            "columns",
            name,
        )
    return field


def _chosen(scope: Scope, name: str, field: str) -> str | None:
    at = ("columns", name, "field")
    what = f'`field` of column `{name}` is "{field}", which '
    if field.startswith("_"):
        scope.error(
            "FIELD",
            what + "is private to type checkers",
            "Choose a name without an underscore in front.",
            *at,
        )
    elif not field.isidentifier():
        scope.error(
            "FIELD", what + "is no name in Python", "Use letters, digits and underscores.", *at
        )
    elif unicodedata.normalize("NFKC", field) != field:
        scope.error(
            "FIELD",
            what + "Python reads as another name",
            f'Write it as Python does: field = "{unicodedata.normalize("NFKC", field)}".',
            *at,
        )
    elif field in RESERVED:
        scope.error(
            "FIELD",
            what + "the generated class cannot use",
            f'Choose another: field = "{field}_".',
            *at,
        )
    else:
        return field
    return None
