"""Sessions that end between any two steps, and after a statement whose answer never came: no row is
lost, and none is settled twice."""

from __future__ import annotations

from typing import Any

import pytest

from sqlclaimgen.runtime.errors import ClaimError, ClaimLost, SettlementUnknown
from sqlclaimgen.runtime.outcomes import Ack, AnyOutcome, DeadLetter, Retry
from sqlclaimgen.runtime.protocols import row_lock
from sqlclaimgen.runtime.steps import Begin, Commit, RollbackToSavepoint, Run
from tests.conformance.harness import Case, Stand, on_cases
from tests.conformance.row_lock.cases import DELAYED, FULL, MINIMAL, scope_of
from tests.conformance.stepping import Stepper

CASES = (FULL, MINIMAL, DELAYED)


def one_row(stand: Stand) -> None:
    """A due row."""
    stand.fill([{"id": 1, "queue": "a"} if stand.case.claims else {"id": 1}])


def claiming(stand: Stand, connection: Any) -> Stepper:
    """A claim, not begun."""
    scope = scope_of(stand.case)
    return Stepper(connection, stand.module.QUEUE, lambda bound: row_lock.claim(bound, scope, 1))


def claimed(stand: Stand, connection: Any) -> Any:
    """A delivery whose claim's transaction is open, with the guard that claims by hand have."""
    (delivery,) = claiming(stand, connection).finish().deliveries
    delivery.connection = connection
    Stepper(connection, stand.module.QUEUE, lambda _: row_lock.guarded(delivery)).finish()
    return delivery


def finishing(stand: Stand, delivery: Any, outcome: AnyOutcome) -> Stepper:
    """Its settlement and COMMIT, not begun."""
    return Stepper(
        delivery.connection, stand.module.QUEUE, lambda _: row_lock.finish(delivery, outcome)
    )


def outcomes_of(case: Case) -> list[AnyOutcome]:
    """Outcomes that the case's table has."""
    return [Ack(), Retry(), *([DeadLetter()] if "dead_letter" in case.body else [])]


def steps_of(stepper: Stepper) -> int:
    """How many steps a protocol takes when nothing goes wrong."""
    stepper.finish()
    stepper.connection.close()
    return len(stepper.steps)


def reset(stand: Stand) -> None:
    """One due row again, whatever became of it."""
    stand.database.execute("DELETE FROM jobs")
    if "dead_letter" in stand.case.body:
        stand.database.execute("DELETE FROM jobs_dead")
    one_row(stand)


def is_whole(stand: Stand) -> None:
    """The row is due, as it was, and free."""
    (row,) = stand.rows()
    assert row.get("attempt", 1) == 1
    assert stand.unfinished == 1
    if "dead_letter" in stand.case.body:
        assert stand.rows(dead=True) == []
    other = stand.connect()
    with stand.claim(other) as deliveries:
        assert [delivery.id for delivery in deliveries] == [1]
    other.close()


@on_cases(*CASES)
def test_a_session_that_ends_while_it_claims(stand: Stand) -> None:
    reset(stand)
    total = steps_of(claiming(stand, stand.connect()))
    stand.database.wait_until_idle()
    for done in range(1, total):
        connection = stand.connect()
        claim = claiming(stand, connection)
        for _ in range(done):
            claim.step()
        stand.database.kill_session(stand.database.session_id(connection))
        with pytest.raises(ClaimError):
            claim.finish()
        is_whole(stand)


@on_cases(*CASES)
def test_a_session_that_ends_between_two_steps_of_a_settlement(stand: Stand) -> None:
    for outcome in outcomes_of(stand.case):
        reset(stand)
        total = steps_of(finishing(stand, claimed(stand, stand.connect()), outcome))
        for done in range(total):
            reset(stand)
            connection = stand.connect()
            delivery = claimed(stand, connection)
            settlement = finishing(stand, delivery, outcome)
            for _ in range(done):
                settlement.step()
            stand.database.kill_session(stand.database.session_id(connection))
            unknown = isinstance(settlement.next, Commit)
            with pytest.raises(SettlementUnknown if unknown else ClaimLost):
                settlement.finish()
            assert delivery.lost
            assert not delivery.settled
            is_whole(stand)


