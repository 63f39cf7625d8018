"""The rows a worker has in its hands."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from sqlclaimgen.runtime.deliveries import LeaseDelivery
from sqlclaimgen.runtime.errors import LeaseLost
from sqlclaimgen.runtime.worker.running import Running
from sqlclaimgen.runtime.worker.sessions import AsyncSession

Lease = LeaseDelivery[Any, Any]


@dataclass(eq=False, slots=True)
class InWork:
    """One delivery from its claim to the answer to its settlement. Times are monotonic seconds."""

    delivery: Lease
    group: Any
    extend_at: float
    claimed_at: float = field(default_factory=time.monotonic)
    started_at: float | None = None
    task: asyncio.Task[None] | None = None
    running: Running | None = None
    ended: bool = False
    """The handler has ended; what is left is the settlement."""
    overdue_told: bool = False
    waited_for: bool = True
    """Whether a claim waits for its extension when it is overdue."""
    lost_told: bool = False
    timed_out: bool = False
    """Its handler ran longer than it may."""
    unanswered: bool = False
    """A COMMIT of its settlement got no answer."""
    failed: bool = False
    """Its handler raised."""
    stop_timing: Callable[[], None] = lambda: None
    long_told: bool = False
    """That its handler runs for many leases."""
    refused: bool = False
    """The database refused to extend its lease, which runs out."""
    holds: bool = False
    """The transaction of its handler has locked the row: nobody takes it, and nothing extends it."""
    own: bool = False
    """Its handler settled it in a transaction of its own, which may have been rolled back."""
    abandoned: bool = False
    """Given back, also while its handler runs on: what the handler returns is dropped."""
    session: AsyncSession | None = None
    """The connection of its transactional handler."""

    def is_live(self) -> bool:
        """Whether its lease is to be kept."""
        return not (self.delivery.settled or self.delivery.lost or self.abandoned)

    @property
    def fields(self) -> dict[str, Any]:
        """What events say of it."""
        delivery = self.delivery
        return {"id": delivery.id, "attempt": delivery.number, "group": self.group}

    def let_go(self) -> None:
        """The row is no longer this delivery's: tell its handler, and stop it where that can be done."""
        self.delivery.lost = True
        if self.running is not None:
            self.running.cancel()

    def abandon(self) -> None:
        """What the handler does from now on is dropped, and what it wrote is rolled back."""
        self.abandoned = True
        if self.session is not None:
            self.session.lost = True
            self.session.abort()

    @property
    def seconds(self) -> float:
        """How long the handler has run."""
        return time.monotonic() - (self.started_at or self.claimed_at)


def lost(item: InWork) -> LeaseLost:
    """The error of a lease whose loss was found out beside its handler."""
    delivery = item.delivery
    table = delivery.bound.queue.table
    return LeaseLost(
        f"{table} {delivery.id!r}: attempt {delivery.number} no longer holds the row; an extension found it "
        "with another claim, or settled.",
        table=table,
        id=delivery.id,
        attempt=delivery.number,
        statement="extend",
    )


class Hands:
    """What a worker has in its hands, and whether its handlers do well."""

    def __init__(self) -> None:
        self._items: dict[int, InWork] = {}
        self.freed = asyncio.Event()
        """Set when a row is let go."""
        self.failures = 0
        """Handlers that failed since the last one that did not."""

    def __len__(self) -> int:
        return len(self._items)

    def take(self, item: InWork) -> None:
        """A row was claimed."""
        self._items[id(item)] = item

    def let_go(self, item: InWork) -> None:
        """A row's settlement has its answer, or there will be none."""
        self._items.pop(id(item), None)
        self.freed.set()

    def now(self) -> list[InWork]:
        """The rows in work."""
        return list(self._items.values())


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
            if line[0] is mine:
                self.leave(key)
            else:
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
