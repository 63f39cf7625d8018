"""What a worker was called with, looked at before anything runs."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

from sqlclaimgen.runtime.errors import ClaimError
from sqlclaimgen.runtime.outcomes import DeadLetter, RetryAfter
from sqlclaimgen.runtime.queue import Queue
from sqlclaimgen.runtime.worker.settings import Options, Settings


def require_queue(queue: object) -> None:
    """Raise TypeError for what is no QUEUE: a module, a table's name."""
    if callable(getattr(queue, "bind", None)):  # a vendored runtime has a class of its own
        return
    if isinstance(queue, ModuleType):
        module = queue.__name__
    else:
        module = queue if isinstance(queue, str) and queue.isidentifier() else "jobs"
    raise TypeError(
        f"the queue is {queue!r}; it is the QUEUE of a generated module: "
        f"pass {module.rpartition('.')[2]}.QUEUE"
    )


def settings_of(face: str, options: Mapping[str, Any]) -> Settings:
    """The settings of a Worker or AsyncWorker. Raises TypeError for one that there is not, and what
    Settings raises."""
    known = ["connect", *Options.__annotations__]
    for name in options:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"Did you mean {near[0]}?" if near else f"There are: {', '.join(known)}."
            raise TypeError(f"{face} has no setting {name!r}. {hint}")
    return Settings(**options)


def require_fitting(queue: Queue[Any, Any, Any, Any], settings: Settings) -> None:
    """Raise ClaimError for a setting that the table has no column or place for."""
    if settings.retry is not None and RetryAfter not in queue.outcomes:
        raise ClaimError(
            f"{queue.table} has no retry_after column, and the worker was given `retry`: a failed row is "
            "due again at once there. Leave `retry` out, or give the table the column "
            '(`role = "retry_after"`) and build again.',
            table=queue.table,
        )
    if settings.on_invalid == "dead_letter" and DeadLetter not in queue.outcomes:
        raise ClaimError(
            f'{queue.table} has no dead letters, and the worker was given `on_invalid="dead_letter"`. '
            'Give it "retry" or "keep", or add `dead_letter` to the description and build again.',
            table=queue.table,
        )


def opening(connect: Any) -> Callable[[], Any]:
    """`connect`, when it is what opens connections. Raises TypeError for a connection: some of them
    can be called too."""
    if callable(connect) and not hasattr(connect, "cursor"):
        opens: Callable[[], Any] = connect
        return opens
    raise TypeError(
        f"connect is {connect!r}; it is a function that opens a connection, for the worker needs "
        "connections of its own: connect=lambda: sqlite3.connect(path)"
    )


def require_callable(handler: object, *, transactional: bool) -> None:
    """Raise TypeError for a handler that cannot be called with a delivery, and with a connection after
    it where it is transactional. What tells no signature is taken."""
    if not callable(handler):
        raise TypeError(
            f"the handler is {handler!r}; it is a function that takes a delivery: "
            "def handle(delivery): .."
        )
    try:
        signature = inspect.signature(handler)
    except (TypeError, ValueError):
        return
    if _takes(signature, 2 if transactional else 1):
        return
    if transactional:
        raise TypeError(
            f"the handler takes {signature}, and with transactional=True it is called with a delivery "
            "and a connection: def handle(delivery, connection): .. Leave `transactional` out for a "
            "handler that needs no connection."
        )
    way_out = (
        "Give the worker transactional=True for a handler that writes over a connection"
        if _takes(signature, 2)
        else "What else it needs is bound before, with functools.partial or in a closure"
    )
    raise TypeError(
        f"the handler takes {signature}, and it is called with a delivery alone: "
        f"def handle(delivery): .. {way_out}."
    )


def _takes(signature: inspect.Signature, number: int) -> bool:
    try:
        signature.bind(*[None] * number)
    except TypeError:
        return False
    return True


def ends_when_empty(until: object) -> bool:
    """Whether `until` is "empty". Raises ValueError for anything else but None."""
    if until not in (None, "empty"):
        raise ValueError(f'until is {until!r}; it is "empty", or None for a worker that goes on')
    return until == "empty"
