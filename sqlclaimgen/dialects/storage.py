"""What a database can keep of a table: how long a row and a key may be, and which names are its own."""

from __future__ import annotations

import re
from dataclasses import dataclass

_SPELLED = re.compile(r"([a-z]+)(?:\(([^)]*)\))?(.*)", re.DOTALL)
_NARROW = re.compile(r"\b(?:ascii|latin1|binary)\b")
_FIXED = {
    "tinyint": 1,
    "bool": 1,
    "boolean": 1,
    "smallint": 2,
    "mediumint": 3,
    "int": 4,
    "integer": 4,
    "bigint": 8,
    "float": 4,
    "double": 8,
    "date": 3,
}
_LONG = ("text", "blob", "json")
_TIMES = {"datetime": 5, "timestamp": 4, "time": 3}
_DIGITS = (0, 1, 1, 2, 2, 3, 3, 4, 4)
"""Bytes of the digits that are no whole group of nine."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a database refuses in CREATE TABLE, measured on its servers."""

    key: int | None = None
    """Bytes of an index's columns together."""
    entry: int | None = None
    """Bytes of an index's entry, where the database measures values and not types."""
    row: int | None = None
    """Bytes of a row, long texts left out."""
    columns: int = 1000
    long_unique: bool = False
    """Whether a unique index may be longer: the database keeps a hash."""
    text_key: int | None = None
    """Characters of a text that is compared or indexed."""
    shared: bool = False
    """Whether tables and indexes share their names."""
    implied: tuple[str, ...] = ()
    """Names that a table takes as well; `{table}` stands for its own."""
    implied_generated: tuple[str, ...] = ()
    """The same where the database numbers the rows; `{id}` is their column."""
    prefix: str = ""
    """How no table's name may begin."""
    reserved: frozenset[str] = frozenset()
    """Names that no column may have, in lower case."""
    ignores_case: bool = True
    supplementary: bool = True
    """Whether names may have characters beyond U+FFFF."""
    wide_numbers: bool = False
    """Whether generated numbers have 63 bits whatever their type says."""
    numbered: tuple[str, ...] = ()
    """The types in which the database numbers rows, in lower case."""


@dataclass(frozen=True, slots=True)
class Size:
    """Bytes of a column in InnoDB."""

    row: int
    key: int | None
    """None: it cannot be part of a key."""
    character: int = 0
    """Bytes of one of its characters, where its length can be chosen."""


def size(spelled: str) -> Size:
    """What InnoDB keeps of a column of this type. Nothing for a type that is not known here."""
    match = _SPELLED.fullmatch(spelled.lower())
    if match is None:
        return Size(0, 0)
    name, arguments, behind = match.groups()
    numbers = [int(n) for n in re.findall(r"[0-9]{1,9}", arguments or "")]
    if name in _FIXED:
        return Size(_FIXED[name], _FIXED[name])
    if name in _TIMES:
        length = _TIMES[name] + ((numbers[0] if numbers else 0) + 1) // 2
        return Size(length, length)
    if name in ("decimal", "numeric") and len(numbers) == 2:
        length = _decimal(numbers[0] - numbers[1]) + _decimal(numbers[1])
        return Size(length, length)
    if name.endswith(_LONG):
        return Size(12, None)
    if name in ("varchar", "char", "varbinary", "binary") and numbers:
        character = 1 if "binary" in name or _NARROW.search(behind) else 4
        length = numbers[0] * character
        counted = 0 if not name.startswith("var") else 1 if length < 256 else 2
        return Size(length + counted, length, character)
    return Size(0, 0)


def _decimal(digits: int) -> int:
    return digits // 9 * 4 + _DIGITS[digits % 9]
