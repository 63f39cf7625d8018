"""Whose transaction it is: claims commit, settlements join or commit, enqueues always join."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest

from sqlclaimgen.runtime import (
    AlreadyQueued,
    AlreadySettled,
    FaultKind,
    LeaseLost,
    StatementFailed,
    TransactionOpen,
    UnsupportedServer,
    transaction,
)
from tests.conformance.cases import FULL, MARKED, PLAIN
from tests.conformance.harness import Stand, on_cases
from tests.conformance.test_claiming import rows
from tests.generated.test_determinism import interpreters
from tests.servers import Database
from tests.support import deadlocks
from tests.support.generated import generate

autocommit = pytest.mark.parametrize("autocommit", [False, True], ids=["implicit", "autocommit"])


def busy(stand: Stand, connection: Any) -> None:
    """Work of the caller's own, in a transaction that stays open."""
    quote = stand.plan.dialect.quote
    cursor = connection.cursor()
    cursor.execute(f"UPDATE {quote('jobs')} SET {quote('note')} = 'busy' WHERE 1 = 0")
    cursor.execute(f"SELECT COUNT(*) FROM {quote('jobs')}")
    cursor.fetchall()


@autocommit
@on_cases(PLAIN)
def test_claims_and_extensions_refuse_an_open_transaction(stand: Stand, autocommit: bool) -> None:
    stand.fill(rows(stand.case, 2))
    connection = stand.connect(autocommit=autocommit)
    (delivery,) = stand.claim(connection)._deliveries
    with transaction(connection):
        busy(stand, connection)
        before = stand.rows() if stand.dialect != "sqlite" else []
        with pytest.raises(TransactionOpen):
            stand.claim(connection)
        with pytest.raises(TransactionOpen):
            stand.module.extend(connection, [delivery])
        assert not delivery.lost
        if before:
            assert stand.rows() == before
    delivery.ack(connection)
    assert stand.count == 1


@autocommit
@on_cases(FULL, PLAIN)
def test_a_settlement_alone_commits(stand: Stand, autocommit: bool) -> None:
    stand.fill(rows(stand.case, 3))
    connection = stand.connect(autocommit=autocommit)
    with stand.claim(connection, 3) as claim:
        for delivery, settle in zip(claim, SETTLEMENTS, strict=True):
            settle(connection, delivery)
            row = stand.row(delivery.id)
            assert row is None or row["locked_until"] is None
            assert delivery.settled and not delivery.joined
    assert all(row["locked_until"] is None for row in stand.rows())


SETTLEMENTS: list[Callable[[Any, Any], None]] = [
    lambda connection, delivery: delivery.ack(connection),
    lambda connection, delivery: delivery.retry(connection),
    lambda connection, delivery: delivery.discard(connection),
]


@autocommit
@on_cases(FULL, PLAIN)
def test_a_settlement_joins_the_transaction_that_is_open(stand: Stand, autocommit: bool) -> None:
    stand.fill(rows(stand.case, 2))
    connection = stand.connect(autocommit=autocommit)
    note = f"UPDATE {stand.plan.dialect.quote('jobs')} SET note = 'effect' WHERE note IS NULL"
    with stand.claim(connection, 2) as claim:
        first, second = claim
        with pytest.raises(ZeroDivisionError), transaction(connection):
            connection.cursor().execute(note)
            first.ack(connection)
            assert first.settled and first.joined
            raise ZeroDivisionError
        # neither the effect nor the settlement happened; the lease is held still
        assert [row["note"] for row in stand.rows()] == [None, None]
        row = stand.row(first.id)
        assert row is not None and row["locked_until"] == first.token
        with transaction(connection):
            connection.cursor().execute(note)
            second.ack(connection)
        assert stand.unfinished == 1
        assert {row["note"] for row in stand.rows()} == {"effect"}
    # leaving the block gave the rolled-back one back
    row = stand.row(first.id)
    assert row is not None and row["locked_until"] is None


