"""The transaction of a row lock claim by hand: nothing ends it but its block, and everything else that
does is found (DD-09, DD-10, DD-11, LR-03, SP-06)."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest

from sqlclaimgen.runtime import transaction
from sqlclaimgen.runtime.errors import (
    BatchRolledBack,
    ClaimError,
    ClaimLost,
    StatementFailed,
    TransactionOpen,
    WrongConnection,
)
from sqlclaimgen.runtime.protocols import row_lock
from tests.conformance.harness import Stand, on_cases, substituting
from tests.conformance.row_lock.cases import DELAYED, FULL, MINIMAL

POSTGRES = FULL.with_(name="full-pg", dialects=("postgres",))


def effects(stand: Stand) -> None:
    """A table for what handlers write."""
    stand.database.execute("CREATE TABLE effects (job bigint NOT NULL)")


def record(connection: Any, delivery: Any) -> None:
    """A handler's write on the claim's connection."""
    connection.cursor().execute("INSERT INTO effects (job) VALUES (%s)", [delivery.id])


def recorded(stand: Stand) -> list[int]:
    """What handlers' writes were committed."""
    return [row[0] for row in stand.database.execute("SELECT job FROM effects ORDER BY job")]


def filled(stand: Stand, n: int = 3) -> None:
    """Due rows with ids from 1, and the table of effects."""
    effects(stand)
    stand.fill(
        [{"id": id, "queue": "a"} if stand.case.claims else {"id": id} for id in range(1, n + 1)]
    )


@pytest.fixture(params=[False, True], ids=["plain", "autocommit"])
def connection(stand: Stand, request: pytest.FixtureRequest) -> Iterator[Any]:
    """A connection of either kind: the claim begins its transaction on both."""
    yield stand.connect(autocommit=request.param)


@on_cases(FULL, MINIMAL)
def test_effects_and_outcomes_are_one_commit(stand: Stand, connection: Any) -> None:
    filled(stand)
    with stand.claim(connection, limit=3) as deliveries:
        for delivery in deliveries:
            record(connection, delivery)
            delivery.ack(connection)
        assert (recorded(stand), stand.unfinished) == ([], 3)
    assert (recorded(stand), stand.unfinished) == ([1, 2, 3], 0)


@on_cases(FULL, MINIMAL)
def test_an_exception_rolls_everything_back(stand: Stand, connection: Any) -> None:
    filled(stand)
    with pytest.raises(KeyError), stand.claim(connection, limit=3) as deliveries:
        for n, delivery in enumerate(deliveries):
            record(connection, delivery)
            delivery.ack(connection)
            if n == 1:
                raise KeyError
    assert (recorded(stand), stand.unfinished) == ([], 3)
    with stand.claim(connection, limit=3) as deliveries:
        assert len(deliveries) == 3


@on_cases(FULL, MINIMAL)
def test_a_commit_inside_the_block_is_found(stand: Stand, connection: Any) -> None:
    filled(stand)
    with pytest.raises(ClaimLost), stand.claim(connection) as deliveries:
        for delivery in deliveries:
            record(connection, delivery)
            connection.commit()
            delivery.ack(connection)
    assert (recorded(stand), stand.unfinished) == ([1], 3)
    assert delivery.lost


@on_cases(FULL, MINIMAL)
def test_a_commit_and_another_transaction_are_found(stand: Stand, connection: Any) -> None:
    """The settlement would find a transaction open, and a row of that id."""
    filled(stand)
    with pytest.raises(ClaimLost), stand.claim(connection) as deliveries:
        for delivery in deliveries:
            connection.commit()
            cursor = connection.cursor()
            cursor.execute("BEGIN")
            record(connection, delivery)
            delivery.ack(connection)
    assert (recorded(stand), stand.unfinished) == ([], 3)


@on_cases(FULL.with_(dialects=("postgres",)))
def test_without_the_transaction_in_the_fence_it_would_not_be_found(stand: Stand) -> None:
    filled(stand)
    same = " AND txid_current_if_assigned() = :transaction"
    twin = stand.twin(ack=substituting((same, "")), holding=lambda _: "SELECT TRUE")
    connection = stand.connect()
    with stand.claim(connection, module=twin) as deliveries:
        for delivery in deliveries:
            connection.commit()
            record(connection, delivery)
            delivery.ack(connection)
    assert stand.unfinished == 2, "the twin settled a row that nobody held"


