"""Claims over the caller's own connection: one delivery each, outcomes, transactions, leaving the block."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from sqlclaimgen.runtime import (
    AlreadySettled,
    ClaimLost,
    Closed,
    ConnectionBusy,
    StatementFailed,
    TransactionOpen,
    WrongConnection,
    transaction,
)
from sqlclaimgen.runtime.driving import session_of
from tests.conformance.advisory.cases import (
    BURIED,
    DELAYED,
    FULL,
    MARKED,
    PLAIN,
    SECONDS,
    SHAPES,
    WHOLE,
    rows,
    with_sessions,
)
from tests.conformance.advisory.test_taking import free_elsewhere, held_keys
from tests.conformance.harness import Stand, on_cases


def filled(stand: Stand, n: int = 2) -> None:
    """`n` due rows, each with a key of its own."""
    values = [dict(row) for row in rows(stand.case, n)]
    if stand.case is SECONDS:
        now = stand.module.QUEUE.clock().replace(microsecond=0)
        values = [{**value, "run_after": now} for value in values]
    stand.fill(values)


@pytest.mark.parametrize("autocommit", [True, False])
@on_cases(*SHAPES)
def test_a_row_is_claimed_and_finished(stand: Stand, autocommit: bool) -> None:
    filled(stand, 3)
    connection = stand.connect(autocommit=autocommit)
    done = []
    for _ in range(3):
        with stand.claim(connection) as claim:
            (delivery,) = claim
            held = stand.row(delivery.id)
            assert held is not None
            if stand.module.QUEUE.counts_attempts:
                assert (delivery.attempt, held["attempt"]) == (1, 2)
            delivery.ack(connection)
            done.append(delivery.id)
            assert delivery.settled and not delivery.lost
            assert free(stand, delivery)
    assert sorted(done) == [1, 2, 3]
    assert stand.unfinished == 0
    with stand.claim(connection) as claim:
        assert len(claim) == 0
    assert not in_transaction(connection)


def free(stand: Stand, delivery: Any) -> bool:
    """Whether anybody can have the delivery's key."""
    if stand.dialect == "sqlite":
        return delivery.lock is None
    return free_elsewhere(stand, delivery)


def in_transaction(connection: Any) -> bool:
    return session_of(connection, table="jobs").in_transaction


@on_cases(*SHAPES)
def test_every_outcome_is_written_before_the_key_is_given_back(stand: Stand) -> None:
    filled(stand, 5)
    connection = stand.connect()
    outcomes = ["retry", "ack", "discard"]
    outcomes += ["retry_after"] if hasattr(stand.module.Delivery, "retry_after") else []
    outcomes += ["dead_letter"] if hasattr(stand.module.Delivery, "dead_letter") else []
    for outcome in outcomes:
        with stand.claim(connection) as claim:
            (delivery,) = claim
            extra = [timedelta(hours=1)] if outcome == "retry_after" else []
            getattr(delivery, outcome)(connection, *extra)
            assert delivery.settled
            assert free(stand, delivery)
            row = stand.row(delivery.id)
            if outcome in ("retry", "retry_after"):
                assert row is not None
                if stand.module.QUEUE.counts_attempts:
                    assert row["attempt"] == 2, "counted at the take, not again"
            elif not stand.table.keeps_finished:
                assert row is None
        if outcome == "retry":
            with stand.claim(connection) as claim:
                # behind what waits where there is a due time, again at once where there is none
                assert len(claim) == 1


@on_cases(SECONDS, DELAYED)
def test_a_retry_that_changes_nothing_is_no_loss(stand: Stand) -> None:
    # WC-02: PyMySQL counts changed rows, and the second of the retry is that of the row
    now = stand.module.QUEUE.clock().replace(microsecond=0)
    module = stand.at(now)
    stand.fill([{"id": 1, "account": "7", "run_after": now}])
    connection = stand.connect()
    with stand.claim(connection, module=module) as claim:
        (delivery,) = claim
        delivery.retry(connection)
        assert delivery.settled and not delivery.lost
    with stand.claim(connection, module=module) as claim:
        (delivery,) = claim
        if stand.codec.counts_changes:
            # the twin cannot tell an unchanged row from one that is gone
            del delivery.bound.statements["present"]
            with pytest.raises(ClaimLost):
                delivery.retry(connection)


