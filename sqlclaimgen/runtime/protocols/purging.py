"""Deleting what finished long ago, page by page, past rows that cannot be deleted."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlclaimgen.runtime.errors import FaultKind, StatementFailed
from sqlclaimgen.runtime.protocols import piecewise
from sqlclaimgen.runtime.protocols.claimed import decoded_id
from sqlclaimgen.runtime.protocols.piecewise import Kept
from sqlclaimgen.runtime.protocols.transaction import again, in_transaction
from sqlclaimgen.runtime.queue import Bound
from sqlclaimgen.runtime.steps import CheckConstraints, Protocol, Result, Values

CANCELLED = "the DELETE left the row where it is, without an error: a trigger cancels it"


class Purged(int):
    """How many rows a purge deleted."""

    kept: tuple[Kept, ...] = ()
    """Those that were to be deleted, and that the database refuses to delete."""


@dataclass(slots=True)
class Cursor:
    """How far a purge has come."""

    since: Any = None
    """When the last row it looked at was finished, as the database spells it."""
    stuck: set[Any] = field(default_factory=set[Any])
    """The rows finished then that stay."""


@dataclass(slots=True)
class Page:
    """What one transaction of a purge did."""

    rows: Sequence[Values] = ()
    """The rows it looked at: id and time."""
    kept: dict[Any, str] = field(default_factory=dict[Any, str])
    """Those that stay, by their ids as the database spells them, and why."""
    last: bool = False
    """Whether there was nothing left to look at."""

    @property
    def deleted(self) -> int:
        """How many rows it deleted."""
        return len(self.rows) - len(self.kept)


def purge(bound: Bound, before: datetime, limit: int, cursor: Cursor) -> Protocol[Page]:
    """Delete up to `limit` rows that were finished before `before` and stand behind `cursor`, which is
    moved on, and commit."""
    while True:
        page = Page()
        try:
            yield from again(functools.partial(_whole, bound, before, limit, cursor, page))
            break
        except StatementFailed as error:
            # SQLite checks deferred foreign keys at the COMMIT, which does not tell the row
            if (
                error.kind not in (FaultKind.ROW, FaultKind.REFUSED)
                or error.statement != "commit"
                or not page.rows
            ):
                raise
            limit = len(page.rows) // 2
            if limit == 0:
                page.kept = {page.rows[0][0]: piecewise.words(error)}
                break
    if page.rows:
        last = page.rows[-1][1]
        stuck = {row[0] for row in page.rows if row[0] in page.kept and row[1] == last}
        cursor.stuck = stuck | (cursor.stuck if last == cursor.since else set())
        cursor.since = last
    return page


def _whole(
    bound: Bound, before: datetime, limit: int, cursor: Cursor, page: Page
) -> Protocol[None]:
    page.kept.clear()  # what a try found that was undone
    yield from in_transaction(_page(bound, before, limit, cursor, page))


def _page(bound: Bound, before: datetime, limit: int, cursor: Cursor, page: Page) -> Protocol[None]:
    most = limit + len(cursor.stuck)
    parameters = {"before": bound.codec.time(before), "limit": most}
    if cursor.since is None:
        listed = yield from bound.run("purge_oldest", parameters)
    else:
        listed = yield from bound.run("purge_next", {**parameters, "since": cursor.since})
    page.last = len(listed.rows) < most
    page.rows = [row for row in listed.rows if row[0] not in cursor.stuck][:limit]
    if not page.rows:
        return

    def delete(ids: Sequence[Any]) -> Protocol[None]:
        result = yield from bound.run("purge", named(bound, ids))
        yield CheckConstraints()
        if result.count < len(ids):
            left = yield from bound.run("purge_left", named(bound, ids))
            page.kept |= {row[0]: CANCELLED for row in left.rows}

    def probe() -> Protocol[Result]:
        return bound.run("purge", bound.codec.ids(bound.queue.id_kind, [None]))

    refused = yield from piecewise.changed([row[0] for row in page.rows], delete, probe)
    page.kept |= {id: piecewise.words(error) for id, error in refused.items()}


def named(bound: Bound, ids: Sequence[Any]) -> dict[str, Any]:
    """The parameters that name rows by their ids as the database spells them, in one order."""
    return bound.codec.ids(bound.queue.id_kind, sorted(decoded_id(bound, raw) for raw in ids))


def kept(bound: Bound, page: Page) -> list[Kept]:
    """The rows of a page that stay, for the caller."""
    return [Kept(decoded_id(bound, raw), error) for raw, error in page.kept.items()]
