"""WC: too many rows, wrong counts, answers that were not read."""

from __future__ import annotations

import sqlite3
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from sqlclaimgen.runtime import LeaseLost
from sqlclaimgen.runtime.drivers.sqlite import SQLiteSession
from tests.care.cases import DEAD_TABLE
from tests.conformance.harness import Stand, on_cases, substituting

ROW: dict[str, Any] = {"queue": "a", "payload": {}}
ON_POSTGRES = DEAD_TABLE.with_(name="postgres", dialects=("postgres",))
ON_SQLITE = DEAD_TABLE.with_(name="sqlite", dialects=("sqlite",))
ON_PYMYSQL = DEAD_TABLE.with_(name="pymysql", dialects=("mysql", "mariadb"))


@on_cases(ON_POSTGRES)
@pytest.mark.parametrize("limit", [1, 2])
def test_wc_01_a_claim_takes_no_more_than_its_limit(stand: Stand, limit: int) -> None:
    """With statistics of one row the planner nests the subquery, and runs it again for each row."""
    stand.enqueue([ROW])
    stand.database.execute("VACUUM ANALYZE jobs")
    stand.enqueue([ROW] * 40)
    for nested in ("off", "on"):
        connection = stand.connect()
        for kind in ("hashjoin", "mergejoin"):
            connection.execute(f"SET enable_{kind} = {'off' if nested == 'on' else 'on'}")
        connection.commit()
        with stand.claim(connection, limit) as deliveries:
            assert len(deliveries) == limit
        held = "SELECT COUNT(*) FROM jobs WHERE locked_until IS NOT NULL"
        assert stand.database.value(held) == 0  # given back with the block


@on_cases(ON_PYMYSQL)
@pytest.mark.parametrize("found_rows", [False, True])
def test_wc_02_matched_and_changed_rows_count_alike(stand: Stand, found_rows: bool) -> None:
    from pymysql.constants import CLIENT

    options = {"client_flag": CLIENT.FOUND_ROWS} if found_rows else {}
    (id,) = stand.enqueue([ROW])
    module = stand.at(datetime.now(UTC) + timedelta(seconds=1))
    connection = stand.connect(**options)
    with stand.claim(connection, module=module) as deliveries:
        (delivery,) = list(deliveries)
        # the clock stands still: what is written would be what is there
        assert module.extend(connection, [delivery]) == []
        assert module.extend(connection, [delivery]) == []
        delivery.retry(connection)
    with stand.claim(connection, module=module) as deliveries:
        for delivery in deliveries:
            delivery.ack(connection)
    row = stand.row(id)
    assert row is not None and row["finished"] is not None


@on_cases(DEAD_TABLE)
def test_wc_03_no_row_at_a_settlement_is_an_outcome(stand: Stand) -> None:
    stand.enqueue([ROW, ROW])
    connection = stand.connect()
    with stand.claim(connection, 2) as deliveries:
        first, second = list(deliveries)
        stand.database.execute(f"UPDATE jobs SET locked_until = NULL WHERE id = {first.id}")
        with pytest.raises(LeaseLost) as lost:
            first.ack(connection)
        assert (lost.value.id, first.lost) == (first.id, True)
        second.ack(connection)
    row = stand.row(first.id)
    assert row is not None and row["finished"] is None


@on_cases(ON_SQLITE)
def test_wc_05_an_answer_is_read_to_its_end_before_the_commit(stand: Stand) -> None:
    """WC-06 too: a claim whose connection is dropped at once has been written."""
    stand.enqueue([ROW] * 3)
    connection = stand.connect(isolation_level=None)
    claim = stand.claim(connection, 2)
    assert not connection.in_transaction
    connection.close()
    held = [row["locked_until"] is not None for row in stand.rows()]
    assert (len(claim), held) == (2, [True, True, False])


@on_cases(ON_SQLITE)
def test_wc_05_an_error_between_statement_and_answer_leaves_nothing_open(stand: Stand) -> None:
    stand.enqueue([ROW])
    connection = stand.connect(isolation_level=None)
    twin = stand.twin(claim=substituting(('"attempt" - 1 AS', "json(\"payload\" || 'x') AS")))
    with pytest.raises(Exception, match="malformed JSON"):
        stand.claim(connection, module=twin)
    assert not connection.in_transaction
    with stand.claim(connection) as deliveries:
        assert len(deliveries) == 1


def test_wc_05_a_cursor_that_was_not_read_would_stop_the_commit() -> None:
    """What the session's fetchall is for."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY)")
    connection.execute("INSERT INTO t VALUES (1), (2)")
    connection.execute("BEGIN")
    unread = connection.execute("UPDATE t SET id = id + 10 RETURNING id")
    with pytest.raises(sqlite3.OperationalError, match="in progress"):
        connection.execute("COMMIT")
    unread.close()
    session = SQLiteSession(connection)
    session.run("UPDATE t SET id = id + 10 RETURNING id", {})
    connection.execute("COMMIT")
