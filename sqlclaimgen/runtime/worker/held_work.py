"""One delivery of the row lock and advisory forms in a worker's hands."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from typing import Any

from sqlclaimgen.runtime.deliveries import Delivery
from sqlclaimgen.runtime.worker.handlers import Running
from sqlclaimgen.runtime.worker.lines import Line
from sqlclaimgen.runtime.worker.sessions import AsyncSession


@dataclass(eq=False, slots=True)
class Work:
    """A delivery from its claim to its end, and the connection that holds its row."""

    delivery: Delivery[Any, Any]
    group: Any
    line: Line
    session: AsyncSession
    turn: asyncio.Future[None] | None = None
    """Done when the rows of its partition key that were claimed before it have ended."""
    running: Running | None = None
    failed: bool = False
    """The handler raised: the outcome is the table's policy, not its own."""
    lost_told: bool = False
    started_at: float = field(default_factory=time.monotonic)

    @property
    def fields(self) -> dict[str, Any]:
        """What events say of it."""
        delivery = self.delivery
        return {"id": delivery.id, "attempt": delivery.number, "group": self.group}

    @property
    def seconds(self) -> float:
        """How long ago its handler was started."""
        return time.monotonic() - self.started_at

    def let_go(self) -> None:
        """The row is no longer this delivery's: tell its handler, and stop it where that can be done."""
        self.delivery.lost = True
        if self.running is not None:
            self.running.cancel()
