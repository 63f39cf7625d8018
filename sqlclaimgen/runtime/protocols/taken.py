"""What a claim brought."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlclaimgen.runtime.deliveries import Delivery


@dataclass(frozen=True, slots=True)
class Refusal:
    """A row that a claim met and the database refused to write: it is tried again later."""

    id: Any
    error: Exception
    attempt: int | None = None
    """None where it was not claimed."""
    outcome: str | None = None
    """The outcome that was refused; None where the claim itself was."""
    spelled: Any = None
    """The id as the driver takes it, where the row was not claimed."""


@dataclass(slots=True)
class Taken:
    """The deliveries of one claim, in claim order. `exhausted` counts the rows that were moved to the
    dead letters on the way: they count towards a full claim."""

    deliveries: Sequence[Delivery[Any, Any]]
    limit: int
    exhausted: int = 0
    resume: Any = field(default=None)
    """Where the next claim of the same scope goes on, where a claim looks at groups in turn, or at a part
    of the due rows."""
    more: bool = False
    """Whether it stopped looking before it had seen every group, or every row."""
    unread: bool = False
    """Whether more rows are due than it read, where all keys that it tried are in use: the next claim goes
    on at `resume`."""
    refused: list[Refusal] = field(default_factory=list[Refusal])
    """Rows that could not be claimed, or had to be given up and could not."""

    @property
    def full(self) -> bool:
        """Whether more rows may be due."""
        return self.more or len(self.deliveries) + self.exhausted + len(self.refused) >= self.limit
