"""How a worker works. Every time is in seconds."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal, TypedDict, cast, get_args

from sqlclaimgen.runtime.worker.events import Hook
from sqlclaimgen.runtime.worker.handlers import is_async

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
    """Attempt and error to a delay (timedelta or seconds, 30 days at most), instead of the table's own
    policy, which holds where this one raises or returns no delay."""
    drain_timeout: float
    """How long handlers may go on after a stop was asked for."""
    handler_timeout: float | None
    """How long a handler may run: one of asyncio is cancelled then, which is a failure; a thread runs on,
    and its lease is not extended any more. None: as long as it takes."""
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
    around: Callable[[Any], AbstractContextManager[Any]] | None
    """`around(delivery)` gives a context manager that is entered before a plain handler and left after it,
    on its thread: for connections of the team's own that belong to a thread."""
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
    handler_timeout: float | None = None
    statement_timeout: float = 30.0
    """A dead server cannot hold a shutdown."""
    max_backoff: float = 30.0
    notify: bool = True
    check: bool = True
    signals: bool = True
    longest_handler: float | None = None
    around: Callable[[Any], AbstractContextManager[Any]] | None = None
    on_event: Hook | None = None

    def __post_init__(self) -> None:
        if isinstance(self.concurrency, bool) or not isinstance(
            cast("object", self.concurrency), int
        ):
            raise TypeError(
                f"concurrency is {self.concurrency!r}; it is a whole number of handlers"
            )
        if self.concurrency < 1:
            raise ValueError(f"concurrency is {self.concurrency}; at least one handler has to run")
        if self.on_invalid not in INVALID_POLICIES:
            raise ValueError(f"on_invalid is {self.on_invalid!r}; it is one of {INVALID_POLICIES}")
        for name in ("poll_interval", "statement_timeout", "max_backoff"):
            _seconds(name, getattr(self, name))
        _seconds("drain_timeout", self.drain_timeout, or_none_at_all=True)
        for name in ("longest_handler", "handler_timeout"):
            if getattr(self, name) is not None:
                _seconds(name, getattr(self, name))
        _function("retry", self.retry, "retry(attempt, error) gives the delay of a failed row")
        _function(
            "around", self.around, "around(delivery) gives a context manager for a plain handler"
        )
        _function("on_event", self.on_event, "on_event(event) is called with every event")
        _groups(self.groups)


def _seconds(name: str, value: object, *, or_none_at_all: bool = False) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{name} is {value!r}; it is a number of seconds")
    if not (value > 0 or (or_none_at_all and value == 0)):
        least = "0 seconds or more" if or_none_at_all else "more than 0 seconds"
        raise ValueError(f"{name} is {value!r}; it is {least}")


def _function(name: str, value: object, what: str) -> None:
    if value is None:
        return
    if not callable(value):
        raise TypeError(f"{name} is {value!r}; it is a function, or None: {what}")
    if is_async(value):
        raise TypeError(
            f"{name} is `async`, and nobody awaits it; make it a plain function: {what}"
        )


def _groups(groups: object) -> None:
    if groups is None:
        return
    if isinstance(groups, str | bytes) or not isinstance(groups, Collection) or not groups:
        raise ValueError(
            f"groups is {groups!r}; it is a list of at least one group. Leave it out for the whole table"
        )
