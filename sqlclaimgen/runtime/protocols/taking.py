"""The claim of the advisory lock form: win a key, then take its row, read again under the key."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

from sqlclaimgen.runtime.deliveries import AdvisoryDelivery
from sqlclaimgen.runtime.errors import StatementFailed
from sqlclaimgen.runtime.keys import KeyLock
from sqlclaimgen.runtime.protocols import key_failures, keyed, unlocking
from sqlclaimgen.runtime.protocols.aside import Aside
from sqlclaimgen.runtime.protocols.claimed import Claimed, claimed, decoded_id
from sqlclaimgen.runtime.protocols.counted import at_most
from sqlclaimgen.runtime.protocols.keyed import Candidate
from sqlclaimgen.runtime.protocols.scope import Scope
from sqlclaimgen.runtime.protocols.taken import Refusal, Taken
from sqlclaimgen.runtime.protocols.transaction import again
from sqlclaimgen.runtime.queue import Bound
from sqlclaimgen.runtime.steps import Begin, Commit, Protocol, Rollback

Held: TypeAlias = AdvisoryDelivery[Any, Any]

MOST_PASSED = 100
"""Rows that were settled between look and lock, before a claim leaves the rest to the next poll."""


def take(bound: Bound, scope: Scope, aside: Aside, held: Iterable[Held] = ()) -> Protocol[Taken]:
    """Take one due row whose key nobody holds, count its attempt, and commit. The rows of `aside` are
    left out, and one that the database refuses to take is left there. `held` are deliveries of this process
    whose keys need not be tried."""
    return (yield from again(lambda: _committed(bound, scope, aside, held)))


def _committed(bound: Bound, scope: Scope, aside: Aside, held: Iterable[Held]) -> Protocol[Taken]:
    given = {"now": bound.codec.time(bound.now()), **bound.codec.set_aside(aside.ids())}
    locks = [delivery.lock.name for delivery in held if delivery.lock is not None]
    won: list[Candidate] = []
    yield Begin()
    try:
        taken = yield from _claim(bound, scope, given, locks, won)
        yield Commit()
    except GeneratorExit:
        raise
    except BaseException as error:
        yield Rollback()
        for found in won:
            yield from unlocking.unlock(bound, found.lock)
        if won and isinstance(error, StatementFailed) and error.kind.of_a_row:
            met = Refusal(decoded_id(bound, won[-1].id), error, spelled=bound.id(won[-1].id))
            aside.leave_out(met.spelled)
            return Taken([], 1, resume=scope.resume, more=True, refused=[met])
        raise
    if not taken.deliveries:
        for found in won:
            yield from unlocking.unlock(bound, found.lock)
    return taken


def _claim(
    bound: Bound,
    scope: Scope,
    parameters: dict[str, Any],
    locks: Sequence[Any],
    won: list[Candidate],
) -> Protocol[Taken]:
    if scope.group is not None and bound.queue.group is not None:
        group = bound.codec.encode(bound.queue.group.kind, scope.group)
        parameters = {**parameters, "group": group}
    place: keyed.Place | None = scope.resume
    for _ in range(MOST_PASSED):
        found, place = yield from keyed.candidate(bound, scope, parameters, locks, place)
        if found is None:
            at_once = place is not None and place.at_once
            return Taken([], 1, resume=place, unread=place is not None, more=at_once)
        won.append(found)
        row = yield from _take(bound, scope, parameters, found)
        if row is None:
            # settled between look and lock
            confirmed = yield from unlocking.given_back(bound, found.lock)
            won.clear()
            if not confirmed:
                raise key_failures.unconfirmed(bound, found.lock)
        else:
            return Taken([_delivery(bound, row, found.lock)], 1, resume=place)
    return Taken([], 1, resume=place, more=True)


def _take(
    bound: Bound, scope: Scope, parameters: dict[str, Any], found: Candidate
) -> Protocol[Claimed | None]:
    """The row, read again under its full condition now that its key is held, its attempt counted."""
    named = {**parameters, **found.named}
    id = decoded_id(bound, found.id)
    result = yield from bound.run("take" + scope.suffix, named, row=id)
    rows = claimed(bound, result.rows)
    if rows and bound.has("take_write"):
        written = yield from bound.run("take_write", named, row=id)
        yield from at_most(bound, "take_write", written.count, 1, id)
    return rows[0] if rows else None


def _delivery(bound: Bound, row: Claimed, lock: KeyLock) -> Held:
    made: Held = bound.queue.delivery(
        bound, decoded_id(bound, row.id), row.attempt, row.values, lock
    )
    return made


def fence(row: Claimed, lock: KeyLock) -> dict[str, Any]:
    """The parameters that a fenced statement compares with the row and the session."""
    return {
        "id": row.id,
        "attempt": row.attempt + 1,
        "lock": lock.name,
        "lock_name": lock.name,
        "session": lock.session,
    }
