"""Handlers with a connection: what they write commits with the ack, or not at all."""

from __future__ import annotations

import contextlib
import threading
import time
from collections import Counter
from datetime import timedelta
from typing import Any
from unittest import mock

import pytest

from sqlclaimgen.runtime import AsyncWorker, EventKind
from sqlclaimgen.runtime.errors import CommitRefused, FaultKind
from sqlclaimgen.runtime.queue import Bound
from sqlclaimgen.runtime.worker import lease_claiming, lease_engine
from tests.conformance.harness import Stand, on_cases
from tests.worker.lease.test_lost_sessions import Eager
from tests.worker.support.cases import JOBS, SHORT
from tests.worker.support.injecting import Injector, Strike, injected
from tests.worker.support.running import QUICK, Log, OnThread, leasing, worker_of, working

# on SQLite the handler's transaction holds the one writer's lock: nobody can claim, or extend
SERVERS = ["postgres", "mysql", "mariadb"]

HISTORY = "CREATE TABLE history (job BIGINT NOT NULL, attempt INT NOT NULL)"


def write(connection: Any, delivery: Any) -> None:
    connection.cursor().execute(
        f"INSERT INTO history (job, attempt) VALUES ({delivery.id}, {delivery.attempt})"
    )


def history(stand: Stand) -> list[tuple[int, int]]:
    return [(row[0], row[1]) for row in stand.database.execute("SELECT job, attempt FROM history")]


def run(stand: Stand, handle: Any, **options: Any) -> Log:
    log = Log()
    worker = worker_of("blocking", stand, handle, on_event=log, transactional=True, **options)
    OnThread(worker, until="empty").join(60)
    return log


@on_cases(JOBS)
def test_writes_commit_with_an_ack_alone(stand: Stand) -> None:
    stand.database.execute(HISTORY)
    names = ("ack", "discard", "retry", "later", "dead", "raises", "swallows")
    ids = dict(zip(names, stand.enqueue([{"payload": name} for name in names]), strict=True))
    module = stand.module

    def handle(delivery: Any, connection: Any) -> Any:
        write(connection, delivery)
        if delivery.attempt > 1:
            return None
        match delivery.row.payload:
            case "ack":
                return None
            case "discard":
                return module.Discard()
            case "retry":
                return module.Retry()
            case "later":
                return module.RetryAfter(timedelta(hours=1))
            case "dead":
                return module.DeadLetter()
            case "swallows":
                try:
                    connection.cursor().execute("SELECT no_such_column FROM history")
                except Exception:
                    return None
            case _:
                raise ValueError("no")

    log = run(stand, handle, retry=lambda attempt, error: 3600)
    written = set(history(stand))
    kept = {(ids["ack"], 1), (ids["discard"], 1), (ids["retry"], 2)}
    # PostgreSQL aborts a transaction with its first error: the ack of a handler that went on fails
    swallowed = {(ids["swallows"], 1)} if stand.dialect != "postgres" else set()
    assert written == kept | swallowed
    assert len(history(stand)) == len(written)
    left = {row["id"] for row in stand.rows()}
    assert left == {ids["later"], ids["raises"]} | ({ids["swallows"]} - {id for id, _ in swallowed})
    assert len(stand.rows(dead=True)) == 1
    assert {e.id for e in log.of(EventKind.FAILED)} >= {ids["raises"]}


@on_cases(JOBS)
def test_the_connection_refuses_to_commit(stand: Stand) -> None:
    stand.database.execute(HISTORY)
    (id,) = stand.enqueue([{"payload": 1}])

    def handle(delivery: Any, connection: Any) -> None:
        if delivery.attempt == 1:
            write(connection, delivery)
            connection.commit()

    log = run(stand, handle, retry=lambda attempt, error: 0)
    (failed,) = log.of(EventKind.FAILED)
    if stand.dialect != "sqlite":
        assert isinstance(failed.error, CommitRefused)
    assert history(stand) == [] and stand.count == 0
    assert log.deliveries == [(id, 1), (id, 2)]


