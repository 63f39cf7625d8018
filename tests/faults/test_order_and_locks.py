"""ST-02, DL-05, DL-06, DL-07, DR-02, DR-04: order, locks, and the caller's connection."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from sqlclaimgen.runtime.protocols import lease
from sqlclaimgen.runtime.protocols.scope import group
from sqlclaimgen.runtime.steps import Commit
from tests.care.cases import DEAD_TABLE
from tests.conformance.harness import Stand, on_cases
from tests.conformance.stepping import Stepper

NOW = datetime(2026, 6, 1, tzinfo=UTC)
ON_SQLITE = DEAD_TABLE.with_(name="sqlite", dialects=("sqlite",))
ON_SERVERS = DEAD_TABLE.with_(name="servers", dialects=("postgres", "mysql", "mariadb"))


@on_cases(DEAD_TABLE)
def test_st_02_an_urgent_row_whose_lease_ran_out_comes_first(stand: Stand) -> None:
    plain = {"queue": "a", "due": NOW, "payload": {}, "urgency": 5, "locked_until": None}
    urgent = {**plain, "urgency": -1, "locked_until": NOW - timedelta(seconds=1)}
    stand.fill([plain] * 5 + [urgent] + [plain] * 5)
    module = stand.at(NOW)
    with stand.claim(stand.connect(), 3, module=module) as deliveries:
        assert [delivery.row.urgency for delivery in deliveries] == [-1, 5, 5]


@on_cases(ON_SERVERS)
def test_dl_05_sweeps_at_once_do_not_deadlock(stand: Stand, monkeypatch: Any) -> None:
    monkeypatch.setattr("sqlclaimgen.runtime.protocols.care.PAGE", 50)
    old = {"queue": "a", "finished": NOW - timedelta(days=9), "payload": {}}
    stand.fill([{**old, "finished": NOW - timedelta(days=9, seconds=n % 7)} for n in range(600)])
    module = stand.at(NOW)
    barrier = threading.Barrier(3)
    deleted: list[int] = []
    errors: list[BaseException] = []

    def sweep() -> None:
        try:
            connection = stand.connect()
            barrier.wait(20)
            deleted.append(module.purge(connection, older_than=timedelta(days=1)))
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=sweep, daemon=True) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert errors == []
    # one that meets a page of others' locks ends early; what is left is for the next sweep
    rest = module.purge(stand.connect(), older_than=timedelta(days=1))
    assert sum(deleted) + rest == 600
    assert stand.count == 0


@on_cases(ON_SQLITE)
def test_dl_06_a_claim_that_has_to_wait_waits(stand: Stand) -> None:
    stand.enqueue([{"queue": "a", "payload": 1}])
    writer, claimer = stand.connect(), stand.connect()
    writer.execute("BEGIN IMMEDIATE")
    done: list[int] = []
    started = threading.Event()

    def claim() -> None:
        started.set()
        with stand.claim(claimer) as deliveries:
            done.append(len(deliveries))

    thread = threading.Thread(target=claim, daemon=True)
    thread.start()
    started.wait(10)
    writer.execute("UPDATE jobs SET urgency = 1")
    writer.commit()
    thread.join(20)
    assert done == [1]


@on_cases(ON_SQLITE)
def test_dl_07_a_reader_never_waits(stand: Stand) -> None:
    stand.database.execute("PRAGMA journal_mode = WAL")
    stand.enqueue([{"queue": "a", "payload": 1}])
    claimer, reader = stand.connect(), stand.connect(timeout=0)
    stepper = Stepper(claimer, stand.module.QUEUE, lambda bound: lease.claim(bound, group("a"), 1))
    stepper.stop_before(Commit)
    assert reader.execute("SELECT COUNT(*) FROM jobs").fetchone() == (1,)
    assert len(stepper.finish().deliveries) == 1


@on_cases(ON_SERVERS)
def test_dr_02_what_was_committed_meanwhile_is_seen(stand: Stand) -> None:
    """PyMySQL outside of autocommit would read one snapshot for ever."""
    connection = stand.connect()
    for count in range(3):
        assert stand.module.stats(connection, group="a").due.value == count
        with stand.claim(connection) as deliveries:
            assert len(deliveries) == min(count, 1)
        stand.enqueue([{"queue": "a", "payload": 1}])


@on_cases(ON_SERVERS)
@pytest.mark.parametrize("autocommit", [False, True])
def test_dr_04_the_callers_connection_stays_as_it_was(stand: Stand, autocommit: bool) -> None:
    stand.enqueue([{"queue": "a", "payload": 1}] * 2)
    connection = stand.connect(autocommit=autocommit)
    before = _settings(stand, connection)
    for _ in range(2):
        with stand.claim(connection) as deliveries:
            for delivery in deliveries:
                assert stand.module.extend(connection, [delivery]) == []
                delivery.ack(connection)
        stand.module.stats(connection, group="a")
    assert _settings(stand, connection) == before
    assert stand.unfinished == 0


def _settings(stand: Stand, connection: Any) -> list[Any]:
    if stand.dialect == "postgres":
        autocommit = connection.autocommit
        names = ("TimeZone", "default_transaction_isolation", "statement_timeout")
        found = [connection.execute(f"SHOW {name}").fetchone() for name in names]
    else:
        autocommit = connection.get_autocommit()
        cursor = connection.cursor()
        level = "transaction_isolation" if stand.dialect == "mysql" else "tx_isolation"
        cursor.execute(f"SELECT @@{level}, @@time_zone, @@sql_mode, @@innodb_lock_wait_timeout")
        found = list(cursor.fetchall())
    connection.rollback()
    return [autocommit, *found]