@autocommit
@on_cases(FULL, PLAIN)
def test_what_was_rolled_back_can_be_settled_otherwise(stand: Stand, autocommit: bool) -> None:
    stand.fill(rows(stand.case, 2))
    connection = stand.connect(autocommit=autocommit)
    with stand.claim(connection, 2) as claim:
        first, second = claim
        with pytest.raises(ZeroDivisionError), transaction(connection):
            first.ack(connection)
            raise ZeroDivisionError
        assert not (first.settled or first.joined)
        with transaction(connection):
            second.ack(connection)
            with pytest.raises(ZeroDivisionError), transaction(connection):
                first.discard(connection)
                raise ZeroDivisionError
            assert second.settled and not first.settled
        with pytest.raises(ZeroDivisionError), transaction(connection):
            with transaction(connection):
                first.discard(connection)
            raise ZeroDivisionError
        first.retry(connection)
    assert stand.unfinished == 1
    row = stand.row(first.id)
    assert row is not None and row["locked_until"] is None


@on_cases(FULL.with_(dialects=["postgres", "sqlite"]))
def test_a_refused_commit_settles_nothing(stand: Stand) -> None:
    stand.fill(rows(stand.case, 1))
    connection = stand.connect()
    for text in REFUSING_COMMITS:
        stand.database.execute(text)
    if stand.dialect == "sqlite":
        connection.execute("PRAGMA foreign_keys = ON")
    with stand.claim(connection) as claim:
        (delivery,) = claim
        with pytest.raises(Exception, match=r"(?i)foreign key"), transaction(connection):
            connection.cursor().execute("INSERT INTO child VALUES (7)")
            delivery.ack(connection)
        assert not (delivery.settled or delivery.lost)
        delivery.retry(connection)
    assert stand.unfinished == 1


REFUSING_COMMITS = (
    "CREATE TABLE parent (id INTEGER PRIMARY KEY)",
    "CREATE TABLE child (id INTEGER REFERENCES parent (id) DEFERRABLE INITIALLY DEFERRED)",
)


@autocommit
@pytest.mark.parametrize("when", ["before the ack", "after the ack"])
@on_cases(PLAIN.with_(dialects=["mysql", "mariadb"]))
def test_a_deadlock_that_was_kept_inside_is_told(stand: Stand, autocommit: bool, when: str) -> None:
    deadlocks.prepare(stand.database)
    stand.fill(rows(stand.case, 2))
    connection = stand.connect(autocommit=autocommit)
    with stand.claim(connection, 2) as claim:
        delivery, other = claim
        with pytest.raises(StatementFailed, match="deadlock"), transaction(connection):
            connection.cursor().execute("INSERT INTO effects VALUES (1)")
            if when == "after the ack":
                delivery.ack(connection)
            deadlocks.victim(stand.database, connection)
            if when == "before the ack":
                delivery.ack(connection)
        assert not delivery.settled
        with pytest.raises(StatementFailed, match="deadlock"), transaction(connection):
            deadlocks.victim(stand.database, connection)
            stand.module.enqueue(connection, stand.module.New())
        with (
            pytest.raises(StatementFailed, match="deadlock"),
            transaction(connection),
            pytest.raises(ZeroDivisionError),
            transaction(connection),
        ):
            deadlocks.victim(stand.database, connection)
            raise ZeroDivisionError
        assert stand.count == 2
        with transaction(connection):
            delivery.ack(connection)
            connection.cursor().execute("SAVEPOINT a")
            other.ack(connection)
            connection.cursor().execute("ROLLBACK TO a")  # a savepoint of the caller's own
    assert stand.database.value("SELECT COUNT(*) FROM effects") == 0


@on_cases(PLAIN.with_(dialects=["mysql", "mariadb"]))
def test_a_block_after_a_deadlock_is_a_transaction(stand: Stand) -> None:
    deadlocks.prepare(stand.database)
    connection = stand.connect(autocommit=True)
    connection.begin()
    deadlocks.victim(stand.database, connection)
    with pytest.raises(ZeroDivisionError), transaction(connection):
        stand.module.enqueue(connection, stand.module.New())
        raise ZeroDivisionError
    assert stand.count == 0
    with transaction(connection):
        stand.module.enqueue(connection, stand.module.New())
    assert stand.count == 1