# -- one delivery per connection -----------------------------------------------------------------------


@on_cases(FULL, PLAIN)
def test_a_connection_holds_one_delivery(stand: Stand) -> None:
    filled(stand, 3)
    connection = stand.connect()
    with stand.claim(connection) as claim:
        (delivery,) = claim
        with pytest.raises(ConnectionBusy) as caught:
            stand.claim(connection)
        assert (caught.value.table, caught.value.id) == ("jobs", delivery.id)
        assert not delivery.lost
        delivery.ack(connection)
        # settled and committed: the key is free, and the connection with it
        with stand.claim(connection) as second:
            assert len(second) == 1


@on_cases(PLAIN)
def test_a_claim_that_brought_nothing_holds_no_connection(stand: Stand) -> None:
    connection = stand.connect()
    with stand.claim(connection) as claim:
        assert len(claim) == 0
        filled(stand, 1)
        with stand.claim(connection) as second:
            assert len(second) == 1


@on_cases(FULL)
def test_a_claim_has_no_limit(stand: Stand) -> None:
    with pytest.raises(TypeError):
        stand.module.claim(stand.connect(), group="a", limit=10)


@on_cases(FULL, PLAIN)
def test_another_connection_cannot_settle(stand: Stand) -> None:
    filled(stand, 1)
    connection, other = stand.connect(), stand.connect()
    with stand.claim(connection) as claim:
        (delivery,) = claim
        before = stand.rows()
        with pytest.raises(WrongConnection):
            delivery.ack(other)
        assert stand.rows() == before
        delivery.ack(connection)


@on_cases(FULL, PLAIN)
def test_a_claim_refuses_an_open_transaction(stand: Stand) -> None:
    filled(stand, 1)
    connection = stand.connect(autocommit=True)
    connection.cursor().execute("BEGIN")
    with pytest.raises(TransactionOpen):
        stand.claim(connection)


# -- the caller's transaction --------------------------------------------------------------------------


@on_cases(FULL, PLAIN, MARKED)
def test_a_settlement_joins_and_the_key_outlives_the_commit(stand: Stand) -> None:
    filled(stand, 1)
    stand.database.execute("CREATE TABLE effects (n INTEGER)")
    connection, rival = stand.connect(), stand.connect()
    with stand.claim(connection) as claim:
        (delivery,) = claim
        with transaction(connection):
            connection.cursor().execute("INSERT INTO effects VALUES (1)")
            delivery.ack(connection)
            if stand.dialect != "sqlite":  # there the transaction is the one writer's
                assert stand.unfinished == 1
                with stand.claim(rival) as nothing:
                    assert len(nothing) == 0
        assert stand.unfinished == 0
        assert not free(stand, delivery)
    assert free(stand, delivery)
    assert stand.database.value("SELECT COUNT(*) FROM effects") == 1


@on_cases(FULL, PLAIN, MARKED)
def test_a_settlement_that_is_rolled_back_leaves_the_row_due(stand: Stand) -> None:
    filled(stand, 1)
    connection = stand.connect()
    with stand.claim(connection) as claim:
        (delivery,) = claim
        with pytest.raises(RuntimeError), transaction(connection):
            delivery.ack(connection)
            raise RuntimeError
        assert not free(stand, delivery)
    assert free(stand, delivery)
    with stand.claim(connection) as claim:
        (again,) = claim
        assert again.id == delivery.id
        assert again.number == delivery.number + stand.module.QUEUE.counts_attempts


