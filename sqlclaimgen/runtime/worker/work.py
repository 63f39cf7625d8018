"""The rows a worker has in its hands."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict, deque
from dataclasses import dataclass, field
from typing import Any

from sqlclaimgen.runtime.deliveries import LeaseDelivery
from sqlclaimgen.runtime.worker.handlers import Running

Lease = LeaseDelivery[Any, Any]


@dataclass(eq=False, slots=True)
class InWork:
    """One delivery from its claim to the answer to its settlement. Times are monotonic seconds."""

    delivery: Lease
    group: Any
    extend_at: float
    claimed_at: float = field(default_factory=time.monotonic)
    started_at: float | None = None
    running: Running | None = None
    overdue_told: bool = False
    lost_told: bool = False
    unanswered: bool = False
    """A COMMIT of its settlement got no answer."""
    abandoned: bool = False
    """Given back while its handler runs on: what the handler returns is dropped."""

    @property
    def seconds(self) -> float:
        """How long the handler has run."""
        return time.monotonic() - (self.started_at or self.claimed_at)


class Turns:
    """Rows of one partition key run one after another, in the order in which they were claimed."""

    def __init__(self) -> None:
        self._waiting: dict[Any, deque[asyncio.Event]] = defaultdict(deque)

    async def take(self, key: Any) -> None:
        """Wait until it is this row's turn."""
        line = self._waiting[key]
        mine = asyncio.Event()
        line.append(mine)
        if line[0] is mine:
            return
        try:
            await mine.wait()
        except asyncio.CancelledError:
            line.remove(mine)
            raise

    def leave(self, key: Any) -> None:
        """The row at the head is done; the next one's turn begins."""
        line = self._waiting[key]
        line.popleft()
        if line:
            line[0].set()
        else:
            del self._waiting[key]
