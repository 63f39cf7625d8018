"""Types that random descriptions name in `python`."""

from __future__ import annotations

import enum
from dataclasses import dataclass


@dataclass(frozen=True)
class Thing:
    """A payload."""

    size: int = 0


class Colour(enum.Enum):
    """A text column's values."""

    RED = "red"
    BLUE = "blue"