@on_cases(FULL, PLAIN)
def test_a_block_left_with_a_transaction_open_rolls_it_back(stand: Stand) -> None:
    filled(stand, 1)
    stand.database.execute("CREATE TABLE effects (n INTEGER)")
    connection = stand.connect(autocommit=False)
    with pytest.raises(TransactionOpen), stand.claim(connection) as claim:
        (delivery,) = claim
        connection.cursor().execute("INSERT INTO effects VALUES (1)")
        delivery.ack(connection)
    assert not in_transaction(connection)
    assert stand.database.value("SELECT COUNT(*) FROM effects") == 0
    with stand.claim(connection) as claim:
        assert [again.id for again in claim] == [delivery.id]


@on_cases(FULL, PLAIN)
def test_an_error_that_leaves_the_block_is_not_hidden(stand: Stand) -> None:
    filled(stand, 1)
    stand.database.execute("CREATE TABLE effects (n INTEGER)")
    connection = stand.connect(autocommit=False)
    with pytest.raises(ZeroDivisionError), stand.claim(connection) as claim:
        (delivery,) = claim
        connection.cursor().execute("INSERT INTO effects VALUES (1)")
        raise ZeroDivisionError
    assert not in_transaction(connection)
    assert stand.database.value("SELECT COUNT(*) FROM effects") == 0
    assert free(stand, delivery)
    with stand.claim(connection) as claim:
        assert len(claim) == 1


@on_cases(FULL)
def test_a_block_left_in_an_aborted_transaction_gives_the_key_back(stand: Stand) -> None:
    # LR-03: an error that the handler swallowed
    filled(stand, 1)
    connection = stand.connect(autocommit=False)
    with pytest.raises((TransactionOpen, StatementFailed)), stand.claim(connection) as claim:
        (delivery,) = claim
        connection.cursor().execute(f"UPDATE {stand.plan.dialect.quote('jobs')} SET note = 'x'")
        with pytest.raises(Exception, match="no_such_table"):
            connection.cursor().execute("SELECT 1 FROM no_such_table")
        delivery.ack(connection)
    assert free(stand, delivery)
    with stand.claim(connection) as claim:
        assert len(claim) == 1


@on_cases(FULL, PLAIN)
def test_a_transaction_begun_after_the_settlement_is_left_alone(stand: Stand) -> None:
    filled(stand, 1)
    stand.database.execute("CREATE TABLE effects (n INTEGER)")
    connection = stand.connect(autocommit=False)
    with stand.claim(connection) as claim:
        for delivery in claim:
            delivery.ack(connection)
        connection.cursor().execute("INSERT INTO effects VALUES (1)")
    connection.commit()
    assert stand.database.value("SELECT COUNT(*) FROM effects") == 1


# -- leaving the block -----------------------------------------------------------------------------------


@on_cases(*SHAPES)
def test_a_row_that_never_started_gets_its_attempt_back(stand: Stand) -> None:
    filled(stand, 1)
    before = stand.rows()
    connection = stand.connect()
    with stand.claim(connection) as claim:
        assert len(claim) == 1
    assert stand.rows() == before
    with stand.claim(connection) as claim:
        assert [delivery.number for delivery in claim] == [1]


@on_cases(FULL, DELAYED, MARKED, BURIED)
def test_a_row_that_started_keeps_its_attempt(stand: Stand) -> None:
    filled(stand, 1)
    connection = stand.connect()
    for number in (1, 2, 3):
        with stand.claim(connection) as claim:
            assert [delivery.attempt for delivery in claim] == [number]


@on_cases(FULL, PLAIN)
def test_what_was_left_is_not_settled_any_more(stand: Stand) -> None:
    filled(stand, 1)
    connection = stand.connect()
    with stand.claim(connection) as claim:
        (delivery,) = claim
    with pytest.raises(Closed, match="given back without an outcome"):
        delivery.ack(connection)
    delivery.given_back = False
    with pytest.raises(ClaimLost):
        delivery.ack(connection)
    assert stand.unfinished == 1


@on_cases(FULL, PLAIN)
def test_a_second_settlement_is_refused(stand: Stand) -> None:
    filled(stand, 1)
    connection = stand.connect()
    with stand.claim(connection) as claim:
        (delivery,) = claim
        delivery.retry(connection)
        with pytest.raises(AlreadySettled):
            delivery.ack(connection)
    assert stand.unfinished == 1


