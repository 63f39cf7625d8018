"""What a form costs in connections to the database."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlclaimgen.description.model import Form

if TYPE_CHECKING:
    from sqlclaimgen.description.model import Table

LEASE_CONNECTIONS = 3
"""Of a lease worker: one claims, one settles for every handler, one extends."""

CONCURRENCY = 8
"""Handlers of a worker unless it is told otherwise."""


@dataclass(frozen=True, slots=True)
class Price:
    """The connections of one worker process."""

    handlers: int
    """One for each delivery in work."""
    fixed: int
    """However many handlers there are."""
    listening: int
    """For LISTEN."""
    why: str

    @property
    def worker(self) -> int:
        """All of them."""
        return self.handlers + self.fixed + self.listening


def price(table: Table, *, concurrency: int = CONCURRENCY, transactional: bool = False) -> Price:
    """The connections of a worker of `table` that runs `concurrency` handlers. `transactional`: each
    handler is given a connection whose writes commit with its settlement."""
    listening = 1 if table.notify else 0
    if table.form is Form.LEASE:
        why = "one claims, one settles, one extends, for any number of handlers"
        if transactional:
            why += "; one more for each transactional handler"
        handlers = concurrency if transactional else 0
        return Price(handlers, LEASE_CONNECTIONS, listening, why)
    held = {
        Form.ROW_LOCK: "one for each delivery in work, in a transaction open until it is settled",
        Form.ADVISORY_LOCK: "one for each delivery in work, with no transaction open",
    }[table.form]
    return Price(concurrency, 0, listening, held)