@on_cases(FULL, MINIMAL)
def test_the_block_leaves_another_transaction_alone(stand: Stand) -> None:
    filled(stand)
    connection = stand.connect(autocommit=True)
    with pytest.raises(ClaimLost), stand.claim(connection) as deliveries:
        for delivery in deliveries:
            delivery.ack(connection)
            connection.commit()
            connection.cursor().execute("BEGIN")
            record(connection, delivery)
    assert (recorded(stand), stand.unfinished) == ([], 2)
    connection.commit()
    assert recorded(stand) == [1]


@on_cases(FULL, MINIMAL)
def test_a_commit_after_the_ack_commits_it(stand: Stand, connection: Any) -> None:
    filled(stand)
    with stand.claim(connection) as deliveries:
        for delivery in deliveries:
            record(connection, delivery)
            delivery.ack(connection)
            connection.commit()
    assert (recorded(stand), stand.unfinished) == ([1], 2)


@on_cases(FULL, MINIMAL)
def test_no_row_is_handed_out_after_a_commit(stand: Stand, connection: Any) -> None:
    filled(stand)
    seen: list[int] = []
    with pytest.raises(ClaimLost), stand.claim(connection, limit=3) as deliveries:
        for delivery in deliveries:
            seen.append(delivery.id)
            delivery.ack(connection)
            connection.commit()
    assert (seen, stand.unfinished) == ([1], 2)


@on_cases(FULL, MINIMAL)
def test_only_the_connection_that_claimed_can_settle(stand: Stand, connection: Any) -> None:
    filled(stand)
    other = stand.connect()
    with stand.claim(connection) as deliveries:
        (delivery,) = deliveries
        with pytest.raises(WrongConnection):
            delivery.ack(other)
        delivery.ack(connection)
    assert stand.unfinished == 2


@on_cases(FULL)
def test_an_open_transaction_is_refused(stand: Stand, connection: Any) -> None:
    filled(stand)
    with transaction(connection), pytest.raises(TransactionOpen):
        stand.claim(connection)
    with stand.claim(connection), pytest.raises(TransactionOpen):
        stand.claim(connection)


# -- blocks inside ---------------------------------------------------------------------------------


@on_cases(FULL, MINIMAL)
def test_a_nested_block_keeps_an_error_inside(stand: Stand, connection: Any) -> None:
    filled(stand)
    with stand.claim(connection, limit=3) as deliveries:
        for delivery in deliveries:
            try:
                with transaction(connection):
                    record(connection, delivery)
                    delivery.ack(connection)
                    if delivery.id == 2:
                        connection.cursor().execute("SELECT nonsense")
            except ClaimError:
                raise
            except Exception:
                assert not delivery.settled
                delivery.retry(connection)
    assert (recorded(stand), stand.unfinished) == ([1, 3], 1)
    with stand.claim(connection) as deliveries:
        assert [(delivery.id, delivery.number) for delivery in deliveries] == [
            (2, 2 if stand.module.QUEUE.counts_attempts else 1)
        ]


@on_cases(FULL, MINIMAL)
def test_blocks_inside_blocks(stand: Stand, connection: Any) -> None:
    filled(stand)
    with stand.claim(connection, limit=3) as deliveries:
        first, second, third = deliveries
        with transaction(connection):
            record(connection, first)
            with contextlib.suppress(KeyError), transaction(connection):
                record(connection, second)
                second.ack(connection)
                raise KeyError
            with transaction(connection):
                first.ack(connection)
                record(connection, third)
        with contextlib.suppress(KeyError), transaction(connection):
            with transaction(connection):
                third.ack(connection)
            assert third.settled
            raise KeyError
        assert [one.settled for one in (first, second, third)] == [True, False, False]
        third.ack(connection)
    assert (recorded(stand), stand.unfinished) == ([1, 3], 1)


@on_cases(FULL, MINIMAL)
def test_a_block_in_a_transaction_that_ended_is_refused(stand: Stand) -> None:
    filled(stand)
    connection = stand.connect()
    with pytest.raises(ClaimLost), stand.claim(connection) as deliveries:
        for delivery in deliveries:
            connection.commit()
            with transaction(connection):
                record(connection, delivery)
                delivery.ack(connection)
    with pytest.raises(ClaimLost), stand.claim(connection) as deliveries:
        for delivery in deliveries:
            connection.commit()
            connection.cursor().execute("BEGIN")
            with transaction(connection):
                record(connection, delivery)
                delivery.ack(connection)
    assert (recorded(stand), stand.unfinished) == ([], 3)


