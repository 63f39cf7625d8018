"""A transactional handler whose transaction is gone, and that says nothing of it: nothing is acked."""

from __future__ import annotations

import time
from typing import Any
from unittest import mock

import psycopg
import pytest

from sqlclaimgen.runtime import CommitRefused, EventKind, clock
from sqlclaimgen.runtime.protocols import handler_transaction
from sqlclaimgen.runtime.steps import Begin, Protocol
from sqlclaimgen.runtime.worker import opening
from tests.conformance.harness import Stand, on_cases
from tests.support import deadlocks
from tests.worker.held.cases import ADVISORY, ROW_LOCK
from tests.worker.support.cases import JOBS
from tests.worker.support.running import Log, OnThread, worker_of

INNODB = ["mysql", "mariadb"]
ENDINGS = {
    "deadlock": lambda stand, connection: deadlocks.victim(stand.database, connection),
    "another": lambda stand, connection: (
        connection.cursor().execute("ROLLBACK") or connection.cursor().execute("BEGIN")
    ),
}


def run(stand: Stand, ending: str) -> Log:
    """A handler writes, loses its transaction once, keeps that to itself, and acks."""
    deadlocks.prepare(stand.database)
    stand.enqueue([{}])
    log = Log()
    tries: list[int] = []

    def handle(delivery: Any, connection: Any) -> None:
        connection.cursor().execute(f"INSERT INTO effects VALUES ({delivery.id})")
        tries.append(1)
        if len(tries) == 1:
            ENDINGS[ending](stand, connection)

    worker = worker_of(
        "blocking",
        stand,
        handle,
        on_event=log,
        transactional=True,
        concurrency=1,
        retry=lambda *_: 0,
    )
    OnThread(worker, until="empty").join(60)
    return log


@pytest.mark.parametrize("ending", ENDINGS)
@on_cases(
    ROW_LOCK.with_(dialects=INNODB), ADVISORY.with_(dialects=INNODB), JOBS.with_(dialects=INNODB)
)
def test_an_ack_commits_with_what_was_written_or_not_at_all(stand: Stand, ending: str) -> None:
    # LR-03 on InnoDB, whose client is not told that the transaction is over
    log = run(stand, ending)
    assert stand.count == 0
    assert stand.database.value("SELECT COUNT(*) FROM effects") == 1
    assert len(log.deliveries) == 2
    if stand.case.name.startswith("row-lock"):
        assert len(log.of(EventKind.LOST)) == 1  # the row lock went with the transaction
    else:
        (failed,) = log.of(EventKind.FAILED)
        assert isinstance(failed.error, CommitRefused)


def unproven(table: str, id: object) -> Protocol[None]:
    yield from ()


def without_savepoint(isolation: str | None, first: Any = None) -> Protocol[None]:
    yield Begin(isolation)


@on_cases(ADVISORY.with_(dialects=INNODB), JOBS.with_(dialects=INNODB))
def test_without_the_proof_the_ack_stands_alone(stand: Stand) -> None:
    with (
        mock.patch.object(handler_transaction, "proven", unproven),
        mock.patch.object(handler_transaction, "begun", without_savepoint),
    ):
        log = run(stand, "deadlock")
    assert len(log.deliveries) == 1 and stand.count == 0
    assert stand.database.value("SELECT COUNT(*) FROM effects") == 0


CLOCKED = [
    case.with_(
        name=f"clocked-{case.name}", body=f'clock = "database"\n{case.body}', dialects=["postgres"]
    )
    for case in (ROW_LOCK, ADVISORY, JOBS)
]


def fail_late(stand: Stand) -> Log:
    """A handler fails by an error of SQL when the last reading of the database's clock is old."""
    stand.enqueue([{}])
    log, tries = Log(), []

    def handle(delivery: Any, connection: Any) -> None:
        tries.append(1)
        if len(tries) == 1:
            time.sleep(0.5)
            connection.execute("SELECT 1 / 0")

    worker = worker_of(
        "blocking",
        stand,
        handle,
        on_event=log,
        transactional=True,
        concurrency=1,
        retry=lambda *_: 0,
    )
    with mock.patch.object(clock, "FRESH", 0.2):
        OnThread(worker, until="empty").join(60)
    return log


@on_cases(*CLOCKED)
def test_an_aborted_transaction_is_rolled_back_without_asking_the_time(stand: Stand) -> None:
    log = fail_late(stand)
    assert stand.count == 0 and len(log.of(EventKind.FAILED)) == 1
    assert [number for _, number in log.deliveries] == [1, 2] and not log.of(EventKind.LOST)


@on_cases(*CLOCKED[:2])
def test_asked_there_it_costs_the_row(stand: Stand) -> None:
    never = mock.PropertyMock(return_value=False)
    with mock.patch.object(opening.ThreadedSession, "aborted", never):
        assert fail_late(stand).of(EventKind.LOST)


@on_cases(CLOCKED[0])
def test_a_claims_block_is_left_on_an_aborted_transaction(stand: Stand) -> None:
    stand.enqueue([{}])
    connection = stand.connect()
    with (
        mock.patch.object(clock, "FRESH", 0.0),
        pytest.raises(psycopg.errors.DivisionByZero),
        stand.module.claim(connection) as claim,
    ):
        for _ in claim:
            connection.execute("SELECT 1 / 0")
    assert connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE


ON_POSTGRES = [case.with_(dialects=["postgres"]) for case in (ROW_LOCK, ADVISORY, JOBS)]


@on_cases(*ON_POSTGRES)
def test_an_outcome_that_undoes_needs_no_transaction_that_can_be_committed(stand: Stand) -> None:
    (id,) = stand.enqueue([{}])
    log = Log()

    def handle(delivery: Any, connection: Any) -> Any:
        try:
            connection.execute("SELECT 1 / 0")
        except psycopg.Error:
            return stand.module.DeadLetter("poison")

    worker = worker_of("blocking", stand, handle, on_event=log, transactional=True)
    OnThread(worker, until="empty").join(60)
    assert [(row["id"], row["reason"]) for row in stand.rows(dead=True)] == [(id, "poison")]
    assert not log.of(EventKind.FAILED) and not log.of(EventKind.LOST)


@on_cases(*ON_POSTGRES)
def test_the_ack_may_satisfy_what_is_checked_at_the_commit(stand: Stand) -> None:
    (id,) = stand.enqueue([{}])
    for text in (
        f"CREATE TABLE parents AS SELECT {id} AS id",
        "ALTER TABLE parents ADD PRIMARY KEY (id)",
        "ALTER TABLE jobs ADD FOREIGN KEY (id) REFERENCES parents (id) DEFERRABLE INITIALLY DEFERRED",
    ):
        stand.database.execute(text)
    log = Log()

    def handle(delivery: Any, connection: Any) -> None:
        connection.execute("DELETE FROM parents")  # the job goes with the ack

    worker = worker_of("blocking", stand, handle, on_event=log, transactional=True)
    OnThread(worker, until="empty").join(60)
    assert stand.count == 0 and log.deliveries == [(id, 1)] and not log.of(EventKind.FAILED)
    assert stand.database.value("SELECT COUNT(*) FROM parents") == 0