@on_cases(JOBS)
def test_a_commit_in_sql_is_found_out(stand: Stand) -> None:
    (id,) = stand.enqueue([{"payload": 1}])

    def handle(delivery: Any, connection: Any) -> None:
        if delivery.attempt == 1:
            connection.cursor().execute("COMMIT")

    log = run(stand, handle, retry=lambda attempt, error: 0)
    assert [event.id for event in log.of(EventKind.FAILED)] == [id]
    assert stand.count == 0 and len(log.deliveries) == 2


@on_cases(SHORT.with_(dialects=SERVERS))
def test_a_lost_lease_rolls_everything_back(stand: Stand) -> None:
    stand.database.execute(HISTORY)
    (id,) = stand.enqueue([{"payload": 1}])
    rival = stand.connect()
    log = Log()
    rivals: list[Any] = []

    def handle(delivery: Any, connection: Any) -> None:
        with stand.claim(rival, module=stand.later(3600)) as taken:
            rivals.extend(taken)
            for one in rivals:
                one.retry_after(rival, timedelta(hours=2))
        rival.commit()
        write(connection, delivery)

    worker = worker_of("blocking", stand, handle, on_event=log, transactional=True)
    with working(worker):
        log.wait_for(EventKind.LOST)
    assert history(stand) == []
    row = stand.row(id)
    assert row is not None and row["attempt"] == 3
    assert not log.of(EventKind.SETTLED)


@on_cases(JOBS)
def test_a_session_killed_at_every_step_keeps_effect_and_ack_together(stand: Stand) -> None:
    stand.database.execute(HISTORY)

    def handle(delivery: Any, connection: Any) -> None:
        write(connection, delivery)

    def once(strike: Strike | None) -> Injector:
        log = Log()
        ids = stand.enqueue([{"payload": n} for n in range(2)])
        concurrency = 1 if stand.dialect == "sqlite" else 2
        worker = worker_of(
            "blocking", stand, handle, on_event=log, transactional=True, concurrency=concurrency
        )
        eager = mock.patch.object(lease_engine, "Extender", Eager)
        with eager, injected(Injector(stand.database, strike)) as injector:
            OnThread(worker, until="empty").join(60)
        where = f"{strike}: {history(stand)} {log.events}"
        assert stand.count == 0, where
        effects = Counter(job for job, _ in history(stand))
        assert effects == Counter(ids), where
        assert not log.of(EventKind.LOST), where
        stand.database.execute("DELETE FROM history")
        return injector

    for strike in once(None).strikes():
        if strike.number < 4:
            once(strike)


@on_cases(JOBS.with_(dialects=["postgres"]))
def test_an_async_handler_over_an_async_connection(stand: Stand) -> None:
    stand.database.execute(HISTORY)
    ids = stand.enqueue([{"payload": n} for n in range(10)])
    log = Log()

    async def handle(delivery: Any, connection: Any) -> None:
        await connection.execute(
            "INSERT INTO history (job, attempt) VALUES (%s, %s)", [delivery.id, delivery.attempt]
        )
        if delivery.attempt == 1 and delivery.id == ids[3]:
            await connection.commit()

    worker = AsyncWorker(
        stand.module.QUEUE,
        handle,
        connect=stand.database.connect_async,  # type: ignore[attr-defined]
        concurrency=4,
        transactional=True,
        retry=lambda attempt, error: 0,
        on_event=log,
        **QUICK,
    )
    OnThread(worker, until="empty").join(60)
    assert sorted(job for job, _ in history(stand)) == ids
    (failed,) = log.of(EventKind.FAILED)
    assert isinstance(failed.error, CommitRefused)


@on_cases(SHORT.with_(dialects=SERVERS))
def test_a_long_transactional_handler_keeps_its_lease(stand: Stand) -> None:
    stand.database.execute(HISTORY)
    module = leasing(stand.generated.module("jobs"), 1)
    stand.enqueue([{"payload": 1}])
    log = Log()

    def handle(delivery: Any, connection: Any) -> None:
        write(connection, delivery)
        log.wait_for(EventKind.EXTENDED, 4)

    worker = worker_of("blocking", stand, handle, module=module, on_event=log, transactional=True)
    OnThread(worker, until="empty").join(60)
    assert len(history(stand)) == 1 and len(log.deliveries) == 1