@on_cases(FULL, MINIMAL)
def test_a_commit_in_a_nested_block_is_found(stand: Stand) -> None:
    filled(stand)
    connection = stand.connect()
    with pytest.raises(ClaimLost), stand.claim(connection) as deliveries:
        for delivery in deliveries:
            with transaction(connection):
                connection.commit()
                record(connection, delivery)
                delivery.ack(connection)
    assert stand.unfinished == 3


@on_cases(POSTGRES)
def test_psycopgs_own_blocks_work_inside(stand: Stand, connection: Any) -> None:
    """A savepoint to prove the transaction by would be released under them."""
    filled(stand)
    with stand.claim(connection, limit=3) as deliveries:
        for delivery in deliveries:
            try:
                with connection.transaction():
                    record(connection, delivery)
                    if delivery.id == 2:
                        connection.execute("SELECT nonsense")
                    delivery.ack(connection)
            except Exception as error:
                assert not isinstance(error, ClaimError)
                delivery.retry(connection)
    assert (recorded(stand), stand.unfinished) == ([1, 3], 1)


# -- failures --------------------------------------------------------------------------------------


@on_cases(POSTGRES)
def test_an_aborted_transaction_is_no_success(stand: Stand, connection: Any) -> None:
    """LR-03: a COMMIT of it would be a silent ROLLBACK."""
    filled(stand)
    with pytest.raises(ClaimLost, match="aborted"), stand.claim(connection) as deliveries:
        for delivery in deliveries:
            with contextlib.suppress(Exception):
                connection.execute("SELECT nonsense")
            delivery.ack(connection)
    with pytest.raises(ClaimLost, match="aborted"), stand.claim(connection) as deliveries:
        for delivery in deliveries:
            record(connection, delivery)
            delivery.ack(connection)
            with contextlib.suppress(Exception):
                connection.execute("SELECT nonsense")
    assert (recorded(stand), stand.unfinished) == ([], 3)
    assert connection.info.transaction_status == 0


REFUSING = {
    "postgres": """
        CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN IF OLD.id = 2 THEN RAISE EXCEPTION 'no'; END IF; RETURN OLD; END $$;
        CREATE TRIGGER refuse BEFORE DELETE ON jobs FOR EACH ROW EXECUTE PROCEDURE refuse();
    """,
    "mysql": "CREATE TRIGGER refuse BEFORE DELETE ON jobs FOR EACH ROW"
    " SET @x = IF(OLD.id = 2, (SELECT 1 UNION SELECT 2), 0)",
}
REFUSING["mariadb"] = REFUSING["mysql"]


def refusing(stand: Stand) -> None:
    """The table refuses to let row 2 go."""
    filled(stand)
    stand.database.execute_script(REFUSING[stand.dialect])


@on_cases(DELAYED, MINIMAL)
def test_one_failed_settlement_rolls_the_batch_back(stand: Stand, connection: Any) -> None:
    refusing(stand)
    with pytest.raises(BatchRolledBack), stand.claim(connection, limit=3) as deliveries:
        first, second, third = deliveries
        first.ack(connection)
        with pytest.raises(StatementFailed):
            second.ack(connection)
        third.ack(connection)
    assert stand.unfinished == 3
    assert not first.settled


@on_cases(DELAYED, MINIMAL)
def test_a_failed_settlement_that_nobody_minds_is_told_at_the_end(
    stand: Stand, connection: Any
) -> None:
    refusing(stand)
    with pytest.raises(BatchRolledBack), stand.claim(connection, limit=3) as deliveries:
        for delivery in deliveries:
            with contextlib.suppress(ClaimError):
                delivery.ack(connection)
    assert stand.unfinished == 3
    with stand.claim(connection, limit=3) as deliveries:
        assert len(deliveries) == 3


@on_cases(DELAYED, MINIMAL)
def test_a_failed_settlement_in_a_nested_block_fails_that_block_only(
    stand: Stand, connection: Any
) -> None:
    refusing(stand)
    with stand.claim(connection, limit=3) as deliveries:
        for delivery in deliveries:
            try:
                with transaction(connection):
                    record(connection, delivery)
                    delivery.ack(connection)
            except StatementFailed:
                delivery.retry(connection)
    assert (recorded(stand), stand.unfinished) == ([1, 3], 1)


