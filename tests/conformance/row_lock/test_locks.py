"""How many rows a claim locks, by what plan, and whom it makes wait (WC-08, DL-04)."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from sqlclaimgen.runtime import StatementFailed
from sqlclaimgen.runtime.placeholders import expanded, pyformat
from tests.conformance.harness import Stand, on_cases, substituting, without
from tests.conformance.row_lock.cases import (
    BURIED,
    CHOSEN,
    DELAYED,
    FULL,
    MARKED,
    MINIMAL,
    WHOLE,
    rows,
)
from tests.servers import MySQLDatabase

INNODB = ("mysql", "mariadb")
TOTAL = 100_000
FINISHED = 95_000

_NUMBERS = {
    "postgres": "SELECT n FROM generate_series(1, {0}) AS s(n)",
    "mysql": "WITH RECURSIVE s(n) AS"
    " (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < {0}) SELECT n FROM s",
    "mariadb": "SELECT seq AS n FROM seq_1_to_{0}",
}
_ANALYZE = {"postgres": "ANALYZE jobs"}


def history(stand: Stand, total: int = TOTAL, finished: int = FINISHED) -> None:
    """A table with a past: most rows finished, the rest waiting, of 5 groups and 3 priorities; half of
    those at the best priority are delayed."""
    database = stand.database
    if stand.dialect == "mysql":
        database.execute("SET SESSION cte_max_recursion_depth = 1000000")
    numbers = _NUMBERS[stand.dialect].format(total)
    then, later = "TIMESTAMP '2020-01-01 00:00:00'", "TIMESTAMP '2040-01-01 00:00:00'"
    database.execute(
        "INSERT INTO jobs (queue, priority, run_after, processed_at)"
        " SELECT CASE WHEN n % 5 = 0 THEN 'a' WHEN n % 5 = 1 THEN 'b' ELSE 'c' END, n % 3,"
        f" CASE WHEN n % 6 = 0 THEN {later} ELSE {then} END,"
        f" CASE WHEN n <= {finished} THEN {then} END FROM ({numbers}) AS numbers"
    )
    database.execute(_ANALYZE.get(stand.dialect, "ANALYZE TABLE jobs"))


@on_cases(FULL, WHOLE)
def test_a_claim_locks_what_it_returns(stand: Stand) -> None:
    history(stand)
    connection, second = stand.connect(), stand.connect()
    for limit in (1, 10):
        with stand.claim(connection, limit) as deliveries:
            ids = {delivery.id for delivery in deliveries}
            assert len(ids) == limit
            assert stand.database.locked_rows("jobs", "id") == ids
            with stand.claim(second, limit) as next_ones:
                assert ids.isdisjoint(delivery.id for delivery in next_ones)
                assert len(next_ones) == limit
    if isinstance(stand.database, MySQLDatabase):
        with stand.claim(connection, 10):
            counts = stand.database.innodb_lock_counts()
            assert counts[stand.database.session_id(connection)] == 10


@on_cases(FULL, WHOLE)
def test_a_short_claim_locks_no_row_that_is_not_due(stand: Stand) -> None:
    """MariaDB's direct locking read keeps the lock of the first row beyond the range."""
    due = datetime(2020, 1, 1, tzinfo=UTC)
    stand.fill(
        [
            {
                "id": n,
                "queue": "a",
                "priority": n % 3,
                "run_after": due + timedelta(days=9000 * (n % 2)),
            }
            for n in range(1, 61)
        ]
    )
    connection = stand.connect()
    with stand.claim(connection, 50) as deliveries:
        ids = {delivery.id for delivery in deliveries}
        assert len(ids) == 30
        assert stand.database.locked_rows("jobs", "id") == ids
    with stand.claim(connection, 30) as deliveries, stand.claim(stand.connect(), 5) as none:
        assert (len(deliveries), len(none)) == (30, 0)
        moves(stand, [n for n in range(1, 61) if n % 2])


def moves(stand: Stand, ids: list[int]) -> None:
    """Reschedule rows over another connection, one by one, waiting for nobody."""
    connection = stand.connect(autocommit=True)
    cursor = connection.cursor()
    waits = {"postgres": "SET lock_timeout = '1s'"}
    cursor.execute(waits.get(stand.dialect, "SET innodb_lock_wait_timeout = 1"))
    for id in ids:
        cursor.execute(
            "UPDATE jobs SET run_after = run_after + INTERVAL '1' DAY WHERE id = %s", [id]
        )
        assert cursor.rowcount == 1


