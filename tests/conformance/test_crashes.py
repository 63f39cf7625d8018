"""A session that is killed, and a process that dies, at every step of every protocol."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from sqlclaimgen.runtime import Ack, DeadLetter, FaultKind, LeaseLost, Retry, StatementFailed
from sqlclaimgen.runtime.errors import SettlementUnknown
from sqlclaimgen.runtime.protocols import lease
from sqlclaimgen.runtime.steps import Commit, Protocol
from tests.conformance.cases import BURIED, FULL, PLAIN
from tests.conformance.harness import Stand, on_cases
from tests.conformance.stepping import Stepper, lost_connection
from tests.conformance.test_claiming import rows, scope_of
from tests.conformance.test_extension import settlement, taken

Made = Callable[[Any], Protocol[Any]]


def places(stand: Stand) -> dict[Any, list[str]]:
    """Where each row is: waiting or finished in the table, or among the dead letters."""
    found: dict[Any, list[str]] = {}
    for row in stand.rows():
        finished = row.get("processed_at") is not None
        dead = row.get("queue") == "dead"
        found.setdefault(row["id"], []).append(
            "finished" if finished else "dead" if dead else "waiting"
        )
    if stand.case is FULL:
        for row in stand.rows(dead=True):
            found.setdefault(row["id"], []).append("dead")
    return found


def leaving(*deliveries: Any) -> Made:
    return lambda bound: lease.leave(bound, deliveries)


def killed_at(stand: Stand, number: int, protocol: Made) -> bool | Stepper:
    """Run a protocol, end its session from outside before step `number`. False: it was over by then.
    The stepper: it returned all the same."""
    step = Stepper(stand.connect(), stand.module.QUEUE, protocol)
    for _ in range(number):
        if step.done:
            return False
        step.step()
    if step.done:
        return False
    stand.database.kill_session(stand.database.session_id(step.connection))
    try:
        step.finish()
    except StatementFailed as error:
        assert error.kind is FaultKind.LOST
    except SettlementUnknown:
        pass
    else:
        return step
    return True


def refill(stand: Stand, n: int) -> None:
    """Empty the table and its dead letters, and put rows 1 to n in; the third has no attempt left."""
    for table in ("jobs", "jobs_dead") if stand.case is FULL else ("jobs",):
        stand.database.execute(f"DELETE FROM {table}")
    counted = stand.module.QUEUE.counts_attempts
    stand.fill(
        [
            row | ({"attempt": 4 if row["id"] == 3 else 1} if counted else {})
            for row in rows(stand.case, n)
        ]
    )


@on_cases(FULL, PLAIN)
def test_a_claim_killed_at_every_step_loses_no_row(stand: Stand) -> None:
    n, number, returned = 6, 0, 0
    while True:
        refill(stand, n)
        killed = killed_at(stand, number, lambda bound: lease.claim(bound, scope_of(stand.case), 4))
        found = places(stand)
        assert set(found) == set(range(1, n + 1))
        assert all(len(where) == 1 for where in found.values())
        if killed is False:
            break
        held = {row["id"] for row in stand.rows() if row.get("locked_until") is not None}
        if killed is True:
            # nothing of it is left: the next claim gets the same rows
            assert held == set()
            assert all(where == ["waiting"] for where in found.values())
        else:
            # it had committed, and died as it gave the third row up, which keeps its lease or is moved
            own = {delivery.id for delivery in killed.value.deliveries}
            assert len(own) == 3 and 3 not in own
            assert held == own | ({3} if found[3] == ["waiting"] else set())
            returned += 1
        number += 1
    assert number >= 3
    if stand.case is FULL:
        assert returned
        assert found[3] == ["dead"]


@on_cases(FULL, PLAIN, BURIED)
@pytest.mark.parametrize("outcome", [Ack(), Retry()], ids=["ack", "retry"])
def test_a_settlement_killed_at_every_step_is_whole_or_nothing(stand: Stand, outcome: Any) -> None:
    killed_at_every_step(stand, outcome)


@on_cases(FULL, BURIED)
def test_a_dead_letter_killed_at_every_step_is_in_one_place(stand: Stand) -> None:
    killed_at_every_step(stand, DeadLetter("poison"))


def killed_at_every_step(stand: Stand, outcome: Any) -> None:
    fresh = stand.connect()
    number, going_on = 0, True
    after = {Ack: [["finished"], []], Retry: [["waiting"]], DeadLetter: [["dead"]]}[type(outcome)]
    while going_on:
        id = number + 1
        stand.fill([rows(stand.case, 1)[0] | {"id": id}])
        (delivery,) = taken(stand, fresh, 1)
        going_on = bool(killed_at(stand, number, settlement(delivery, outcome)))
        found = places(stand).get(id, [])
        if not going_on:
            assert found in after and delivery.settled
            if isinstance(outcome, Retry):
                (again,) = taken(stand, fresh, 1)
                again.ack(fresh)
            break
        assert found == ["waiting"]
        # a lost connection loses no lease
        assert not delivery.lost and not delivery.settled
        Stepper(
            fresh,
            stand.module.QUEUE,
            settlement(delivery, outcome),
        ).finish()
        assert places(stand).get(id, []) in after
        if isinstance(outcome, Retry):
            (again,) = taken(stand, fresh, 1)
            again.ack(fresh)
        number += 1
    assert number >= 3


@on_cases(FULL, PLAIN)
def test_a_settlement_whose_commit_got_no_answer_says_so(stand: Stand) -> None:
    stand.fill(rows(stand.case, 2))
    fresh = stand.connect()
    for committed in (True, False):
        (delivery,) = taken(stand, fresh, 1)
        step = Stepper(
            stand.connect(),
            stand.module.QUEUE,
            settlement(delivery, Ack()),
        )
        commit = step.stop_before(Commit)
        with pytest.raises(SettlementUnknown) as unknown:
            if committed:
                step.swallow()
            else:
                step.connection.close()
                step.fail(commit, lost_connection(step.connection))
            step.finish()
        assert (unknown.value.table, unknown.value.id) == ("jobs", delivery.id)
        assert not delivery.lost
        # settled again over a new connection: LeaseLost says that it had counted
        if committed:
            with pytest.raises(LeaseLost):
                delivery.ack(fresh)
        else:
            delivery.ack(fresh)
    assert stand.unfinished == 0


@on_cases(FULL, PLAIN)
def test_leaving_a_claim_killed_at_every_step(stand: Stand) -> None:
    stand.fill(rows(stand.case, 2))
    fresh = stand.connect()
    number, going_on = 0, True
    while going_on:
        first, second = taken(stand, fresh, 2)
        first.started = False
        going_on = bool(killed_at(stand, number, leaving(first, second)))
        held = {row["id"]: row for row in stand.rows()}
        if going_on:
            assert [held[d.id]["locked_until"] for d in (first, second)] == [
                first.token,
                second.token,
            ]
            Stepper(fresh, stand.module.QUEUE, leaving(first, second)).finish()
            held = {row["id"]: row for row in stand.rows()}
        assert [row["locked_until"] for row in held.values()] == [None, None]
        if stand.module.QUEUE.counts_attempts:
            stand.database.execute(f"UPDATE {stand.plan.dialect.quote('jobs')} SET attempt = 1")
        number += 1
    assert number >= 4


@on_cases(FULL, PLAIN)
def test_a_process_that_dies_frees_its_rows_when_the_lease_runs_out(stand: Stand) -> None:
    stand.fill(rows(stand.case, 5))
    connection = stand.connect()
    deliveries = taken(stand, connection, 5)
    connection.close()
    other = stand.connect()
    assert len(stand.claim(other, 5)) == 0
    assert len(stand.claim(other, 5, module=stand.later(59))) == 0
    with stand.claim(other, 5, module=stand.later(60.5)) as claim:
        assert {d.id for d in claim} == {d.id for d in deliveries}
        if stand.module.QUEUE.counts_attempts:
            assert all(d.attempt == 2 for d in claim)
