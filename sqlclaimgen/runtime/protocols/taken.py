"""What a claim brought."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlclaimgen.runtime.deliveries import Delivery


@dataclass(slots=True)
class Taken:
    """The deliveries of one claim, in claim order. `exhausted` counts the rows that were moved to the
    dead letters on the way: they count towards a full claim."""

    deliveries: Sequence[Delivery[Any, Any]]
    limit: int
    exhausted: int = 0
    resume: Any = field(default=None)
    """Where the next claim of the same scope goes on, where a claim looks at groups in turn."""
    more: bool = False
    """Whether it stopped looking before it had seen every group, or every row."""
    refused: list[tuple[Delivery[Any, Any], Exception]] = field(
        default_factory=list["tuple[Delivery[Any, Any], Exception]"]
    )
    """Rows that the claim had to give up and could not, and why: they are tried again later."""

    @property
    def full(self) -> bool:
        """Whether more rows may be due."""
        return self.more or len(self.deliveries) + self.exhausted + len(self.refused) >= self.limit