@on_cases(FULL, PLAIN)
def test_what_was_rolled_back_can_be_settled_otherwise(stand: Stand) -> None:
    filled(stand, 1)
    connection = stand.connect()
    with stand.claim(connection) as claim:
        (delivery,) = claim
        with pytest.raises(ZeroDivisionError), transaction(connection):
            delivery.ack(connection)
            raise ZeroDivisionError
        delivery.retry(connection)
        with pytest.raises(AlreadySettled):
            delivery.ack(connection)
    assert stand.unfinished == 1


# -- attempts --------------------------------------------------------------------------------------------


@on_cases(FULL, WHOLE)
def test_the_last_attempt_that_fails_is_a_dead_letter(stand: Stand) -> None:
    filled(stand, 1)
    connection = stand.connect()
    for attempt in (1, 2, 3):
        with stand.claim(connection) as claim:
            (delivery,) = claim
            assert delivery.attempt == attempt
            delivery.retry(connection, "boom")
    (dead,) = stand.rows(dead=True)
    assert (dead["attempt"], dead["reason"], dead["error"]) == (3, "attempts", "boom")
    assert stand.unfinished == 0


# -- what holds a row is gone ----------------------------------------------------------------------------


@on_cases(*with_sessions(FULL, PLAIN))
def test_a_row_that_was_finished_by_hand_is_lost(stand: Stand) -> None:
    filled(stand, 1)
    connection = stand.connect()
    with stand.claim(connection) as claim:
        (delivery,) = claim
        stand.database.execute(f"DELETE FROM {stand.plan.dialect.quote('jobs')}")
        with pytest.raises(ClaimLost):
            delivery.ack(connection)
        assert delivery.lost
    # the session is as good as before
    assert held_keys(stand) == 0
    filled(stand, 1)
    with stand.claim(connection) as claim:
        assert len(claim) == 1


@on_cases(*with_sessions(PLAIN))
def test_an_unlock_that_is_not_confirmed_closes_the_connection(stand: Stand) -> None:
    filled(stand, 1)
    connection = stand.connect()
    with stand.claim(connection) as claim:
        (delivery,) = claim
        name = delivery.lock.name
        with transaction(connection):
            delivery.ack(connection)
        unlock = (
            "SELECT pg_advisory_unlock(%s)"
            if stand.dialect == "postgres"
            else "SELECT RELEASE_LOCK(%s)"
        )
        connection.cursor().execute(unlock, [name])
        connection.commit()
    assert stand.unfinished == 0, "the settlement had counted"
    assert connection.closed if stand.dialect == "postgres" else not connection.open


@on_cases(*with_sessions(FULL, PLAIN))
def test_a_settlement_needs_the_session_that_claimed(stand: Stand) -> None:
    # DD-11: a connection that opened itself again holds nothing
    if stand.dialect == "postgres":
        return  # psycopg opens no second session
    filled(stand, 1)
    connection = stand.connect()
    with stand.claim(connection) as claim:
        (delivery,) = claim
        stand.database.kill_session(stand.database.session_id(connection))
        with pytest.warns(DeprecationWarning):
            connection.ping(reconnect=True)
        before = stand.rows()
        with pytest.raises(ClaimLost):
            delivery.ack(connection)
        assert stand.rows() == before
    assert stand.unfinished == 1
    with stand.claim(stand.connect()) as claim:
        assert [again.id for again in claim] == [delivery.id]


@on_cases(FULL, PLAIN)
def test_a_closed_connection_gives_its_row_back(stand: Stand) -> None:
    filled(stand, 1)
    connection = stand.connect()
    claim = stand.claim(connection)
    (delivery,) = claim
    connection.close()
    if stand.dialect != "sqlite":
        stand.database.wait_until_idle()
    with stand.claim(stand.connect()) as again:
        (second,) = again
        assert second.number == delivery.number + stand.module.QUEUE.counts_attempts
        with pytest.raises(ClaimLost):
            delivery.ack(connection)
        assert delivery.lost
        claim.__exit__(None, None, None)
        assert stand.unfinished == 1
        assert second.live
