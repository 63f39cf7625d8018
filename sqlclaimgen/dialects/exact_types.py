"""What the exact type of a column may be, `sql = { postgres = "citext" }`: it is written into DDL and
statements as it stands, so it is one type by its grammar, and nothing beside it."""

from __future__ import annotations

import re

LONGEST = 1000
"""Characters."""

_WORD = r"[^\W\d]\w*"
_NAME = rf'(?:{_WORD}|"[^"\\$]+")'
_TEXT = r"'(?:[^'\\]|'')*'"
_ARGUMENT = rf"(?:[+-]?[0-9]+|{_WORD}|{_TEXT})"
_SIZE = rf"\( *{_ARGUMENT}(?: *, *{_ARGUMENT})* *\)"
_FURTHER = (
    "varying",
    "precision",
    "character",
    "char",
    "varchar",
    "object",
    "large object",
    "big int",
    "int",
    "integer",
    "signed",
    "unsigned",
    "zerofill",
    "binary",
    "byte",
    "ascii",
    "unicode",
    "with time zone",
    "without time zone",
    "year",
    "month",
    "day",
    "hour",
    "minute",
    "second",
    "to month",
    "to hour",
    "to minute",
    "to second",
    "array",
)
"""What may follow the first word of a type, as in `double precision`, `timestamp(6) with time zone`."""

_FOLLOWS = "|".join(word.replace(" ", " +") for word in _FURTHER)
_TYPE = re.compile(
    rf"{_NAME}(?:\.{_NAME})*"
    rf"(?: *{_SIZE}| *\[[0-9]*\]| +(?:{_FOLLOWS})\b| +(?:character +set|charset) +{_WORD}"
    rf"| +collate +{_NAME}(?:\.{_NAME})*)*",
    re.IGNORECASE,
)
_NO_TYPE = re.compile(
    r"(?:as|autoincrement|auto_increment|check|collate|comment|constraint|default|exclude|foreign|"
    r"fulltext|generated|index|key|like|not|null|on|primary|references|serial|serial2|serial4|serial8|"
    r"bigserial|smallserial|spatial|unique)\b",
    re.IGNORECASE,
)
"""Words that begin something else in the definition of a column; PostgreSQL's serial is a default."""

_COLLATE = re.compile(rf" +collate +{_NAME}(?:\.{_NAME})*", re.IGNORECASE)


def is_type(text: str) -> bool:
    """Whether `text` is a type name with, where it has them, a schema, sizes, array bounds, a character
    set and a collation."""
    return (
        len(text) <= LONGEST and _TYPE.fullmatch(text) is not None and _NO_TYPE.match(text) is None
    )


def without_collation(text: str) -> str:
    """The type as a cast takes it."""
    return _COLLATE.sub("", text)