@on_cases(BURIED.with_(claims={}, claim_name="claim_table"), CHOSEN)
def test_rows_that_the_condition_rejects_are_not_locked(stand: Stand) -> None:
    buried = "origin" in stand.case.body
    stand.fill(
        [
            {"id": n, "queue": "dead" if n % 2 else "a", "priority": 1}
            if buried
            else {"id": n, "queue": "a", "held_back": n % 2 == 1}
            for n in range(1, 41)
        ]
    )
    connection = stand.connect()
    with stand.claim(connection, 5) as deliveries:
        ids = {delivery.id for delivery in deliveries}
        assert ids == {2, 4, 6, 8, 10}
        assert stand.database.locked_rows("jobs", "id") == ids


# -- plans -----------------------------------------------------------------------------------------


def plan_of(stand: Stand, name: str) -> Any:
    """The plan of a claim's statement, with a claim's parameters."""
    values: dict[str, Any] = {
        "group": "a",
        "now": stand.codec.time(datetime.now(UTC)),
        "limit": 10,
        "window": 16,
        "last": 16,
        "priority": 1,
        **stand.codec.set_aside([3, 5]),
    }
    text = stand.sql[name]
    if stand.dialect == "postgres":
        return stand.database.explain(pyformat(text), values)
    sql, used = expanded(text, values)
    return stand.database.explain(sql, used)


@on_cases(FULL, WHOLE)
def test_nothing_is_sorted_below_the_lock(stand: Stand) -> None:
    history(stand)
    plan = plan_of(stand, stand.case.claim_name)
    text = json.dumps(plan)
    index = "jobs_claim_table" if stand.case is WHOLE else "jobs_claim"
    assert f'"{index}"' in text or f" {index} " in text, text
    if stand.dialect == "postgres":
        locks = find(plan, "LockRows")
        assert locks
        assert all("Sort" not in json.dumps(node) for node in locks), text
    else:
        # the candidates are sorted before the join, and only the join locks
        assert "eq_ref" in text or "Single-row index lookup on t" in text, text