@on_cases(FULL.with_(dialects=["postgres"]))
def test_an_error_that_was_kept_inside_is_told(stand: Stand) -> None:
    # LR-03: a COMMIT of an aborted transaction is a silent ROLLBACK
    stand.fill(rows(stand.case, 1))
    connection = stand.connect()
    new = stand.module.New(queue="a", priority=1, payload=None)
    with stand.claim(connection) as claim:
        (delivery,) = claim
        with pytest.raises(StatementFailed, match="kept inside"), transaction(connection):
            delivery.ack(connection)
            with contextlib.suppress(psycopg.Error):
                connection.execute("SELECT 1 / 0")
        assert not delivery.settled and not connection.info.transaction_status
        with pytest.raises(StatementFailed, match="kept inside"), transaction(connection):
            stand.module.enqueue(connection, new)
            with contextlib.suppress(psycopg.Error):
                connection.execute("SELECT 1 / 0")
        delivery.ack(connection)
    assert stand.unfinished == 0


@pytest.mark.parametrize("noticed", [False, True], ids=["unnoticed", "noticed"])
@on_cases(PLAIN.with_(dialects=["postgres", "mysql", "mariadb"]))
def test_a_lease_outlives_the_connection_of_its_block(stand: Stand, noticed: bool) -> None:
    stand.fill(rows(stand.case, 2))
    connection, other = stand.connect(), stand.connect()
    with contextlib.suppress(Exception), stand.claim(connection, 2) as claim:
        first, second = claim
        stand.database.kill_session(stand.database.session_id(connection))
        if noticed:
            with contextlib.suppress(Exception):
                connection.cursor().execute("SELECT 1")
    # nothing was given back, for nothing could be said: the leases go on
    first.ack(other)
    second.retry(other)
    assert stand.unfinished == 1


@on_cases(PLAIN)
def test_a_release_that_was_rolled_back(stand: Stand) -> None:
    stand.fill(rows(stand.case, 1))
    connection = stand.connect()
    with stand.claim(connection) as claim:
        (delivery,) = claim
        with pytest.raises(ZeroDivisionError), transaction(connection):
            stand.module.release(connection, [delivery])
            raise ZeroDivisionError
        delivery.ack(connection)
    assert stand.unfinished == 0


@on_cases(PLAIN)
def test_a_block_left_inside_a_transaction_joins_it(stand: Stand) -> None:
    stand.fill(rows(stand.case, 1))
    connection = stand.connect()
    claim = stand.claim(connection)
    with transaction(connection):
        busy(stand, connection)
        claim.__exit__(None, None, None)
    assert stand.rows()[0]["locked_until"] is None


@on_cases(FULL, PLAIN)
def test_a_lost_lease_rolls_the_effect_back(stand: Stand) -> None:
    stand.fill(rows(stand.case, 1))
    connection, other = stand.connect(), stand.connect()
    note = f"UPDATE {stand.plan.dialect.quote('jobs')} SET note = 'effect'"
    (delivery,) = stand.claim(connection)._deliveries
    (rival,) = stand.claim(other, module=stand.later(61))._deliveries
    with pytest.raises(LeaseLost) as lost, transaction(connection):
        connection.cursor().execute(note)
        delivery.ack(connection)
    assert (lost.value.table, lost.value.id) == ("jobs", delivery.id)
    assert lost.value.attempt == delivery.number
    assert stand.rows()[0]["note"] is None
    rival.ack(other)


@on_cases(PLAIN)
def test_a_delivery_is_settled_once(stand: Stand) -> None:
    stand.fill(rows(stand.case, 1))
    connection = stand.connect()
    (delivery,) = stand.claim(connection)._deliveries
    delivery.ack(connection)
    with pytest.raises(AlreadySettled):
        delivery.retry(connection)


