"""A group that is being claimed, or has a row in work, yields nothing: by steps, no race (FO-01 to FO-03)."""

from __future__ import annotations

from typing import Any

import pytest

from sqlclaimgen.runtime.protocols.scope import TABLE, Scope, group
from sqlclaimgen.runtime.steps import Begin, Commit
from tests.conformance.fifo.fifo_cases import (
    LEASE,
    ROW_LOCK,
    SERVERS,
    careless,
    claiming,
    ids,
    unguarded,
)
from tests.conformance.harness import Stand, on_cases
from tests.conformance.stepping import Stepper

SCOPES = pytest.mark.parametrize("scope", [group("a"), TABLE], ids=["group", "table"])


def held(stand: Stand, scope: Scope, *, module: Any = None) -> Stepper:
    """A claim that has taken row 1, the only one, and has not committed; a more urgent row 2 came after."""
    stand.fill([{"id": 1, "queue": "a", "priority": 5}])
    first = claiming(stand, scope, module=module)
    if stand.module.QUEUE.form == "lease":
        first.stop_before(Commit)
    else:
        assert ids(first) == [1]
    stand.fill([{"id": 2, "queue": "a", "priority": 1}])
    return first


@on_cases(LEASE.with_(dialects=SERVERS), ROW_LOCK)
@SCOPES
def test_a_more_urgent_row_does_not_open_a_group_that_is_being_claimed(
    stand: Stand, scope: Scope
) -> None:
    first = held(stand, scope)
    assert ids(claiming(stand, scope)) == []
    if stand.module.QUEUE.form == "lease":
        assert ids(first) == [1]
        assert ids(claiming(stand, scope)) == []


@on_cases(LEASE.with_(dialects=SERVERS), ROW_LOCK)
@SCOPES
def test_without_the_guard_it_does(stand: Stand, scope: Scope) -> None:
    twin = unguarded(stand)
    held(stand, scope, module=twin)
    assert ids(claiming(stand, scope, module=twin)) == [2]


@on_cases(LEASE)
@SCOPES
def test_a_group_with_a_row_in_work_yields_nothing(stand: Stand, scope: Scope) -> None:
    stand.fill([{"id": 1, "queue": "a", "priority": 5}])
    assert ids(claiming(stand, scope)) == [1]
    stand.fill([{"id": 2, "queue": "a", "priority": 1}])
    assert ids(claiming(stand, scope)) == []
    assert ids(claiming(stand, scope, module=careless(stand))) == [2]


@on_cases(LEASE.with_(dialects=SERVERS))
@SCOPES
def test_what_decides_is_a_fresh_statement_after_the_guard(stand: Stand, scope: Scope) -> None:
    # the second claim reads, then the first commits, then the second is granted the guard
    first = held(stand, scope)
    second = _with_a_snapshot(claiming(stand, scope), "read committed")
    third = _with_a_snapshot(claiming(stand, scope), "repeatable read")
    assert ids(first) == [1]
    assert ids(second) == []
    # the twin decides by what it read before the guard
    assert ids(third) == [2]


def _with_a_snapshot(claim: Stepper, isolation: str) -> Stepper:
    claim.next = Begin(isolation)
    claim.step()
    claim.session.run("SELECT COUNT(*) FROM jobs", {})
    return claim


@on_cases(ROW_LOCK)
@SCOPES
def test_a_row_locked_by_somebody_else_holds_its_group(stand: Stand, scope: Scope) -> None:
    stand.fill({"id": n, "queue": "a", "priority": 0} for n in (1, 2))
    other = stand.connect()
    other.cursor().execute("SELECT id FROM jobs WHERE id = 1 FOR UPDATE")
    assert ids(claiming(stand, scope)) == []
    other.rollback()
    assert ids(claiming(stand, scope)) == [1]


@on_cases(LEASE)
@SCOPES
def test_a_lease_that_ran_out_frees_its_group(stand: Stand, scope: Scope) -> None:
    stand.fill({"id": n, "queue": "a", "priority": 0} for n in (1, 2))
    assert ids(claiming(stand, scope)) == [1]
    assert ids(claiming(stand, scope)) == []
    again = claiming(stand, scope, module=stand.later(61)).finish()
    assert [(d.id, d.attempt) for d in again.deliveries] == [(1, 2)]
