"""What a worker of these forms takes from the server, and what it does when a connection is gone."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from typing import Any
from unittest import mock

import pytest

from sqlclaimgen.runtime import AsyncWorker, EventKind
from sqlclaimgen.runtime.worker import held_engine, held_rows
from sqlclaimgen.runtime.worker.opening import DriverSession
from sqlclaimgen.statements.prices import price
from tests.conformance.harness import Stand, on_cases
from tests.worker.held.cases import ADVISORY, ROW_LOCK, SERVERS, is_advisory
from tests.worker.support.running import QUICK, Log, OnThread, worker_of, working

ON_SERVERS = (ROW_LOCK, ADVISORY.with_(dialects=SERVERS))


@pytest.mark.parametrize("handlers", [1, 8, 64])
@on_cases(*ON_SERVERS)
def test_one_connection_for_each_handler(stand: Stand, handlers: int) -> None:
    # counted on the server while every handler is at work, and again and again while rows are settled
    stand.fill([{"id": n, "account": str(n)} for n in range(1, 2 * handlers + 1)])
    all_here, counted, log = threading.Barrier(handlers + 1), threading.Event(), Log()

    def handle(delivery: Any) -> None:
        if not counted.is_set():
            all_here.wait(60)
            counted.wait(60)

    with working(worker_of("blocking", stand, handle, concurrency=handlers, on_event=log)):
        all_here.wait(60)
        most = len(stand.database.sessions())
        counted.set()
        while stand.count:
            most = max(most, len(stand.database.sessions()))
    assert most == price(stand.table, concurrency=handlers).worker == handlers
    assert len(log.of(EventKind.SETTLED)) == 2 * handlers and not log.of(EventKind.LOST)
    stand.database.wait_until_idle()


TRANSACTIONS = {
    "postgres": "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database()"
    " AND pid <> pg_backend_pid() AND state LIKE 'idle in transaction%'",
    "mysql": "SELECT COUNT(*) FROM information_schema.innodb_trx",
    "mariadb": "SELECT COUNT(*) FROM information_schema.innodb_trx",
}


@on_cases(*ON_SERVERS)
def test_an_empty_table_is_asked_once_a_poll_and_holds_no_transaction(stand: Stand) -> None:
    log, claims = Log(), []
    form = held_engine.HeldEngine._claim

    async def counted(self: Any, *arguments: Any) -> Any:
        claims.append(1)
        return await form(self, *arguments)

    worker = worker_of(
        "blocking", stand, lambda d: None, on_event=log, concurrency=8, poll_interval=0.2
    )
    with mock.patch.object(held_engine.HeldEngine, "_claim", counted), working(worker):
        log.wait_for(EventKind.WAITED, 1)
        before = len(claims), len(log.of(EventKind.WAITED))
        log.wait_for(EventKind.WAITED, before[1] + 3)
        after = len(claims), len(log.of(EventKind.WAITED))
        # a look may meet a claim, but a worker that waits in a transaction shows every time
        deadline = time.monotonic() + 20
        while stand.database.value(TRANSACTIONS[stand.dialect]):
            assert time.monotonic() < deadline
            time.sleep(0.15)  # InnoDB renews the list when nobody has read it for 0.1 seconds
    # eight slots, and one claim for each wait
    assert after[0] - before[0] <= after[1] - before[1] + 1


@on_cases(*ON_SERVERS)
def test_a_dead_connection_is_a_lost_row_and_never_papered_over(stand: Stand) -> None:
    (id,) = stand.enqueue([{}])
    log, lost, again = Log(), threading.Event(), threading.Event()
    connections: list[Any] = []

    def handle(delivery: Any) -> Any:
        connections.append(delivery.connection)
        if len(connections) > 1:
            again.set()
            return None
        stand.database.kill_session(stand.database.session_id(delivery.connection))
        while not delivery.lost:
            lost.wait(0.01)
        # the row is another's now: it runs again beside this handler
        again.wait(30)
        return stand.module.DeadLetter("what a lost delivery says counts for nothing")

    with mock.patch.object(held_rows, "CHECK_EVERY", 0.05):
        worker = worker_of("blocking", stand, handle, on_event=log, concurrency=2)
        OnThread(worker, until="empty").join(60)
    second = 2 if is_advisory(stand.case) else 1
    assert log.deliveries == [(id, 1), (id, second)]
    assert log.ids(EventKind.LOST) == [id], log.events
    assert [e.outcome for e in log.of(EventKind.SETTLED)] == ["Ack"]
    assert stand.count == 0 and stand.rows(dead=True) == []
    assert len(set(map(_number, connections))) == 2


def _number(connection: Any) -> int:
    return id(connection)


@on_cases(*ON_SERVERS)
def test_without_the_look_nobody_would_hear_of_it(stand: Stand) -> None:
    stand.enqueue([{}])
    log = Log()
    heard: list[bool] = []

    def handle(delivery: Any) -> None:
        if not heard:
            stand.database.kill_session(stand.database.session_id(delivery.connection))
            with contextlib.suppress(TimeoutError):
                log.wait_for(EventKind.LOST, timeout=0.5)
            heard.append(delivery.lost)

    assert held_rows.CHECK_EVERY == 10.0
    worker = worker_of("blocking", stand, handle, on_event=log, concurrency=1)
    OnThread(worker, until="empty").join(60)
    assert heard == [False]
    # but the settlement finds out, and the row ran again
    assert len(log.of(EventKind.LOST)) == 1 and stand.count == 0


@pytest.mark.parametrize("look", [True, False], ids=["look", "question"])
@on_cases(*ON_SERVERS)
def test_a_look_at_the_socket_finds_a_killed_session(stand: Stand, look: bool) -> None:
    # a question takes ten seconds to come, and the next worker has the row meanwhile
    (id,) = stand.enqueue([{}])
    log, questions, looks = Log(), list[None](), list[bool]()
    ask: Any = held_rows.HeldRows._ask
    gone: Any = DriverSession.gone.fget  # type: ignore[attr-defined]

    async def asked(*arguments: Any) -> None:
        questions.append(None)
        await ask(*arguments)

    def looked(session: DriverSession) -> bool:
        looks.append(look and gone(session))
        return looks[-1]

    def handle(delivery: Any) -> None:
        if len(log.deliveries) == 1:
            stand.database.kill_session(stand.database.session_id(delivery.connection))
            log.wait_for(EventKind.LOST)

    every: dict[str, Any] = {"LOOK_EVERY": 0.02} if look else {"CHECK_EVERY": 0.1}
    with (
        mock.patch.multiple(held_rows, **every),
        mock.patch.object(held_rows.HeldRows, "_ask", asked),
        mock.patch.object(DriverSession, "gone", property(looked)),
    ):
        OnThread(worker_of("blocking", stand, handle, on_event=log), until="empty").join(60)
    assert log.ids(EventKind.LOST) == [id] and stand.count == 0
    if look:
        assert not questions
        assert looks.count(True) == 1  # what it sees ends the looks
    else:
        assert questions and not any(looks)


@pytest.mark.parametrize("look", [0.05, 3600.0], ids=["looked-at", "twin"])
@on_cases(*ON_SERVERS)
def test_a_transactional_handler_hears_that_its_connection_is_dead(
    stand: Stand, look: float
) -> None:
    # it may be anywhere in a statement of its own: the server is not asked, the socket is looked at
    (id,) = stand.enqueue([{}])
    log = Log()
    heard: list[bool] = []

    def handle(delivery: Any, connection: Any) -> None:
        if not heard:
            connection.cursor().execute("SELECT 1")
            stand.database.kill_session(stand.database.session_id(connection))
            with contextlib.suppress(TimeoutError):
                log.wait_for(EventKind.LOST, timeout=20 if look < 1 else 0.5)
            heard.append(delivery.lost)

    with mock.patch.object(held_rows, "CHECK_EVERY", look):
        worker = worker_of(
            "blocking", stand, handle, on_event=log, concurrency=1, transactional=True
        )
        OnThread(worker, until="empty").join(60)
    assert heard == [look < 1]
    second = 2 if is_advisory(stand.case) else 1
    assert log.deliveries == [(id, 1), (id, second)]
    assert log.ids(EventKind.LOST) == [id], log.events
    assert [e.outcome for e in log.of(EventKind.SETTLED)] == ["Ack"] and stand.count == 0


@pytest.mark.parametrize("transactional", [False, True], ids=["plain", "transactional"])
@on_cases(ROW_LOCK.with_(dialects=["postgres"]), ADVISORY.with_(dialects=["postgres"]))
def test_the_task_of_a_lost_row_is_cancelled(stand: Stand, transactional: bool) -> None:
    stand.enqueue([{}])
    log = Log()
    cancelled: list[bool] = []

    started: list[Any] = []

    async def handle(delivery: Any, *connection: Any) -> None:
        started.append(delivery)
        if len(started) > 1:
            return  # the row is due again at once, also before the first task is cancelled
        stand.database.kill_session(delivery.connection.info.backend_pid)
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.append(delivery.lost)
            raise

    worker: Any = AsyncWorker(
        stand.module.QUEUE,
        handle,
        connect=stand.database.connect_async,  # type: ignore[attr-defined]
        on_event=log,
        transactional=transactional,
        **{**QUICK, "concurrency": 2},
    )
    with mock.patch.object(held_rows, "CHECK_EVERY", 0.05):
        OnThread(worker, until="empty").join(60)
    assert cancelled == [True] and stand.count == 0
    assert len(log.of(EventKind.LOST)) == 1 and not log.of(EventKind.FAILED)


@on_cases(ADVISORY.with_(dialects=["sqlite"]))
def test_a_connection_that_belongs_to_its_thread(stand: Stand) -> None:
    ids = stand.enqueue([{"account": str(n)} for n in range(20)])
    log, threads = Log(), set()

    def handle(delivery: Any, connection: Any) -> None:
        threads.add(threading.get_ident())
        connection.execute("SELECT COUNT(*) FROM jobs").fetchone()

    worker = worker_of(
        "blocking",
        stand,
        handle,
        on_event=log,
        transactional=True,
        connect=lambda: stand.connect(check_same_thread=True),
    )
    OnThread(worker, until="empty").join(60)
    assert sorted(log.ids(EventKind.SETTLED)) == sorted(ids) and not log.of(EventKind.FAILED)
    assert 1 <= len(threads) <= 4


@pytest.mark.parametrize("face", ["blocking", "asyncio"])
@on_cases(*ON_SERVERS)
def test_connections_are_opened_when_they_are_needed(stand: Stand, face: str) -> None:
    log, opened = Log(), []

    def connect() -> Any:
        opened.append(1)
        return stand.connect()

    worker = worker_of(
        face, stand, lambda d: None, on_event=log, concurrency=100, connect=connect, check=False
    )
    with working(worker):
        for number in range(1, 9):
            stand.enqueue([{"account": str(number)}])
            log.wait_for(EventKind.SETTLED, number)
    # one at a time: one has the row, and one looks for the next
    assert len(opened) <= 2


@pytest.mark.parametrize("face", ["blocking", "native"])
@on_cases(ROW_LOCK.with_(dialects=["postgres"]))
def test_a_handler_that_waits_for_its_own_row_is_told_of(stand: Stand, face: str) -> None:
    """It writes the row over another connection, as an ORM's `save()` does, and would wait for ever."""
    own, other = stand.enqueue([{"payload": "own"}, {"payload": "other"}])
    log = Log()
    failed: list[str] = []

    def handle(delivery: Any) -> None:
        if delivery.row.payload == "other":
            # a handler that runs as long and blocks nobody
            log.wait_for(EventKind.WARNED)
            return
        connection = stand.connect()
        try:
            with connection.cursor() as cursor:
                threading.Thread(target=ended_when_told, args=(connection,)).start()
                cursor.execute(f"UPDATE jobs SET note = 'mine' WHERE id = {own}")
        except Exception as error:
            failed.append(type(error).__name__)
        finally:
            connection.close()

    def ended_when_told(connection: Any) -> None:
        log.wait_for(EventKind.WARNED)
        looks = len(asked)
        while len(asked) < looks + 3:
            time.sleep(0.01)  # it is told once, and the questions go on
        connection.cancel()

    asked: list[None] = []
    ping = held_rows.ping

    def counted() -> Any:
        asked.append(None)
        return ping()

    with (
        mock.patch.object(held_rows, "CHECK_EVERY", 0.05),
        mock.patch.object(held_rows, "ping", counted),
    ):
        worker = worker_of(face, stand, handle, on_event=log, concurrency=2)
        OnThread(worker, until="empty").join(60)
    assert failed == ["QueryCanceled"]
    (warning,) = log.of(EventKind.WARNED)
    assert (warning.id, warning.attempt) == (own, 1)
    assert "waits for itself" in str(warning.error)
    assert sorted(log.ids(EventKind.SETTLED)) == [own, other] and not log.of(EventKind.LOST)
    assert stand.count == 0


@on_cases(ROW_LOCK.with_(dialects=["postgres"]))
def test_a_login_that_may_not_see_the_locks_keeps_its_row(stand: Stand) -> None:
    stand.enqueue([{}])
    log = Log()
    questions: list[str] = []
    ask = held_rows.waiting

    def asked(query: str) -> Any:
        questions.append(query)
        return ask(query.replace("pg_locks", "no_such_locks"))

    def handle(delivery: Any) -> None:
        while len(questions) < 3:
            time.sleep(0.01)

    with (
        mock.patch.object(held_rows, "CHECK_EVERY", 0.05),
        mock.patch.object(held_rows, "waiting", asked),
    ):
        OnThread(worker_of("blocking", stand, handle, on_event=log), until="empty").join(60)
    assert len(log.of(EventKind.SETTLED)) == 1
    assert not log.of(EventKind.LOST, EventKind.WARNED, EventKind.DISCONNECTED)
    assert stand.count == 0