@autocommit
@on_cases(FULL, PLAIN)
def test_an_enqueue_joins_and_never_commits(stand: Stand, autocommit: bool) -> None:
    connection = stand.connect(autocommit=autocommit)
    new = stand.module.New(
        **{"queue": "a", "priority": 1, "payload": None} if stand.case is FULL else {}
    )
    with pytest.raises(ZeroDivisionError), transaction(connection):
        stand.module.enqueue(connection, new)
        raise ZeroDivisionError
    assert stand.count == 0
    with transaction(connection):
        ids = stand.module.enqueue_many(connection, [new] * 3)
        assert stand.dialect == "sqlite" or stand.count == 0
    assert [row["id"] for row in stand.rows()] == ids
    if not autocommit:
        stand.module.enqueue(connection, new)
        connection.rollback()
        assert stand.count == 3


@on_cases(FULL)
def test_an_enqueue_with_a_delay_is_due_then(stand: Stand) -> None:
    ids = stand.enqueue(
        [{"queue": "a", "priority": 1, "payload": None}] * 2, delay=timedelta(seconds=50)
    )
    connection = stand.connect()
    assert len(ids) == 2
    assert len(stand.claim(connection, 5)) == 0
    assert len(stand.claim(connection, 5, module=stand.later(51))) == 2


@on_cases(MARKED)
def test_a_dedupe_key_is_queued_once(stand: Stand) -> None:
    connection = stand.connect()
    new = stand.module.New

    def add(token: str | None) -> int:
        id: int = stand.module.enqueue(connection, new(queue="a", token=token))
        return id

    with transaction(connection):
        first = add("x")
        with pytest.raises(AlreadyQueued) as refused:
            add("x")
        # the producer's transaction goes on
        assert refused.value.table == "jobs"
        others = [add("X"), add("x "), add("é"), add("e"), add(None), add(None), add("")]
    assert [row["id"] for row in stand.rows()] == [first, *others]
    # a finished row frees its key, a retried one keeps it
    (delivery,) = stand.claim(connection)._deliveries
    assert delivery.id == first
    delivery.retry(connection)
    with transaction(connection), pytest.raises(AlreadyQueued):
        add("x")
    for delivery in stand.claim(connection, 10)._deliveries:
        delivery.ack(connection)
    with transaction(connection):
        assert add("x") not in (first, *others)


@on_cases(MARKED)
def test_two_producers_of_one_dedupe_key_at_once(stand: Stand) -> None:
    from concurrent.futures import ThreadPoolExecutor

    one, two = stand.connect(), stand.connect()
    new = stand.module.New(queue="a", token="x")
    with ThreadPoolExecutor(1) as pool:
        if stand.dialect == "sqlite":
            stand.module.enqueue(one, new)
            one.commit()
            with pytest.raises(AlreadyQueued):
                stand.module.enqueue(two, new)
            return
        stand.module.enqueue(one, new)
        other = pool.submit(stand.module.enqueue, two, new)
        stand.database.wait_until_blocked(stand.database.session_id(two))
        one.commit()
        with pytest.raises(AlreadyQueued):
            other.result(20)
        two.rollback()
    assert stand.count == 1


@on_cases(PLAIN)
def test_a_closed_connection_is_a_lost_one(stand: Stand) -> None:
    stand.fill(rows(stand.case, 1))
    connection = stand.connect()
    (delivery,) = stand.claim(connection)._deliveries
    connection.close()
    for call in (
        lambda: delivery.ack(connection),
        lambda: stand.claim(connection),
        lambda: stand.module.extend(connection, [delivery]),
    ):
        with pytest.raises(StatementFailed) as failed:
            call()
        assert failed.value.kind is FaultKind.LOST
        assert failed.value.table == "jobs"
    assert not delivery.lost and not delivery.settled
    delivery.ack(stand.connect())
    assert stand.count == 0


@autocommit
@on_cases(PLAIN.with_(dialects=("postgres",)))
def test_a_pipeline_is_refused(stand: Stand, autocommit: bool) -> None:
    # its answers come late: a claim would lose its rows, and a lost lease would look like a settlement
    stand.fill(rows(stand.case, 2))
    connection = stand.connect(autocommit=autocommit)
    with stand.claim(connection) as claim:
        (delivery,) = claim
        with connection.pipeline():
            for refused in (lambda: stand.claim(connection), lambda: delivery.ack(connection)):
                with pytest.raises(UnsupportedServer, match="pipeline mode"):
                    refused()
        assert stand.count == 2
        delivery.ack(connection)
    assert stand.count == 1