@on_cases(SHORT.with_(dialects=["sqlite"]))
def test_a_wait_for_sqlites_one_writer_breaks_no_connection(stand: Stand) -> None:
    # extensions wait for the handler's transaction, in vain; its ack counts all the same
    stand.database.execute(HISTORY)
    module = leasing(stand.generated.module("jobs"), 1)
    (id,) = stand.enqueue([{"payload": 1}])
    log, opened = Log(), []

    def connect() -> Any:
        opened.append(1)
        return stand.connect(check_same_thread=False)

    def handle(delivery: Any, connection: Any) -> None:
        write(connection, delivery)
        log.wait_for(EventKind.CONFLICT, 2)

    worker = worker_of(
        "blocking",
        stand,
        handle,
        module=module,
        on_event=log,
        transactional=True,
        concurrency=1,
        connect=connect,
    )
    OnThread(worker, until="empty").join(60)
    waits = log.of(EventKind.CONFLICT)
    assert {getattr(event.error, "kind", None) for event in waits} == {FaultKind.BUSY}, waits
    assert history(stand) == [(id, 1)] and log.ids(EventKind.SETTLED) == [id]
    assert len(opened) <= 4


@on_cases(SHORT.with_(dialects=["sqlite"]))
def test_a_handler_that_waits_for_the_one_writer_has_not_started(stand: Stand) -> None:
    # their leases run out meanwhile, and their rows are claimed again
    module = leasing(stand.generated.module("jobs"), 1)
    ids = stand.enqueue([{"payload": n} for n in range(3)])
    log, began = Log(), []

    def handle(delivery: Any, connection: Any) -> None:
        began.append(delivery.id)
        while len(began) == 1 and not delivery.overdue:
            time.sleep(0.01)

    worker = worker_of("blocking", stand, handle, module=module, on_event=log, transactional=True)
    OnThread(worker, until="empty").join(60)
    assert began == log.ids(EventKind.STARTED)
    assert sorted(log.ids(EventKind.SETTLED)) == sorted(began) == ids


ABOVE = [
    SHORT.with_(
        name=level.replace(" ", "-"),
        body=f'isolation = "{level}"\n{SHORT.body}',
        dialects=SERVERS,
    )
    for level in ("repeatable read", "serializable")
]


HIDDEN = {
    ("postgres", "repeatable-read"),
    ("postgres", "serializable"),
    ("mariadb", "repeatable-read"),  # serializable, its SELECT locks what it reads
}
"""Where the ack does not find the row that was written behind its snapshot."""


def connecting(stand: Stand) -> Any:
    """A connection; on MariaDB one that sees a row that changed after its snapshot, as newer ones do."""
    connection = stand.connect()
    if stand.dialect == "mariadb":
        connection.cursor().execute("SET SESSION innodb_snapshot_isolation = ON")
    return connection


@pytest.mark.parametrize("held", [True, False], ids=["held", "twin"])
@on_cases(*ABOVE)
def test_an_extension_is_no_loss_above_read_committed(stand: Stand, held: bool) -> None:
    # it would write behind the snapshot that the ack reads
    stand.database.execute(HISTORY)
    module = leasing(stand.generated.module("jobs"), 1)
    stand.enqueue([{"payload": 1}])
    log, began = Log(), []

    def handle(delivery: Any, connection: Any) -> None:
        connection.cursor().execute("SELECT COUNT(*) FROM jobs")  # its snapshot
        write(connection, delivery)
        began.append(1)
        if len(began) == 1:
            time.sleep(1.8)  # the lease is a second

    worker = worker_of(
        "blocking",
        stand,
        handle,
        module=module,
        on_event=log,
        transactional=True,
        concurrency=1,
        connect=lambda: connecting(stand),
        retry=lambda *_: 0,
    )
    has = Bound.has
    no_hold = mock.patch.object(Bound, "has", lambda self, name: name != "hold" and has(self, name))
    with contextlib.nullcontext() if held else no_hold:
        OnThread(worker, until="empty").join(60)
    if held:
        assert stand.count == 0 and len(history(stand)) == len(began) == 1
        assert not log.of(EventKind.LOST) and not log.of(EventKind.FAILED)
    elif (stand.dialect, stand.case.name) in HIDDEN:
        assert log.of(EventKind.LOST, EventKind.FAILED, EventKind.CONFLICT)