@on_cases(FULL, MINIMAL)
def test_a_row_that_the_handler_removed_is_no_success(stand: Stand, connection: Any) -> None:
    filled(stand)
    with pytest.raises(BatchRolledBack), stand.claim(connection) as deliveries:
        for delivery in deliveries:
            connection.cursor().execute("DELETE FROM jobs WHERE id = %s", [delivery.id])
            with pytest.raises(ClaimLost, match="not there"):
                delivery.ack(connection)
    assert stand.unfinished == 3


@on_cases(FULL.with_(dialects=("mysql", "mariadb")))
def test_a_statement_that_commits_by_itself_is_found(stand: Stand, connection: Any) -> None:
    """DDL commits on these databases, without a word."""
    filled(stand)
    with pytest.raises(ClaimLost), stand.claim(connection) as deliveries:
        for delivery in deliveries:
            connection.cursor().execute("CREATE TABLE other (id int)")
            connection.cursor().execute("INSERT INTO other VALUES (1)")
            delivery.ack(connection)
    assert stand.unfinished == 3


@on_cases(FULL.with_(dialects=("mysql", "mariadb")))
def test_a_session_that_came_back_holds_nothing(stand: Stand, connection: Any) -> None:
    """DD-11: PyMySQL's ping opens another session by itself."""
    filled(stand)
    with pytest.raises(ClaimLost), stand.claim(connection) as deliveries:
        for delivery in deliveries:
            stand.database.kill_session(stand.database.session_id(connection))
            connection.ping(reconnect=True)
            connection.cursor().execute("SELECT 1")
            delivery.ack(connection)
    assert stand.unfinished == 3


@on_cases(POSTGRES)
def test_a_timeout_of_the_servers_is_a_loss(stand: Stand, connection: Any) -> None:
    """DD-10: the row is free at once, and the settlement must not go through."""
    filled(stand, 1)
    with pytest.raises(ClaimLost), stand.claim(connection) as deliveries:
        for delivery in deliveries:
            connection.execute("SET idle_in_transaction_session_timeout = '1ms'")
            stand.database.wait_until_idle()
            delivery.ack(connection)
    assert delivery.lost
    assert stand.unfinished == 1


@on_cases(FULL, MINIMAL)
def test_no_transaction_is_left_open(stand: Stand, connection: Any) -> None:
    """SP-06: an open transaction would hold back vacuum while the caller waits."""
    filled(stand, 1)
    for found in (1, 0):
        with stand.claim(connection) as deliveries:
            assert len(deliveries) == found
            for delivery in deliveries:
                delivery.ack(connection)
        assert open_transactions(stand, connection) == 0


def open_transactions(stand: Stand, connection: Any) -> int:
    """How many transactions the connection's session has open, as the server sees it."""
    session = stand.database.session_id(connection)
    sql = {
        "postgres": "SELECT COUNT(xact_start) FROM pg_stat_activity WHERE pid = %s",
        "mysql": "SELECT COUNT(*) FROM information_schema.innodb_trx WHERE trx_mysql_thread_id = %s",
    }
    return int(stand.database.value(sql.get(stand.dialect, sql["mysql"]), [session]))


@on_cases(FULL, MINIMAL)
def test_a_second_claim_holds_nothing_for_the_first(stand: Stand, connection: Any) -> None:
    # the second one's savepoint has the name of the first one's
    filled(stand, 2)
    with stand.claim(connection) as deliveries:
        for first in deliveries:
            connection.commit()
            with stand.claim(connection) as others:
                for second in others:
                    assert first.lost
                    with pytest.raises(ClaimLost):
                        first.ack(connection)
                    second.ack(connection)
            assert stand.unfinished == 1
    assert first.lost and not first.settled


@on_cases(FULL, MINIMAL)
def test_a_block_commits_no_other_claim(stand: Stand, connection: Any) -> None:
    filled(stand, 2)
    outer = stand.claim(connection)
    with pytest.raises(ClaimLost), outer:
        connection.commit()
        for delivery in stand.claim(connection):
            delivery.ack(connection)
    connection.rollback()
    assert stand.unfinished == 2


@on_cases(FULL.with_(dialects=("mysql", "mariadb")))
def test_without_the_savepoint_it_would_not_be_found(
    stand: Stand, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unguarded(delivery: Any) -> Iterator[Any]:
        yield from ()

    filled(stand)
    monkeypatch.setattr(row_lock, "guarded", unguarded)
    connection = stand.connect(autocommit=True)
    with stand.claim(connection) as deliveries:
        for delivery in deliveries:
            connection.commit()
            connection.cursor().execute("BEGIN")
            delivery.ack(connection)
    assert stand.unfinished == 2, "settled without holding the row"
