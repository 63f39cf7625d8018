"""Sessions that end between any two steps, or after a statement and before its answer."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable
from typing import Any

import pytest

from sqlclaimgen.runtime import Ack, ClaimError, ClaimLost, Retry, SettlementUnknown
from sqlclaimgen.runtime.protocols import advisory
from sqlclaimgen.runtime.steps import Close, Commit, Protocol, Rollback, Run
from tests.conformance.advisory.cases import DELAYED, FULL, PLAIN, rows, with_sessions
from tests.conformance.advisory.test_taking import claiming
from tests.conformance.harness import Stand, on_cases
from tests.conformance.stepping import Stepper

WAYS = ("killed before", "killed after", "no answer")


def break_off(stand: Stand, stepper: Stepper, way: str) -> None:
    """End the session at the stepper's next step, then let the protocol hear of it to its end."""
    session = stand.database.session_id(stepper.connection)
    if way == "killed before":
        stand.database.kill_session(session)
    elif way == "killed after":
        stepper.step()
        stand.database.kill_session(session)
    else:
        stepper.swallow()
    stepper.finish()


def steps_of(make: Callable[[], Stepper]) -> int:
    """How many steps a protocol takes when nothing goes wrong."""
    stepper = make()
    stepper.finish()
    return len(stepper.steps)


def delivered_once_more(stand: Stand, number: int | None = None) -> Any:
    """Claims the row over another connection: due again at once. Settles it."""
    stand.database.wait_until_idle()
    connection = stand.connect()
    with stand.claim(connection) as claim:
        (delivery,) = claim
        if number is not None and stand.module.QUEUE.counts_attempts:
            assert delivery.number == number
        delivery.ack(connection)
    assert stand.unfinished == 0
    connection.close()
    return delivery


@pytest.mark.parametrize("way", WAYS)
@on_cases(*with_sessions(FULL, PLAIN))
def test_a_claim_whose_session_ends_gives_the_row_back(stand: Stand, way: str) -> None:
    stand.fill(rows(stand.case, 1))
    connection = stand.connect()
    total = steps_of(lambda: claiming(stand, connection))
    connection.close()
    for n in range(total):
        reset(stand)
        claim = claiming(stand)
        for _ in range(n):
            claim.step()
        counted = committed(stand)
        try:
            break_off(stand, claim, way)
        except ClaimError:
            assert not claim.value
        now = committed(stand)
        assert now in (counted, counted + 1)
        delivered_once_more(stand, now)
        claim.session.close()


def committed(stand: Stand) -> int:
    """The attempt of the only row, as everybody sees it; 0 where none is counted."""
    (row,) = stand.rows()
    return int(row.get("attempt", 0))


def reset(stand: Stand) -> None:
    quote = stand.plan.dialect.quote
    stand.database.execute(f"DELETE FROM {quote('jobs')}")
    stand.fill(rows(stand.case, 1))