# above that two rows' outcomes may be refused for one another's sake, and the lock is gone with them
@pytest.mark.parametrize("ending", ["returns", "raises"])
@on_cases(ABOVE[0])
def test_a_row_whose_lease_is_over_is_settled_before_its_lock_ends(
    stand: Stand, ending: str
) -> None:
    # rolled back first, the row would be the next claim's before its outcome is written
    module = leasing(stand.generated.module("jobs"), 1)
    ids = stand.enqueue([{"payload": n} for n in range(2)])
    log, other = Log(), Log()

    def handle(delivery: Any, connection: Any) -> Any:
        time.sleep(1.6)  # the lease is a second
        if ending == "raises":
            raise ValueError("no")
        return stand.module.DeadLetter("no")

    options: Any = {"module": module, "transactional": True, "retry": lambda *_: 3600}
    slow = worker_of("blocking", stand, handle, on_event=log, concurrency=2, **options)
    rival = worker_of("blocking", stand, lambda *given: None, on_event=other, **options)
    with working(slow):
        log.wait_for(EventKind.STARTED, 2)
        with working(rival):
            log.wait_for(EventKind.SETTLED, 2)
    assert sorted(log.ids(EventKind.SETTLED)) == ids and not other.of(EventKind.STARTED)
    assert not log.of(EventKind.LOST) and not log.of(EventKind.OVERDUE)
    assert len(stand.rows(dead=True)) == (2 if ending == "returns" else 0)


@on_cases(ABOVE[0])
def test_a_commit_without_an_answer_under_the_lock_is_no_loss(stand: Stand) -> None:
    # it counted: afterwards the row is not there, and nobody can tell that from a lease that was lost
    module = leasing(stand.generated.module("jobs"), 30)
    (id,) = stand.enqueue([{"payload": 1}])
    log = Log()
    worker = worker_of(
        "blocking",
        stand,
        lambda *given: stand.module.DeadLetter("no"),
        module=module,
        on_event=log,
        transactional=True,
        concurrency=1,
    )
    # the claim's COMMIT is the first
    with injected(Injector(stand.database, Strike("commit", 1, after=True))) as injector:
        OnThread(worker, until="empty").join(60)
    assert injector.struck and [row["id"] for row in stand.rows(dead=True)] == [id]
    assert log.ids(EventKind.UNKNOWN) == [id] and not log.of(EventKind.LOST)


@on_cases(ABOVE[0])
def test_a_row_that_cannot_be_extended_holds_up_no_claim(stand: Stand) -> None:
    module = leasing(stand.generated.module("jobs"), 1)
    stand.enqueue([{"payload": "long"}])
    log, go = Log(), threading.Event()
    waited: list[Any] = []
    first = lease_claiming.Claimer._first

    async def counted(self: Any, *waits: Any) -> None:
        waited.extend(wait for wait in waits if wait.__name__ == "sleep")
        await first(self, *waits)

    def handle(delivery: Any, connection: Any) -> None:
        if delivery.row.payload == "long":
            assert go.wait(30)

    worker = worker_of(
        "blocking", stand, handle, module=module, on_event=log, transactional=True, concurrency=2
    )
    with mock.patch.object(lease_claiming.Claimer, "_first", counted), working(worker):
        log.wait_for(EventKind.STARTED)
        time.sleep(1.3)  # its lease is over, and its row is locked
        stand.enqueue([{"payload": "quick"}])
        log.wait_for(EventKind.SETTLED)
        go.set()
        log.wait_for(EventKind.SETTLED, 2)
    assert not waited and not log.of(EventKind.LOST) and not log.of(EventKind.OVERDUE)
