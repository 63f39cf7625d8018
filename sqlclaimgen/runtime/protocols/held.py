"""What a worker needs of the forms that hold a row by a connection."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

from sqlclaimgen.runtime import steps
from sqlclaimgen.runtime.deliveries import Delivery
from sqlclaimgen.runtime.outcomes import AnyOutcome
from sqlclaimgen.runtime.protocols.aside import Aside
from sqlclaimgen.runtime.protocols.scope import Scope
from sqlclaimgen.runtime.protocols.taken import Taken
from sqlclaimgen.runtime.protocols.windows import Window
from sqlclaimgen.runtime.queue import Bound


@dataclass(slots=True)
class Memory:
    """What a worker remembers from claim to claim."""

    aside: Aside = field(default_factory=Aside)
    """The rows that claims leave out."""
    window: Window = field(default_factory=Window)
    """How many candidates a row lock claim reads."""
    deliveries: list[Delivery[Any, Any]] = field(default_factory=list[Delivery[Any, Any]])
    """What its other connections hold: their keys need not be tried."""


class HeldForm(Protocol):
    """The row lock and the advisory form, as a worker sees them."""

    frees_others: bool
    """Whether rows wait for the end of a delivery of another row."""
    reopens: bool
    """Whether the row is held still when a transactional handler's transaction was rolled back."""

    def claim_one(self, bound: Bound, scope: Scope, memory: Memory) -> steps.Protocol[Taken]:
        """Take one due row, and hold it."""
        ...

    def opened(self, delivery: Any) -> steps.Protocol[None]:
        """Make the connection ready for a transactional handler: its transaction open."""
        ...

    def undone(self, delivery: Any) -> steps.Protocol[None]:
        """Undo what a transactional handler wrote; the row stays held."""
        ...

    def commits_with(self, outcome: AnyOutcome) -> bool:
        """Whether a transactional handler's writes commit with this outcome."""
        ...

    def holds(self, delivery: Any) -> bool:
        """Whether the row is held still, as far as is known."""
        ...

    def finish(
        self, delivery: Any, outcome: AnyOutcome, aside: Aside | None = None
    ) -> steps.Protocol[Exception | None]:
        """Settle, commit, and let go of the row. An outcome that is refused because of its text is
        written without it. Returns the error of one that was refused where the row could be delayed
        instead; else it is raised, and the row is in `aside` before it is free. Raises ClaimLost when it
        was lost."""
        ...

    def refunded(self, delivery: Any) -> steps.Protocol[None]:
        """Give the attempt of a row back that stays held, where it was counted at the claim."""
        ...

    def abandon(self, delivery: Any) -> steps.Protocol[None]:
        """Let go of the row unsettled; with its attempt where its handler never started."""
        ...
