"""The block that holds what a claim took."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Any, Generic, Self, TypeVar, cast

from sqlclaimgen.runtime.calls import Opened
from sqlclaimgen.runtime.deliveries import Delivery
from sqlclaimgen.runtime.drivers.base import Session
from sqlclaimgen.runtime.driving import drive
from sqlclaimgen.runtime.errors import Closed
from sqlclaimgen.runtime.protocols.fifo import Turn

D = TypeVar("D")


class Deliveries(Generic[D]):
    """The deliveries of one claim. Iterating marks a delivery as started when it is handed out, and
    passes over those whose lease ended meanwhile."""

    def __init__(self) -> None:
        self._opened: Opened | None = None
        self._deliveries: Sequence[D] = ()
        self.resume: Turn | None = None
        """For the next claim of all groups of a FIFO table: which group's turn it is."""
        self.more = False
        """Whether groups were left that nothing was asked of, or due rows whose keys were not tried: the next
        claim may bring rows where this one brought none."""
        self.refused: Sequence[Exception] = ()
        """Why rows could not be claimed, or, their attempts used up, not be moved to the dead letters: an
        error each. They are tried again later; the rows of this claim are others."""

    def _hold(self, opened: Opened) -> None:
        self._opened = opened
        self._deliveries = opened.deliveries
        self.resume = opened.taken.resume
        self.more = opened.taken.more or opened.taken.unread
        self.refused = [refused.error for refused in opened.taken.refused]

    def _held(self) -> Opened:
        if self._opened is None:
            raise Closed(
                "nothing was claimed: a claim over an asyncio connection claims when its `async with` block "
                "is entered.",
                table="",
            )
        return self._opened

    def __len__(self) -> int:
        return len(self._deliveries)

    def __iter__(self) -> Iterator[D]:
        opened = self._held()
        for delivery in self._deliveries:
            if opened.handed_out(cast("Delivery[Any, Any]", delivery)):
                yield delivery


class Claim(Deliveries[D]):
    """The deliveries of one claim, to be used in a `with` block. Leaving it gives back what was not
    settled, with its attempt where it was not handed out, or where the program was stopped."""

    def __init__(self, session: Session, opened: Opened) -> None:
        super().__init__()
        self._session = session
        self._hold(opened)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        opened = self._held()
        drive(self._session, opened.leave(error), table=opened.table)