OUTCOMES: dict[str, Callable[[Any], Protocol[Any]]] = {
    "settle": lambda delivery: advisory.settle(delivery, Ack()),
    "finish": lambda delivery: advisory.finish(delivery, Ack()),
    "abandon": lambda delivery: advisory.abandon(delivery),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("outcome", OUTCOMES)
@on_cases(*with_sessions(FULL, PLAIN))
def test_a_settlement_whose_session_ends_counts_or_does_not(
    stand: Stand, outcome: str, way: str
) -> None:
    for n in itertools.count():
        reset(stand)
        connection = stand.connect()
        (delivery,) = claiming(stand, connection).finish().deliveries
        delivery.connection = connection
        stepper = Stepper(connection, stand.module.QUEUE, lambda bound: OUTCOMES[outcome](delivery))  # noqa: B023
        for _ in range(n):
            if stepper.next is not None:
                stepper.step()
        if stepper.next is None:
            break
        at = stepper.next
        raised: ClaimError | None = None
        try:
            break_off(stand, stepper, way)
        except ClaimError as error:
            raised = error
        stand.database.wait_until_idle()
        if raised is None:
            assert delivery.settled or delivery.lost or outcome == "abandon"
        elif isinstance(at, Commit):
            assert isinstance(raised, SettlementUnknown)
            assert delivery.lost
        else:
            assert isinstance(raised, ClaimLost | SettlementUnknown)
        if stand.unfinished:
            assert not delivery.settled
            delivered_once_more(stand)
        stepper.session.close()
    assert n >= 2


@on_cases(*with_sessions(FULL, DELAYED))
def test_a_stale_holder_changes_nothing(stand: Stand) -> None:
    # its session died, its row is in another's hands, and its connection works again
    stand.fill(rows(stand.case, 1))
    connection, other = stand.connect(), stand.connect()
    (stale,) = claiming(stand, connection).finish().deliveries
    stand.database.kill_session(stand.database.session_id(connection))
    with stand.claim(other) as claim:
        (current,) = claim
        before = stand.rows()
        for outcome in (Ack(), Retry()):
            # as if the session had never been told apart: a new one, that holds the key's lock
            replay = copy.copy(stale)
            replay.lock = copy.copy(current.lock)
            fenced = Stepper(other, stand.module.QUEUE, lambda b: advisory.settle(replay, outcome))  # noqa: B023
            with pytest.raises(ClaimLost):
                fenced.finish()
            assert stand.rows() == before
        current.ack(other)
    assert stand.unfinished == 0


@on_cases(*with_sessions(FULL))
def test_a_fence_without_the_attempt_is_found_out(stand: Stand) -> None:
    stand.fill(rows(stand.case, 1))
    quote = stand.plan.dialect.quote
    twin = stand.twin(ack=lambda sql: sql.replace(f" AND {quote('attempt')} = :attempt", ""))
    connection, other = stand.connect(), stand.connect()
    (stale,) = claiming(stand, connection, twin).finish().deliveries
    stand.database.kill_session(stand.database.session_id(connection))
    with stand.claim(other) as claim:
        (current,) = claim
        replay = copy.copy(stale)
        replay.lock = copy.copy(current.lock)
        write = Stepper(other, twin.QUEUE, lambda b: advisory._write(replay, Ack()))
        write.finish()
        other.commit()
        assert stand.unfinished == 0, "the row was finished under its holder's hands"
        with pytest.raises(ClaimLost):
            current.ack(other)


@on_cases(FULL, PLAIN)
def test_the_key_is_given_back_after_the_commit(stand: Stand) -> None:
    stand.fill(rows(stand.case, 1))
    connection = stand.connect()
    (delivery,) = claiming(stand, connection).finish().deliveries
    settle = Stepper(connection, stand.module.QUEUE, lambda b: advisory.settle(delivery, Ack()))
    settle.finish()
    names = [
        step.statement if isinstance(step, Run) else type(step).__name__ for step in settle.steps
    ]
    given_back = names.index("DropKey" if stand.dialect == "sqlite" else "unlock")
    assert names.index("ack") < names.index("Commit") < given_back


@on_cases(*with_sessions(PLAIN))
def test_an_unlock_before_the_commit_would_be_found_out(stand: Stand) -> None:
    # what the order is for: another claim wins the key while the row still looks due
    stand.fill(rows(stand.case, 1))
    connection = stand.connect()
    (delivery,) = claiming(stand, connection).finish().deliveries
    settle = Stepper(connection, stand.module.QUEUE, lambda b: advisory.settle(delivery, Ack()))
    settle.stop_before(Commit)
    with stand.claim(stand.connect()) as rival:
        assert len(rival) == 0
    key = delivery.lock.name
    unlock = (
        "SELECT pg_advisory_unlock(%s)"
        if stand.dialect == "postgres"
        else "SELECT RELEASE_LOCK(%s)"
    )
    connection.cursor().execute(unlock, [key])
    late = claiming(stand)
    late.stop_before("take")
    # the broken order: the rival holds the key of a row that is as good as finished
    assert not late.done
    late.abandon()


# -- transactional handlers ------------------------------------------------------------------------------


def run(stand: Stand, connection: Any, protocol: Protocol[Any]) -> Any:
    return Stepper(connection, stand.module.QUEUE, lambda bound: protocol).finish()


@on_cases(FULL, PLAIN)
def test_a_handlers_writes_commit_with_the_ack(stand: Stand) -> None:
    stand.fill(rows(stand.case, 1))
    stand.database.execute("CREATE TABLE effects (n INTEGER)")
    connection = stand.connect(autocommit=True)
    (delivery,) = claiming(stand, connection).finish().deliveries
    delivery.started = True
    run(stand, connection, advisory.opened(delivery))
    connection.cursor().execute("INSERT INTO effects VALUES (1)")
    assert stand.database.value("SELECT COUNT(*) FROM effects") == 0
    assert advisory.commits_with(Ack()) and not advisory.commits_with(Retry())
    run(stand, connection, advisory.finish(delivery, Ack()))
    assert stand.database.value("SELECT COUNT(*) FROM effects") == 1
    assert stand.unfinished == 0
    assert delivery.lock is None


@on_cases(FULL, PLAIN)
def test_a_handlers_writes_roll_back_with_anything_else(stand: Stand) -> None:
    stand.fill(rows(stand.case, 1))
    stand.database.execute("CREATE TABLE effects (n INTEGER)")
    connection = stand.connect(autocommit=True)
    (delivery,) = claiming(stand, connection).finish().deliveries
    delivery.started = True
    run(stand, connection, advisory.opened(delivery))
    connection.cursor().execute("INSERT INTO effects VALUES (1)")
    run(stand, connection, advisory.undone(delivery))
    run(stand, connection, advisory.finish(delivery, Retry()))
    assert stand.database.value("SELECT COUNT(*) FROM effects") == 0
    assert delivery.lock is None
    with stand.claim(connection) as claim:
        assert len(claim) == 1


@on_cases(FULL, PLAIN)
def test_an_abandoned_handler_leaves_nothing_behind(stand: Stand) -> None:
    stand.fill(rows(stand.case, 1))
    stand.database.execute("CREATE TABLE effects (n INTEGER)")
    connection = stand.connect(autocommit=True)
    for started, number in ((False, 1), (True, 1), (False, 2)):
        (delivery,) = claiming(stand, connection).finish().deliveries
        if stand.module.QUEUE.counts_attempts:
            assert delivery.number == number
        delivery.started = started
        if started:
            run(stand, connection, advisory.opened(delivery))
            connection.cursor().execute("INSERT INTO effects VALUES (1)")
        run(stand, connection, advisory.abandon(delivery))
        assert delivery.lock is None
    assert stand.database.value("SELECT COUNT(*) FROM effects") == 0


@on_cases(*with_sessions(FULL))
def test_a_lost_row_rolls_the_handlers_writes_back(stand: Stand) -> None:
    stand.fill(rows(stand.case, 1))
    stand.database.execute("CREATE TABLE effects (n INTEGER)")
    connection = stand.connect(autocommit=True)
    (delivery,) = claiming(stand, connection).finish().deliveries
    run(stand, connection, advisory.opened(delivery))
    connection.cursor().execute("INSERT INTO effects VALUES (1)")
    stand.database.execute(f"DELETE FROM {stand.plan.dialect.quote('jobs')}")
    finishing = Stepper(connection, stand.module.QUEUE, lambda b: advisory.finish(delivery, Ack()))
    with pytest.raises(ClaimLost):
        finishing.finish()
    assert any(isinstance(step, Rollback) for step in finishing.steps)
    assert not any(isinstance(step, Close) for step in finishing.steps)
    assert stand.database.value("SELECT COUNT(*) FROM effects") == 0


# -- every order of two claims ---------------------------------------------------------------------------


@on_cases(*with_sessions(PLAIN))
def test_two_claims_in_every_order_take_one_key_once(stand: Stand) -> None:
    connections = [stand.connect(), stand.connect()]
    count = steps_of(lambda: claiming(stand, connections[0]))
    seen: set[tuple[int, ...]] = set()
    for order in itertools.product((0, 1), repeat=5):
        reset(stand)
        claims = [claiming(stand, connection) for connection in connections]
        for which in (*order, *[0] * 9, *[1] * 9):
            if claims[which].next is not None:
                claims[which].step()
        taken = [claim.value.deliveries for claim in claims]
        assert sum(len(deliveries) for deliveries in taken) == 1, order
        seen.add(tuple(len(deliveries) for deliveries in taken))
        for connection, deliveries in zip(connections, taken, strict=True):
            for delivery in deliveries:
                run(stand, connection, advisory.settle(delivery, Ack()))
    assert seen == {(0, 1), (1, 0)}
    assert count > 3
