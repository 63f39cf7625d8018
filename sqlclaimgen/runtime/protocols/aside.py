"""Rows that claims leave out for a while, for what was to become of them could not be written."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Any

from sqlclaimgen.runtime.deliveries import Delivery

PACE = timedelta(seconds=30)
"""How long a row is left alone after its outcome was refused, where no worker says otherwise."""

MOST = 1000
"""Rows that are left out at a time; of more, those that came first are claimed again."""


class Aside:
    """The rows that one worker, or one claim by hand, leaves out. It ends with the process."""

    def __init__(self, pace: timedelta = PACE) -> None:
        self.pace = pace
        self._until: dict[Any, float] = {}

    def add(self, delivery: Delivery[Any, Any]) -> None:
        """Leave the delivery's row out from now on, for the pace."""
        self.leave_out(delivery.bound.id(delivery.spelled))

    def leave_out(self, id: Any) -> None:
        """The same for a row that was not claimed. `id` as the driver takes it."""
        self._until.pop(id, None)
        self._until[id] = time.monotonic() + self.pace.total_seconds()
        if len(self._until) > MOST:
            del self._until[next(iter(self._until))]

    def take_back(self, delivery: Delivery[Any, Any]) -> None:
        """Claim the delivery's row again like any other."""
        self._until.pop(delivery.bound.id(delivery.spelled), None)

    def holds(self, delivery: Delivery[Any, Any]) -> bool:
        """Whether the delivery's row is left out: a claim that was sent before that may bring it."""
        return delivery.bound.id(delivery.spelled) in self.ids()

    def ids(self) -> list[Any]:
        """The rows that are left out now, as the driver takes their ids."""
        now = time.monotonic()
        while self._until:
            first = next(iter(self._until))
            if self._until[first] > now:
                break
            del self._until[first]
        return list(self._until)
