"""A session that is killed at any step leaves its group free, and the order as it was."""

from __future__ import annotations

from typing import Any

import pytest

from sqlclaimgen.runtime.outcomes import Ack
from sqlclaimgen.runtime.protocols import row_lock
from sqlclaimgen.runtime.protocols.scope import TABLE, group
from sqlclaimgen.runtime.steps import Close, Commit, Run
from tests.conformance.fifo.fifo_cases import LEASE, ROW_LOCK, claiming, ids
from tests.conformance.harness import Stand, on_cases
from tests.conformance.stepping import Stepper

SCOPES = pytest.mark.parametrize("scope", [group("a"), TABLE], ids=["group", "table"])


def killed(stand: Stand, stepper: Stepper) -> None:
    """End the session from outside, and drop the protocol where it stands."""
    stepper.abandon()
    stand.database.kill_session(stand.database.session_id(stepper.connection))


def finishing(claim: Stepper, delivery: Any, queue: Any) -> Stepper:
    """The settlement of a row lock delivery that commits it, one step at a time."""
    return Stepper(claim.connection, queue, lambda bound: row_lock.finish(delivery, Ack()))


def steps_of(stand: Stand, scope: Any) -> int:
    """How many steps a claim has."""
    claim = claiming(stand, scope)
    claim.finish()
    n = len(claim.steps)
    claim.session.rollback()
    claim.connection.close()
    return n


@on_cases(LEASE)
@SCOPES
def test_a_killed_claim_frees_its_group(stand: Stand, scope: Any) -> None:
    stand.fill({"id": n, "queue": "a", "priority": 0} for n in (1, 2))
    total = steps_of(stand, scope)
    ahead = 0
    for done in range(1, total + 1):
        # each in its own time: what the claim before it took has run out
        ahead += 61
        claim = claiming(stand, scope, module=stand.later(ahead))
        for _ in range(done):
            claim.step()
        committed = any(isinstance(step, Commit) for step in claim.steps)
        attempt = _attempt(stand)
        killed(stand, claim)
        ahead += 61 if committed else 0
        again = claiming(stand, scope, module=stand.later(ahead)).finish()
        assert [(d.id, d.attempt) for d in again.deliveries] == [(1, attempt)], (done, claim.steps)
        stand.database.execute("UPDATE jobs SET attempt = 1")


def _attempt(stand: Stand) -> int:
    row = stand.row(1)
    assert row is not None
    return int(row["attempt"])


@on_cases(ROW_LOCK)
@SCOPES
def test_a_killed_delivery_frees_its_group(stand: Stand, scope: Any) -> None:
    stand.fill({"id": n, "queue": "a", "priority": 0} for n in range(1, 30))
    total = steps_of(stand, scope)
    head = 1
    for done in range(1, total + 1):
        claim = claiming(stand, scope)
        for _ in range(done):
            claim.step()
        killed(stand, claim)
        assert _head(stand, scope) == head, (done, claim.steps)
    for done in range(1, 10):
        claim = claiming(stand, scope)
        (delivery,) = claim.finish().deliveries
        claim.abandon()
        settling = finishing(claim, delivery, stand.module.QUEUE)
        for _ in range(done):
            if settling.next is not None:
                settling.step()
        over = settling.done
        killed(stand, settling)
        head += any(isinstance(step, Commit) for step in settling.steps)
        assert _head(stand, scope) == head, (done, settling.steps)
        if over:
            return
    raise AssertionError("a settlement has fewer steps than that")


def _head(stand: Stand, scope: Any) -> Any:
    claim = claiming(stand, scope)
    (got,) = ids(claim)
    claim.session.rollback()
    claim.connection.close()
    stand.database.wait_until_idle()
    return got


@on_cases(*(case.with_(dialects=("mysql", "mariadb")) for case in (LEASE, ROW_LOCK)))
def test_the_guard_of_a_claim_that_fails_is_released(stand: Stand) -> None:
    stand.fill([{"id": 1, "queue": "a"}])
    claim = claiming(stand, group("a"))
    claim.stop_before("claim")
    assert isinstance(claim.next, Run)
    claim.next = Run("claim", "SELECT nothing FROM nowhere", {})
    with pytest.raises(Exception, match="claim failed"):
        claim.finish()
    assert claim.connection.open
    assert ids(claiming(stand, group("a"))) == [1]


@on_cases(*(case.with_(dialects=("mysql", "mariadb")) for case in (LEASE, ROW_LOCK)))
def test_a_release_that_is_not_confirmed_closes_the_connection(stand: Stand) -> None:
    stand.fill([{"id": 1, "queue": "a"}])
    twin = stand.twin(guard_release=lambda sql: sql.replace("RELEASE_LOCK(g.name)", "0"))
    claim = claiming(stand, group("a"), module=twin)
    if stand.module.QUEUE.form == "lease":
        assert ids(claim) == [1]
        assert isinstance(claim.steps[-1], Close)
    else:
        (delivery,) = claim.finish().deliveries
        settling = finishing(claim, delivery, twin.QUEUE)
        settling.finish()
        assert isinstance(settling.steps[-1], Close)
        assert stand.unfinished == 0
    assert not claim.connection.open
    stand.fill([{"id": 2, "queue": "a"}])
    assert ids(claiming(stand, group("a"), module=stand.later(61))) == (
        [1] if stand.module.QUEUE.form == "lease" else [2]
    )


@on_cases(*(case.with_(dialects=("mysql", "mariadb")) for case in (LEASE, ROW_LOCK)))
def test_a_guard_without_an_answer_is_an_error_and_not_won(stand: Stand) -> None:
    stand.fill([{"id": 1, "queue": "a"}])
    twin = stand.twin(guard=lambda sql: sql.replace("GET_LOCK(g.name, 0)", "NULL"))
    with pytest.raises(Exception, match="did not say whether the guard"):
        claiming(stand, group("a"), module=twin).finish()
    assert ids(claiming(stand, group("a"))) == [1]


@on_cases(ROW_LOCK)
def test_by_hand_the_group_is_held_until_the_block_is_left(stand: Stand) -> None:
    stand.fill({"id": n, "queue": "a", "priority": 0} for n in (1, 2, 3))
    connection = stand.connect()
    for id in (1, 2):
        with stand.module.claim(connection, group="a") as deliveries:
            for delivery in deliveries:
                assert delivery.id == id
                delivery.ack(connection)
                assert ids(claiming(stand, group("a"))) == []
    with pytest.raises(ZeroDivisionError), stand.module.claim(connection, group="a"):
        raise ZeroDivisionError
    assert ids(claiming(stand, group("a"))) == [3]
