"""DE-01: the move to the dead letters, and back, is cut between each pair of its statements."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from sqlclaimgen.runtime import ClaimError, DeadLetter
from sqlclaimgen.runtime.protocols import care, lease
from sqlclaimgen.runtime.steps import Commit
from tests.care.cases import DEAD_GROUP, DEAD_TABLE, MARKED, OWN_IDS
from tests.conformance.harness import Stand, on_cases
from tests.conformance.stepping import Stepper

Move = Callable[[Any], Any]


def _steps(stand: Stand, connection: Any, protocol: Move) -> int:
    """How many steps a protocol takes; it is carried out."""
    stepper = Stepper(connection, stand.module.QUEUE, protocol)
    stepper.finish()
    return len(stepper.steps)


def _cuts(stand: Stand, protocol: Callable[[], Move], steps: int) -> Iterator[str]:
    """Kill the session before each step in turn, from its begin to its commit."""
    for cut in range(1, steps):
        connection = stand.connect()
        stepper = Stepper(connection, stand.module.QUEUE, protocol())
        for _ in range(cut):
            stepper.step()
        where = str(stepper.next)
        stepper.abandon()
        stand.database.kill_session(stand.database.session_id(connection))
        yield where


def _one_place(stand: Stand, id: Any) -> str:
    """`queue` or `dead`: the only place a row is in."""
    places = ["queue"] if stand.row(id) else []
    if stand.table.dead_letter is not None and stand.plan.dead_indexes:
        places += ["dead"] * sum(row["id"] == id for row in stand.rows(dead=True))
    assert len(places) == 1, f"row {id} is in {places}"
    return places[0]


@on_cases(DEAD_TABLE)
def test_a_cut_dead_letter_leaves_the_row_in_one_table(stand: Stand) -> None:
    ids = stand.enqueue([{"queue": "a", "payload": {}} for _ in range(2)])
    connection = stand.connect()
    with stand.claim(connection, 2) as claimed:
        first, second = list(claimed)

        def bury() -> Move:
            second.settled = second.settling = False
            return lambda bound: lease.settle(second, DeadLetter(), joined=False)

        steps = _steps(
            stand, stand.connect(), lambda bound: lease.settle(first, DeadLetter(), joined=False)
        )
        assert _one_place(stand, ids[0]) == "dead"
        for where in _cuts(stand, bury, steps):
            assert _one_place(stand, ids[1]) == "queue", where
        second.settled = second.settling = False
        second.dead_letter(connection)
    assert _one_place(stand, ids[1]) == "dead"


@on_cases(DEAD_TABLE)
def test_a_cut_redrive_leaves_the_row_in_one_table(stand: Stand) -> None:
    ids = stand.enqueue([{"queue": "a", "payload": {}} for _ in range(2)])
    connection = stand.connect()
    with stand.claim(connection, 2) as deliveries:
        for delivery in deliveries:
            delivery.dead_letter(connection)

    def back(id: Any) -> Move:
        return lambda bound: care.redrive(bound, [id], joined=False)

    steps = _steps(stand, stand.connect(), back(ids[0]))
    assert _one_place(stand, ids[0]) == "queue"
    for where in _cuts(stand, lambda: back(ids[1]), steps):
        assert _one_place(stand, ids[1]) == "dead", where
    assert stand.module.redrive(connection, ids=[ids[1]]) == [ids[1]]
    assert _one_place(stand, ids[1]) == "queue"


@on_cases(DEAD_TABLE, DEAD_GROUP, MARKED)
def test_a_commit_without_an_answer_can_be_tried_again(stand: Stand) -> None:
    """The redrive counted and nobody heard of it: the second try finds nothing to do."""
    row = {} if stand.case is MARKED else {"queue": "a"}
    if stand.case is DEAD_TABLE:
        row["payload"] = "p"
    (id,) = stand.enqueue([row])
    connection = stand.connect()
    with stand.claim(connection) as deliveries:
        for delivery in deliveries:
            delivery.dead_letter(connection)
    doomed = stand.connect()
    stepper = Stepper(
        doomed, stand.module.QUEUE, lambda bound: care.redrive(bound, [id], joined=False)
    )
    stepper.stop_before(Commit)
    with pytest.raises(ClaimError):
        stepper.swallow()
        stepper.finish()
    assert stand.module.redrive(connection, ids=[id]) == []
    row_now = stand.row(id)
    assert row_now is not None and row_now["attempt"] == 1


@on_cases(DEAD_TABLE)
def test_a_twin_that_removes_first_is_caught(stand: Stand) -> None:
    """What this test would say of a move in two transactions."""
    if "dead_letter_remove" not in stand.sql:
        pytest.skip("one statement: there is no between")
    (id,) = stand.enqueue([{"queue": "a", "payload": {}}])
    connection = stand.connect()
    with stand.claim(connection) as deliveries:
        (delivery,) = list(deliveries)
        cursor = stand.database.admin.cursor()
        cursor.execute("DELETE FROM jobs")  # the first of two transactions, then a crash
        with pytest.raises(AssertionError, match="is in"):
            _one_place(stand, id)
        delivery.lost = True


@on_cases(OWN_IDS)
def test_a_dead_letter_of_an_id_that_is_dead_already_is_filed(stand: Stand) -> None:
    """The newer one replaces the older: refused, the row would stay for ever, and once crashes used
    its attempts up it would fail every claim that met it."""
    import uuid

    id = uuid.UUID(int=7)
    connection = stand.connect()
    for error in ("first", "second"):
        stand.enqueue([{"id": id}])
        with stand.claim(connection) as deliveries:
            for delivery in deliveries:
                delivery.dead_letter(connection, error=error)
        assert [(row["id"], row["error"]) for row in stand.rows(dead=True)] == [(id, error)]
        assert stand.rows() == []