@on_cases(*(case.with_(dialects=INNODB) for case in (DELAYED, MINIMAL, FULL, MARKED)))
@pytest.mark.parametrize("analyzed", [False, True])
def test_small_tables_are_not_locked_whole(stand: Stand, analyzed: bool) -> None:
    """On a table of some rows MySQL would rather sort all of it than follow the index, and MariaDB join
    by another index than the primary key, or buffer the whole table."""
    for total in (10, 50, 500):
        stand.database.execute("DELETE FROM jobs")
        stand.fill(rows(stand.case, total))
        if analyzed:
            stand.database.execute("ANALYZE TABLE jobs")
        for limit in (1, 10):
            # a lone priority has a third of the rows
            with stand.claim(stand.connect(), limit // 3 or 1) as deliveries:
                ids = {delivery.id for delivery in deliveries}
                assert len(ids) == (limit // 3 or 1)
                assert stand.database.locked_rows("jobs", "id") == ids


@on_cases(MINIMAL.with_(dialects=("mariadb",)), MARKED.with_(dialects=("mariadb",)))
def test_a_join_by_another_index_would_lock_them_whole(stand: Stand) -> None:
    twin = stand.twin(claim=without(" FORCE INDEX (PRIMARY)"))
    stand.fill(rows(stand.case, 4))
    # MariaDB 11 joins by the primary key without the hint
    locked = 4 if stand.database.server.version_info < (11,) else 1
    with stand.claim(stand.connect(), 1, module=twin):
        assert len(stand.database.locked_rows("jobs", "id")) == locked


@on_cases(DELAYED.with_(dialects=("mysql",)))
def test_a_locking_read_of_the_index_would_lock_them_whole(stand: Stand) -> None:
    direct = "SELECT id, run_after, note FROM jobs WHERE run_after <= :now ORDER BY run_after, id"
    twin = stand.twin(claim=lambda _: f"{direct} LIMIT :limit FOR UPDATE SKIP LOCKED")
    stand.fill(rows(stand.case, 50))
    stand.database.execute("ANALYZE TABLE jobs")
    with stand.claim(stand.connect(), 1, module=twin):
        assert len(stand.database.locked_rows("jobs", "id")) == 50


def find(node: Any, kind: str) -> list[Any]:
    """The plan nodes of a type, PostgreSQL's."""
    if isinstance(node, list):
        return [one for item in node for one in find(item, kind)]
    if not isinstance(node, dict):
        return []
    below = [one for value in node.values() for one in find(value, kind)]
    return [node, *below] if node.get("Node Type") == kind else below


@on_cases(FULL.with_(dialects=INNODB), WHOLE.with_(dialects=INNODB))
def test_priorities_are_listed_by_steps(stand: Stand) -> None:
    history(stand)
    name = stand.case.claim_name.replace("claim", "due_priorities", 1)
    text = json.dumps(plan_of(stand, name))
    assert any(words in text for words in ("for grouping", "index for group-by", "_group_by")), text


# -- waiting ---------------------------------------------------------------------------------------


@on_cases(FULL)
def test_a_child_row_waits_where_the_server_has_no_weaker_lock(stand: Stand) -> None:
    """DL-04: the check of a foreign key against a claimed row."""
    stand.fill([{"id": 1, "queue": "a"}])
    stand.database.execute(
        "CREATE TABLE children (job bigint NOT NULL, FOREIGN KEY (job) REFERENCES jobs (id))"
    )
    claimer, handler = stand.connect(), stand.connect(autocommit=True)
    cursor = handler.cursor()
    with stand.claim(claimer) as deliveries:
        (delivery,) = deliveries
        if stand.dialect == "postgres":
            cursor.execute("SET lock_timeout = '1s'")
            cursor.execute("INSERT INTO children VALUES (1)")
        else:
            cursor.execute("SET innodb_lock_wait_timeout = 1")
            with pytest.raises(Exception, match="1205"):
                cursor.execute("INSERT INTO children VALUES (1)")
            claimer.cursor().execute("INSERT INTO children VALUES (1)")
        delivery.ack(claimer)
    assert stand.unfinished == 0


@on_cases(FULL.with_(dialects=("postgres",)))
def test_with_the_stronger_lock_the_child_row_would_wait(stand: Stand) -> None:
    stand.fill([{"id": 1, "queue": "a"}])
    stand.database.execute(
        "CREATE TABLE children (job bigint NOT NULL, FOREIGN KEY (job) REFERENCES jobs (id))"
    )
    twin = stand.twin(claim=substituting(("FOR NO KEY UPDATE", "FOR UPDATE")))
    handler = stand.connect(autocommit=True)
    handler.execute("SET lock_timeout = '100ms'")
    with stand.claim(stand.connect(), module=twin), pytest.raises(Exception, match="lock timeout"):
        handler.execute("INSERT INTO children VALUES (1)")


@on_cases(FULL.with_(dialects=INNODB))
def test_other_rows_can_be_rescheduled_while_some_are_held(stand: Stand) -> None:
    """A claim that locks the rows it passes over makes every rescheduling wait for the handler."""
    history(stand, 1000, 0)
    with stand.claim(stand.connect(), 20) as deliveries:
        held = {delivery.id for delivery in deliveries}
        assert len(held) == 20
        moves(stand, [id for id in range(1, 1001) if id not in held])


@on_cases(FULL, WHOLE)
def test_a_claim_without_its_index_is_refused_or_locks_what_it_returns(stand: Stand) -> None:
    history(stand, 2_000, 1_500)
    quote = stand.plan.dialect.quote
    for index in stand.plan.indexes:
        on = f" ON {quote('jobs')}" if stand.dialect in INNODB else ""
        stand.database.execute(f"DROP INDEX {quote(index.name)}{on}")
    if stand.dialect in INNODB:
        with (
            pytest.raises(
                StatementFailed, match=r"Key 'jobs_claim\w*' doesn't exist in table 'jobs'"
            ),
            stand.claim(stand.connect(), 10),
        ):
            pass
        return
    with stand.claim(stand.connect(), 10) as deliveries:
        assert len(deliveries) == 10
        ids = {delivery.id for delivery in deliveries}
        assert stand.database.locked_rows("jobs", "id") == ids
