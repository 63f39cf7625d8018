"""The block that holds what a claim took."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Any, Generic, Self, TypeVar, cast

from sqlclaimgen.runtime.deliveries import Delivery
from sqlclaimgen.runtime.errors import Closed
from sqlclaimgen.runtime.protocols.fifo import Turn

D = TypeVar("D")


class Claim(Generic[D]):
    """The deliveries of one claim, to be used in a `with` block.

    Iterating marks a delivery as started when it is handed out, and passes over those whose lease
    ended meanwhile. Leaving the block gives back what was not settled.
    """

    def __init__(
        self,
        table: str,
        deliveries: Sequence[D],
        leave: Callable[[bool], bool],
        ready: Callable[[Any], None] | None = None,
        resume: Turn | None = None,
        *,
        more: bool = False,
    ) -> None:
        self._table = table
        self._deliveries = deliveries
        self._leave = leave
        self._ready = ready
        self._left = False
        self.resume = resume
        """For the next claim of all groups of a FIFO table: which group's turn it is."""
        self.more = more
        """Whether groups were left that nothing was asked of: the next claim may bring rows where this
        one brought none."""

    def __len__(self) -> int:
        return len(self._deliveries)

    def __iter__(self) -> Iterator[D]:
        for delivery in self._deliveries:
            if self._left:
                raise Closed(
                    f"{self._table}: the claim's block has been left, and what was not settled is given "
                    "back. Iterate inside the block.",
                    table=self._table,
                )
            held = cast("Delivery[Any, Any]", delivery)
            if held.live:
                if self._ready is not None:
                    self._ready(held)
                held.started = True
                yield delivery

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        if self._left:
            return
        self._left = True
        held = [cast("Delivery[Any, Any]", delivery) for delivery in self._deliveries]
        settled = [delivery.settled for delivery in held]
        # where nothing could be given back a lease goes on, and can be settled over another connection
        if self._leave(error is not None):
            for delivery, before in zip(held, settled, strict=True):
                delivery.given_back |= not (before and delivery.settled)
