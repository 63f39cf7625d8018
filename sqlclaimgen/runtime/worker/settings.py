"""How a worker works. Every time is in seconds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlclaimgen.runtime.worker.events import Hook

INVALID_POLICIES = ("keep", "retry", "dead_letter")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What Worker and AsyncWorker were given, checked."""

    concurrency: int
    groups: Sequence[Any] | None
    """None: the whole table."""
    poll_interval: float
    transactional: bool
    on_invalid: str
    """What becomes of a row that does not decode: `keep`, `retry` or `dead_letter`."""
    drain_timeout: float
    """How long handlers may go on after a stop was asked for."""
    statement_timeout: float
    """The client's own limit on every statement: a dead server cannot hold a shutdown."""
    max_backoff: float
    """The longest wait between two tries after errors."""
    notify: bool
    check: bool
    """Whether the start-up checks run."""
    retry: Callable[[int, BaseException], Any] | None = None
    """Attempt and error to a delay (timedelta or seconds), instead of the table's own policy."""
    on_event: Hook | None = None
    signals: bool = True
    longest_handler: float | None = None
    """The longest a handler runs; None: not known."""
    options: dict[str, Any] = field(default_factory=dict[str, Any])

    def __post_init__(self) -> None:
        if self.concurrency < 1:
            raise ValueError(f"concurrency is {self.concurrency}; at least one handler has to run")
        if self.on_invalid not in INVALID_POLICIES:
            raise ValueError(f"on_invalid is {self.on_invalid!r}; it is one of {INVALID_POLICIES}")
        for name in ("poll_interval", "statement_timeout", "max_backoff", "longest_handler"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise ValueError(f"{name} is {getattr(self, name)!r}; it is more than 0 seconds")
        if self.groups is not None and (isinstance(self.groups, str) or not self.groups):
            raise ValueError(
                "groups is a list of at least one group; leave it out for the whole table"
            )