class Autocommit(sqlite3.Connection):
    """What `autocommit=True` does to a connection of sqlite3, from Python 3.12 on."""

    autocommit = True

    def commit(self) -> None:
        pass

    def rollback(self) -> None:
        pass


@on_cases(FULL.with_(dialects=("sqlite",)))
def test_a_commit_that_the_connection_ignores_is_made(stand: Stand) -> None:
    stand.fill(rows(stand.case, 2))
    if sys.version_info >= (3, 12):
        connection = stand.connect()
        connection.autocommit = True
    else:
        connection = stand.connect(isolation_level=None, factory=Autocommit)
    with stand.claim(connection) as claim:
        (delivery,) = claim
        assert not connection.in_transaction
        with pytest.raises(ZeroDivisionError), transaction(connection):
            connection.execute("UPDATE jobs SET note = 'effect'")
            raise ZeroDivisionError
        assert not connection.in_transaction
        with transaction(connection):
            connection.execute("UPDATE jobs SET note = 'again' WHERE id = 2")
            delivery.ack(connection)
        assert not connection.in_transaction
    assert stand.unfinished == 1
    assert [row["note"] for row in stand.rows()] == [None, "again"]
    connection.close()


class AlwaysOpen(sqlite3.Connection):
    """What `autocommit=False` does to a connection of sqlite3, from Python 3.12 on: the next transaction
    begins when one ends."""

    autocommit = False

    @property
    def in_transaction(self) -> bool:
        return True


def says_the_setting(text: str) -> bool:
    """Whether an error names `autocommit=False` and the way out, and not a commit, which does not help."""
    return (
        "autocommit=False of sqlite3 keeps a transaction open" in text
        and "Connect with autocommit=True, or leave autocommit out." in text
        and "Commit it first" not in text
    )


@on_cases(FULL.with_(dialects=("sqlite",)))
def test_a_connection_that_always_has_a_transaction_open_is_refused_with_its_setting(
    stand: Stand,
) -> None:
    stand.fill(rows(stand.case, 1))
    connection = stand.connect(isolation_level=None, factory=AlwaysOpen)
    with pytest.raises(TransactionOpen) as refused, stand.claim(connection):
        pass
    assert says_the_setting(str(refused.value))
    ordinary = stand.connect()
    ordinary.execute("UPDATE jobs SET note = 'mine'")
    with pytest.raises(TransactionOpen, match="Commit it first, or use another connection"):
        stand.claim(ordinary)
    ordinary.rollback()
    assert stand.unfinished == 1


CLAIM = """
import json, sqlite3, sys
sys.path[:0] = sys.argv[2:]
from queues import jobs
from sqlclaimgen.runtime import TransactionOpen

connection = sqlite3.connect(sys.argv[1], autocommit=False)
connection.commit()
try:
    with jobs.claim(connection):
        pass
except TransactionOpen as error:
    refused = str(error)
connection.close()
with jobs.claim(sqlite3.connect(sys.argv[1], autocommit=True)) as deliveries:
    print(json.dumps([refused, len(list(deliveries))]))
"""


def test_autocommit_of_a_newer_python_is_refused_with_its_setting(
    sqlite_database: Database, tmp_path: Path
) -> None:
    newer = [path for version, path in interpreters().items() if version != "3.11"]
    if sys.version_info >= (3, 12):
        newer.append(Path(sys.executable))
    if not newer:
        pytest.skip("no Python 3.12 or newer here")
    generated = generate(
        'format = 1\n[table.jobs.columns]\nid = { role = "id", type = "bigint" }\nlocked_until = {}\n',
        tmp_path,
    )
    generated.install(sqlite_database, "jobs")
    sqlite_database.execute("INSERT INTO jobs (id) VALUES (1)")
    path = sqlite_database.dsn.removeprefix("sqlite:///")
    places = [str(tmp_path), str(Path(__file__).parents[2])]
    for python in newer:
        done = subprocess.run(
            [python, "-c", CLAIM, path, *places], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        refused, claimed = json.loads(done.stdout)
        assert says_the_setting(refused)
        assert claimed == 1
