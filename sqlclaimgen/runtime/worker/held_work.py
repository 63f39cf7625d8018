"""One delivery of the row lock and advisory forms in a worker's hands."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from typing import Any

from sqlclaimgen.runtime.deliveries import Delivery
from sqlclaimgen.runtime.worker.lines import Line
from sqlclaimgen.runtime.worker.running import Running
from sqlclaimgen.runtime.worker.sessions import AsyncSession
from sqlclaimgen.runtime.worker.work import Turns


class Turn:
    """One row's turn among those of its partition key, in the order in which they were claimed."""

    def __init__(self, turns: Turns, key: Any) -> None:
        self._turns = turns
        self._key = key
        self.begun: asyncio.Future[None] = asyncio.ensure_future(turns.take(key))
        """Done when the rows before it have ended. A task begins after those that were made before it."""

    def leave(self) -> None:
        """It has ended, or will never begin."""
        if self.begun.done() and not self.begun.cancelled():
            self._turns.leave(self._key)
        self.begun.cancel()


@dataclass(eq=False, slots=True)
class Work:
    """A delivery from its claim to its end, and the connection that holds its row."""

    delivery: Delivery[Any, Any]
    group: Any
    line: Line
    session: AsyncSession
    turn: Turn | None = None
    """None: it has no partition key, and may begin at once."""
    running: Running | None = None
    failed: bool = False
    """The handler raised: the outcome is the table's policy, not its own."""
    invalid: bool = False
    """Its row does not decode."""
    lost_told: bool = False
    waited_told: bool = False
    """That another session waits for its row."""
    timed_out: bool = False
    """Its handler ran longer than it may."""
    overrun: bool = False
    """The drain is over: what the handler returns is dropped, and its row given back once it has ended."""
    over: asyncio.Event = field(default_factory=asyncio.Event)
    """Its end, or that its handler runs on after the worker's, has been told."""
    runs: int = 0
    """How often its handler ran."""
    conflict: BaseException | None = None
    """Why the handler's transaction was undone in favour of another one: it runs again."""
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

    @property
    def handled(self) -> bool:
        """Whether a handler is at work on it."""
        return self.running is not None and not self.running.done

    def let_go(self) -> None:
        """The row is no longer this delivery's: tell its handler, and stop it where that can be done."""
        self.delivery.lost = True
        if self.running is not None:
            self.running.cancel()
