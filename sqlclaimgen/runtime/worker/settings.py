"""How a worker works. Every time is in seconds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal, TypedDict, get_args

from sqlclaimgen.runtime.worker.events import Hook

InvalidPolicy = Literal["keep", "retry", "dead_letter"]
INVALID_POLICIES = get_args(InvalidPolicy)


class Options(TypedDict, total=False):
    """The keyword arguments of Worker and AsyncWorker beside `connect`; what is left out is as in
    Settings."""

    concurrency: int
    """Handlers at a time: 8 unless set, and 100 for an AsyncWorker."""
    groups: Sequence[Any] | None
    """The groups to claim from, in turn; a None among them stands for rows without a group. None: the
    whole table."""
    poll_interval: float
    """The wait after a claim that found nothing."""
    transactional: bool
    """Give the handler a connection, whose writes commit with the ack."""
    on_invalid: InvalidPolicy
    """What becomes of a row that does not decode."""
    retry: Callable[[int, BaseException], timedelta | float] | None
    """Attempt and error to a delay (timedelta or seconds), instead of the table's own policy."""
    drain_timeout: float
    """How long handlers may go on after a stop was asked for."""
    statement_timeout: float
    """The client's own limit on every statement and every connect."""
    max_backoff: float
    """The longest wait between two tries after an error."""
    notify: bool
    """Listen for notifications, where the description says `notify`."""
    check: bool
    """Look at the server before the first claim."""
    signals: bool
    """Drain on SIGTERM and SIGINT, on the main thread."""
    longest_handler: float | None
    """How long handlers run at most: start-up compares it with the server's timeouts. None: not known."""
    on_event: Hook | None
    """Called with every event, on the worker's own thread."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What Worker and AsyncWorker were given (see Options), the rest as it is unless set, checked."""

    concurrency: int = 8
    groups: Sequence[Any] | None = None
    poll_interval: float = 1.0
    transactional: bool = False
    on_invalid: InvalidPolicy = "retry"
    retry: Callable[[int, BaseException], timedelta | float] | None = None
    drain_timeout: float = 30.0
    statement_timeout: float = 30.0
    """A dead server cannot hold a shutdown."""
    max_backoff: float = 30.0
    notify: bool = True
    check: bool = True
    signals: bool = True
    longest_handler: float | None = None
    on_event: Hook | None = None

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
