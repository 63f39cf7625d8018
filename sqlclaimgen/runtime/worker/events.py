"""What a worker tells the world: one small typed event for each thing that happens to a row."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeAlias

from sqlclaimgen.runtime.outcomes import DeadLetter
from sqlclaimgen.runtime.protocols.taken import Refusal

log = logging.getLogger("sqlclaimgen.worker")


class EventKind(StrEnum):
    """What happened."""

    CLAIMED = "claimed"
    """Rows were claimed; `count` says how many, `seconds` how long it took."""
    STARTED = "started"
    """A handler was started; `seconds` is how long the row waited in this process."""
    SETTLED = "settled"
    """An outcome was committed; `outcome` names it, `seconds` is how long the handler ran."""
    FAILED = "failed"
    """A handler raised, or its row did not decode; `error` holds it. A settlement follows."""
    LOST = "lost"
    """The row is held by another, or may be: what the handler does with it no longer counts."""
    OVERDUE = "overdue"
    """The lease ran out and nobody has taken the row yet, as far as is known."""
    TIMED_OUT = "timed_out"
    """The handler has run for `handler_timeout` seconds. One of asyncio is cancelled, and has failed; a
    thread runs on, and its lease is not extended any more."""
    EXTENDED = "extended"
    """Leases were extended; `count` says how many."""
    GIVEN_BACK = "given_back"
    """A row was given back without an outcome, with its attempt: the worker stops, or its lease ended
    before its handler started."""
    UNFINISHED = "unfinished"
    """The drain is over and the handler runs on, `seconds` so far: its row stays held until it ends, or
    the process does."""
    EXHAUSTED = "exhausted"
    """Rows whose crashes used their attempts up became dead letters; `count` says how many."""
    UNKNOWN = "unknown"
    """A COMMIT got no answer, and nothing tells whether the settlement counted."""
    WAITED = "waited"
    """Nothing was due; the worker waited, `seconds` long."""
    DISCONNECTED = "disconnected"
    """A connection was lost or could not be opened; `error` says why. It is tried again."""
    CONFLICT = "conflict"
    """A transaction of this worker was undone in favour of another one, or waited for a lock too long;
    `error` says why. It is run again. With an id: the handler's own, and the handler runs again."""
    WARNED = "warned"
    """A look at the server found something that will do harm; `error` says what, and the way out."""
    UNSETTLED = "unsettled"
    """The database refused to write one row, or did not write it: its claim, where there is no attempt and
    no outcome, an extension of its lease, or an outcome. `error` says why, in the database's words. The row
    is tried again at a pace of its own: when its lease has run out, or after `max_backoff`."""
    READY = "ready"
    """The first connection is there, and claiming begins."""
    DRAINING = "draining"
    """A stop was asked for: nothing more is claimed, and handlers end. `seconds` is how long they may."""
    STOPPED = "stopped"
    """The worker has stopped; `error` says why, where it was not told to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One thing that happened. Fields that do not apply are None."""

    kind: EventKind
    table: str
    group: Any = None
    id: Any = None
    attempt: int | None = None
    outcome: str | None = None
    count: int | None = None
    seconds: float | None = None
    error: BaseException | None = None


Hook: TypeAlias = Callable[[Event], None]
"""Called on the worker's own thread: it must be quick, and what it raises is logged and dropped."""

LEVELS = {
    EventKind.FAILED: logging.WARNING,
    EventKind.LOST: logging.WARNING,
    EventKind.OVERDUE: logging.WARNING,
    EventKind.UNFINISHED: logging.WARNING,
    EventKind.TIMED_OUT: logging.WARNING,
    EventKind.UNKNOWN: logging.ERROR,
    EventKind.UNSETTLED: logging.ERROR,
    EventKind.DISCONNECTED: logging.WARNING,
    EventKind.CONFLICT: logging.INFO,
    EventKind.EXHAUSTED: logging.WARNING,
    EventKind.WARNED: logging.WARNING,
    EventKind.READY: logging.INFO,
    EventKind.DRAINING: logging.INFO,
    EventKind.STOPPED: logging.INFO,
}
"""How the log tells them; the others as DEBUG."""

TRACED = frozenset({EventKind.FAILED, EventKind.UNSETTLED, EventKind.STOPPED})
"""What the log tells with a traceback."""


def shown(error: BaseException) -> str:
    """An error in a line of the log; its type where its own text cannot be had."""
    try:
        return repr(error)
    except Exception:
        return f"{type(error).__name__}, whose repr raises"


class Reporter:
    """Sends events to the hook and to logging, with their fields as `extra`."""

    def __init__(self, table: str, hook: Hook | None) -> None:
        self._table = table
        self._hook = hook

    def __call__(self, kind: EventKind, **fields: Any) -> None:
        """Report one event."""
        event = Event(kind=kind, table=self._table, **fields)
        # a row that is given up is what somebody has to hear of
        given_up = event.outcome == DeadLetter.__name__
        level = logging.WARNING if given_up else LEVELS.get(kind, logging.DEBUG)
        if kind is EventKind.STOPPED and event.error is not None:
            level = logging.ERROR
        if log.isEnabledFor(level):
            extra = {
                f"claim_{name}": getattr(event, name)
                for name in (
                    "kind",
                    "table",
                    "group",
                    "id",
                    "attempt",
                    "outcome",
                    "count",
                    "seconds",
                    "error",
                )
                if getattr(event, name) is not None
            }
            row = "" if event.id is None else f" {event.id!r}"
            why = "" if event.outcome is None else f" as {event.outcome}"
            why += "" if event.error is None else f": {shown(event.error)}"
            traced = event.error if kind in TRACED else None
            log.log(
                level, "%s%s %s%s", self._table, row, kind.value, why, extra=extra, exc_info=traced
            )
        if self._hook is not None:
            try:
                self._hook(event)
            except Exception:
                log.exception("%s: the event hook raised on %s", self._table, kind.value)


def unsettled(report: Reporter, refused: Refusal, group: Any) -> None:
    """Report a row that could not be claimed, or that a claim had to give up and could not."""
    report(
        EventKind.UNSETTLED,
        id=refused.id,
        attempt=refused.attempt,
        group=group,
        outcome=refused.outcome,
        error=refused.error,
    )
