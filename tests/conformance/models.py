"""Types of a team's own, as descriptions name them."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import uuid


class Colour(enum.StrEnum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


@dataclasses.dataclass(frozen=True)
class Line:
    sku: str
    count: int
    price: decimal.Decimal


@dataclasses.dataclass(frozen=True)
class Order:
    id: uuid.UUID
    placed: datetime.datetime
    day: datetime.date
    lines: list[Line]
    colour: Colour
    tags: dict[str, int]
    note: str | None = None
