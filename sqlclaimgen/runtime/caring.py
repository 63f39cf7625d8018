"""Looking after a table by hand, as protocols over the caller's own connection, blocking or asyncio."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Any, TypeVar

from sqlclaimgen.runtime import looking
from sqlclaimgen.runtime.calls import idle, read_clock, timed
from sqlclaimgen.runtime.drivers.base import State
from sqlclaimgen.runtime.protocols import care, purging
from sqlclaimgen.runtime.protocols import stats as counting
from sqlclaimgen.runtime.protocols.care import Redriven
from sqlclaimgen.runtime.protocols.piecewise import Kept
from sqlclaimgen.runtime.protocols.purging import Purged
from sqlclaimgen.runtime.protocols.scope import Scope
from sqlclaimgen.runtime.protocols.stats import S
from sqlclaimgen.runtime.queue import Bound, Queue
from sqlclaimgen.runtime.steps import Pause, Protocol, Rollback

_log = logging.getLogger("sqlclaimgen")

Id = TypeVar("Id")
T = TypeVar("T")


def redrive(
    queue: Queue[Any, Any, Any, Id],
    state: State,
    ids: Iterable[Id] | None,
    limit: int | None,
    stay: dict[Any, str] | None = None,
) -> Protocol[Redriven[Id]]:
    """Bring dead letters back: these, all or none, or up to `limit` of the oldest, past those that
    `stay`."""
    if (ids is None) is (limit is None):
        raise ValueError("redrive takes either ids or limit")
    if limit is not None and limit < 1:
        raise ValueError(f"limit is {limit}; a redrive brings back at least one row")
    bound = queue.bind(state.dialect)
    yield from looking.at_table(state, bound, cares=True)
    joined = state.in_transaction
    if ids is not None:
        body = care.redrive(bound, list(ids), joined=joined)
    else:
        body = care.redrive_oldest(bound, limit or care.PAGE, joined=joined, stay=stay)
    back = yield from timed(state, bound, body)
    _report(bound, "redrive", back.kept)
    return back


def stats(
    queue: Queue[Any, Any, Any, Any], state: State, scope: Scope, kind: type[S]
) -> Protocol[S]:
    """Count, and leave no transaction open that was not open before."""
    bound = queue.bind(state.dialect)
    return (yield from _look(state, bound, counting.stats(bound, scope, kind)))


def row_security(queue: Queue[Any, Any, Any, Any], state: State) -> Protocol[bool]:
    """Whether row level security decides which rows of the table this login sees."""
    bound = queue.bind(state.dialect)
    return (yield from _look(state, bound, counting.row_security(bound)))


def _look(state: State, bound: Bound, body: Protocol[T]) -> Protocol[T]:
    yield from looking.at_table(state, bound, cares=True)
    # drivers open a transaction for a plain select
    opens = not state.in_transaction
    try:
        found = yield from timed(state, bound, body)
    except GeneratorExit:
        raise
    except BaseException:
        if opens and state.in_transaction:
            yield Rollback()
        raise
    if opens and state.in_transaction:
        yield Rollback()
    return found


def purge(
    queue: Queue[Any, Any, Any, Any],
    state: State,
    older_than: timedelta,
    limit: int | None,
    pause: timedelta,
) -> Protocol[Purged]:
    """Delete rows that were finished long ago, a page a transaction. Returns how many, and those that
    stay."""
    if older_than < timedelta(0) or pause < timedelta(0):
        raise ValueError("older_than and pause must not be negative")
    idle(state, queue.table, "purge")
    bound = queue.bind(state.dialect)
    yield from looking.at_table(state, bound, cares=True)
    yield from read_clock(state, bound)
    before = bound.now() - older_than
    cursor = purging.Cursor()
    deleted, kept = 0, list[Kept]()
    while limit is None or deleted < limit:
        size = care.PAGE if limit is None else min(care.PAGE, limit - deleted)
        page = yield from timed(state, bound, purging.purge(bound, before, size, cursor))
        deleted += page.deleted
        kept += purging.kept(bound, page)
        if page.last:
            break
        yield Pause(pause.total_seconds())
    purged = Purged(deleted)
    purged.kept = tuple(kept)
    _report(bound, "purge", kept)
    return purged


def _report(bound: Bound, what: str, kept: Sequence[Kept]) -> None:
    """Log the rows that stay, for who does not look at the result."""
    if kept:
        first, more = kept[0], f" and {len(kept) - 1} more" if len(kept) > 1 else ""
        table, number = bound.queue.table, len(kept)
        text = "%s: %s kept %d rows, for the database refuses to change them: %r (%s)%s"
        _log.warning(text, table, what, number, first.id, first.error, more)
