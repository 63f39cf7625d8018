"""The types of columns, by the word a description uses."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """The types of columns, by the word the description uses."""

    SMALLINT = "smallint"
    INT = "int"
    BIGINT = "bigint"
    TEXT = "text"
    VARCHAR = "varchar"
    BYTES = "bytes"
    JSON = "json"
    UUID = "uuid"
    BOOLEAN = "boolean"
    TIMESTAMP = "timestamp"
    DATE = "date"
    NUMERIC = "numeric"
    DOUBLE = "double"


INTEGERS = frozenset({Kind.SMALLINT, Kind.INT, Kind.BIGINT})
TEXTS = frozenset({Kind.TEXT, Kind.VARCHAR})


@dataclass(frozen=True, slots=True)
class Type:
    """A column's type. `length` is varchar's characters, `precision` timestamp's fraction digits
    (0 to 6) or numeric's digits, `scale` numeric's."""

    kind: Kind
    length: int | None = None
    precision: int | None = None
    scale: int | None = None

    def __str__(self) -> str:
        match self.kind:
            case Kind.VARCHAR:
                return f"varchar({self.length})"
            case Kind.NUMERIC:
                return f"numeric({self.precision},{self.scale})"
            case Kind.TIMESTAMP:
                return f"timestamp({self.precision})"
            case _:
                return self.kind.value