@on_cases(*CASES)
def test_an_answer_that_never_came(stand: Stand) -> None:
    """The statement was carried out, and the session ends before its answer arrives."""
    for outcome in outcomes_of(stand.case):
        reset(stand)
        total = steps_of(finishing(stand, claimed(stand, stand.connect()), outcome))
        for done in range(total):
            reset(stand)
            delivery = claimed(stand, stand.connect())
            settlement = finishing(stand, delivery, outcome)
            for _ in range(done):
                settlement.step()
            if isinstance(settlement.next, Commit):
                with pytest.raises(SettlementUnknown):
                    settlement.swallow()
                    settlement.finish()
                # it counted, once; nobody else can finish the row now
                dead = "dead_letter" in stand.case.body and len(stand.rows(dead=True))
                assert stand.unfinished == (1 if isinstance(outcome, Retry) else 0)
                assert dead == (1 if isinstance(outcome, DeadLetter) else 0)
            else:
                with pytest.raises(ClaimLost):
                    settlement.swallow()
                    settlement.finish()
                stand.database.wait_until_idle()
                is_whole(stand)


@on_cases(*CASES)
def test_a_process_that_dies(stand: Stand) -> None:
    """Its connection is closed by the system, and nothing more is sent."""
    reset(stand)
    connection = stand.connect()
    delivery = claimed(stand, connection)
    settlement = finishing(stand, delivery, Ack())
    settlement.stop_before(Commit)
    settlement.abandon()
    connection.close()
    stand.database.wait_until_idle()
    is_whole(stand)


@on_cases(FULL, MINIMAL)
def test_a_failed_handler_goes_back_to_the_savepoint(stand: Stand) -> None:
    """What a worker does with a transactional handler that raised: the row stays held, its retry is
    committed, and the handler's writes are not."""
    reset(stand)
    stand.database.execute("CREATE TABLE effects (job bigint NOT NULL)")
    connection = stand.connect()
    (delivery,) = claiming(stand, connection).finish().deliveries
    delivery.connection = connection
    queue = stand.module.QUEUE
    Stepper(connection, queue, lambda _: row_lock.opened(delivery)).finish()
    connection.cursor().execute("INSERT INTO effects VALUES (1)")
    try:
        connection.cursor().execute("SELECT nonsense")
    except Exception as error:
        assert "nonsense" in str(error)
    undo = Stepper(connection, queue, lambda _: row_lock.undone(delivery))
    undo.stop_before(RollbackToSavepoint)
    undo.finish()
    assert stand.database.locked_rows("jobs", "id") == {1}
    finishing(stand, delivery, Retry()).finish()
    assert stand.database.value("SELECT COUNT(*) FROM effects") == 0
    (row,) = stand.rows()
    assert row.get("attempt", 2) == 2


@on_cases(FULL, MINIMAL)
def test_a_row_that_is_given_back_unworked(stand: Stand) -> None:
    reset(stand)
    connection = stand.connect()
    delivery = claimed(stand, connection)
    Stepper(connection, stand.module.QUEUE, lambda _: row_lock.abandon(delivery)).finish()
    is_whole(stand)


@on_cases(FULL, MINIMAL)
def test_an_empty_claim_takes_the_fewest_steps(stand: Stand) -> None:
    claim = claiming(stand, stand.connect())
    claim.finish()
    assert isinstance(claim.steps[0], Begin)
    assert isinstance(claim.steps[-1], Commit)
    looked = [step.statement for step in claim.steps if isinstance(step, Run)]
    assert len(looked) <= 2, looked
