"""One delivery of the row lock and advisory forms in a worker: its outcome, its text, its transaction."""

from __future__ import annotations

import contextlib
import dataclasses
import threading
from datetime import UTC, datetime, timedelta
from typing import Any
from unittest import mock

import pytest

from sqlclaimgen.runtime import ClaimError, EventKind
from sqlclaimgen.runtime.drivers import psycopg as psycopg_driver
from tests.conformance.harness import Stand, on_cases
from tests.worker.held.cases import ADVISORY, ROW_LOCK, SERVERS, is_advisory
from tests.worker.held.runs import prepare
from tests.worker.support.cases import JOBS
from tests.worker.support.running import Log, OnThread, worker_of, working

FACES = ["blocking", "asyncio"]
NARROW = [
    case.with_(
        name=f"{case.name}-narrow",
        body=case.body.replace('"last_error", type = "text"', '"last_error", type = "varchar(20)"'),
    )
    for case in (ROW_LOCK, ADVISORY.with_(dialects=SERVERS))
]
"""Tables whose error column holds 20 characters."""


def run_until_empty(worker: Any) -> None:
    """Run a worker of either face."""
    OnThread(worker, until="empty").join(60)


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize("transactional", [False, True], ids=["plain", "transactional"])
@on_cases(ROW_LOCK, ADVISORY)
def test_each_outcome_reaches_the_table(stand: Stand, face: str, transactional: bool) -> None:
    prepare(stand)
    names = ("nothing", "discard", "retry", "later", "dead", "raises")
    ids = dict(
        zip(names, stand.enqueue([{"payload": n, "account": n} for n in names]), strict=True)
    )
    module, log = stand.module, Log()

    def handle(delivery: Any, connection: Any = None) -> Any:
        if connection is not None:
            connection.cursor().execute(
                f"INSERT INTO history (job, attempt, pid) VALUES ({delivery.id}, {delivery.attempt}, 0)"
            )
        match delivery.row.payload:
            case "nothing":
                return None
            case "discard":
                return module.Discard()
            case "retry" if delivery.attempt == 1:
                return module.Retry("not yet")
            case "later":
                return module.RetryAfter(timedelta(hours=1), "tomorrow")
            case "dead":
                return module.DeadLetter("nobody wants it", "really")
            case "raises":
                raise ValueError("a text with a \x00 in it, and no end" + "." * 20_000)

    worker = worker_of(
        face, stand, handle, on_event=log, transactional=transactional, retry=lambda *_: 3600
    )
    if transactional:
        worker._handler = handle  # plain: it runs on the connection's thread
    run_until_empty(worker)
    rows = {row["id"]: row for row in stand.rows()}
    assert set(rows) == {ids["later"], ids["raises"]}, log.events
    for name in ("later", "raises"):
        assert rows[ids[name]]["attempt"] == 2
        assert rows[ids[name]]["run_after"] > datetime.now(UTC) + timedelta(minutes=50)
    assert "ValueError: a text with a \ufffd in it" in rows[ids["raises"]]["note"]
    (dead,) = stand.rows(dead=True)
    assert (dead["id"], dead["reason"], dead["error"]) == (ids["dead"], "nobody wants it", "really")
    outcomes = {(e.id, e.attempt): e.outcome for e in log.of(EventKind.SETTLED)}
    assert [outcomes[ids["retry"], n] for n in (1, 2)] == ["Retry", "Ack"]
    assert len(log.of(EventKind.FAILED)) == 1 and not log.of(EventKind.LOST)
    if transactional:
        # committed with an ack or a discard, rolled back with anything else
        history = stand.database.execute("SELECT job, attempt FROM history ORDER BY job")
        wanted = [(ids["nothing"], 1), (ids["discard"], 1), (ids["retry"], 2)]
        assert sorted(history) == sorted(wanted)


@pytest.mark.parametrize("transactional", [False, True], ids=["plain", "transactional"])
@on_cases(*NARROW)
def test_a_text_is_cut_to_its_column(stand: Stand, transactional: bool) -> None:
    log, (one, two) = Log(), stand.enqueue([{"payload": "raise"}, {"payload": "later"}])

    def handle(delivery: Any, *connection: Any) -> Any:
        if delivery.row.payload == "raise":
            raise ValueError("long " * 10)
        return stand.module.RetryAfter(timedelta(hours=1), "long " * 10)

    worker = worker_of(
        "blocking",
        stand,
        handle,
        on_event=log,
        transactional=transactional,
        retry=lambda *_: 3600,
    )
    run_until_empty(worker)
    assert [(r["id"], r["attempt"], r["note"]) for r in stand.rows()] == [
        (one, 2, "Traceback (most r..."),
        (two, 2, "long long long lo..."),
    ]
    assert sorted(log.deliveries) == [(one, 1), (two, 1)]
    assert len(log.of(EventKind.SETTLED)) == 2 and not log.of(EventKind.LOST, EventKind.UNSETTLED)


@pytest.mark.parametrize("text", ["costs 5 €", "long " * 4000], ids=["unknown", "cut"])
@on_cases(*(case.with_(dialects=("postgres",)) for case in (JOBS, ROW_LOCK, ADVISORY)))
def test_a_text_that_the_connection_cannot_encode(stand: Stand, text: str) -> None:
    """The attempt is counted, and the text is kept in characters that every encoding has."""
    log, (id,) = Log(), stand.enqueue([{"payload": "raise"}])
    worker = worker_of(
        "blocking",
        stand,
        lambda delivery: stand.module.RetryAfter(timedelta(hours=1), text),
        connect=lambda: stand.connect(client_encoding="LATIN1"),
        on_event=log,
    )
    run_until_empty(worker)
    (row,) = stand.rows()
    assert (row["id"], row["attempt"]) == (id, 2)
    cut = len(text) > 8000
    assert row["note"] == (text[:7997] + "..." if cut else "costs 5 ?")
    assert log.deliveries == [(id, 1)]
    assert not log.of(EventKind.DISCONNECTED, EventKind.UNSETTLED, EventKind.LOST)


REFUSING = {
    "postgres": """
        CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN RAISE EXCEPTION 'no'; END $$;
        CREATE TRIGGER refuse BEFORE DELETE ON jobs FOR EACH ROW EXECUTE PROCEDURE refuse();
    """,
    "mysql": "CREATE TRIGGER refuse BEFORE DELETE ON jobs FOR EACH ROW"
    " SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no'",
    "sqlite": "CREATE TRIGGER refuse BEFORE DELETE ON jobs BEGIN SELECT RAISE(ABORT, 'no'); END",
}
REFUSING["mariadb"] = REFUSING["mysql"]


@on_cases(ROW_LOCK, ADVISORY)
def test_an_outcome_that_is_refused_for_ever_is_tried_no_faster_than_the_poll(stand: Stand) -> None:
    stand.database.execute_script(REFUSING[stand.dialect])
    stand.enqueue([{}])
    log = Log()
    worker = worker_of(
        "blocking", stand, lambda d: None, on_event=log, concurrency=2, poll_interval=60.0
    )
    with working(worker):
        log.wait_for(EventKind.UNSETTLED)
        # at most one failure for each slot, then a wait of the poll interval
        with contextlib.suppress(TimeoutError):
            log.wait_for(EventKind.CLAIMED, 3, timeout=0.7)
    assert len(log.of(EventKind.CLAIMED)) <= 2, log.events
    assert stand.count == 1


def choosy(stand: Stand, *bad: int) -> Any:
    """The module with a Row that takes no row of these ids."""
    module = stand.generated.module("jobs")
    row = module.QUEUE.row

    def made(**fields: Any) -> Any:
        if fields["id"] in bad:
            raise ValueError("it does not decode")
        return row(**fields)

    module.QUEUE = dataclasses.replace(module.QUEUE, row=made)
    return module


@pytest.mark.parametrize("policy", ["keep", "retry", "dead_letter"])
@on_cases(ROW_LOCK, ADVISORY)
def test_a_row_that_does_not_decode(stand: Stand, policy: str) -> None:
    log = Log()
    ids = stand.enqueue([{"account": "x"}, {"account": "y", "payload": 1}, {"account": "z"}])
    bad = ids[0]
    stand.database.execute(f"UPDATE jobs SET attempt = 1, payload = NULL WHERE id = {bad}")
    module = choosy(stand, bad)
    worker = worker_of(
        "blocking",
        stand,
        lambda d: None,
        module=module,
        on_event=log,
        on_invalid=policy,
        concurrency=2,
        max_backoff=60.0,
        retry=lambda *_: 3600,
    )
    run_until_empty(worker)
    assert sorted(log.ids(EventKind.SETTLED)) == sorted(ids if policy != "keep" else ids[1:])
    assert log.ids(EventKind.FAILED) == [bad]
    dead = [(r["id"], r["reason"]) for r in stand.rows(dead=True)]
    assert dead == ([(bad, "invalid")] if policy == "dead_letter" else [])
    left = {r["id"]: r["attempt"] for r in stand.rows()}
    assert left == ({} if policy == "dead_letter" else {bad: 2 if policy == "retry" else 1})


@pytest.mark.parametrize("slots", [1, 2])
@on_cases(ROW_LOCK, ADVISORY)
def test_rows_that_are_kept_leave_the_slots_to_the_others(stand: Stand, slots: int) -> None:
    log = Log()
    bad = stand.enqueue([{"account": f"bad {n}"} for n in range(3)])
    good = stand.enqueue([{"account": f"good {n}"} for n in range(3)])
    module = choosy(stand, *bad)
    worker = worker_of(
        "blocking",
        stand,
        lambda d: None,
        module=module,
        on_event=log,
        on_invalid="keep",
        concurrency=slots,
        max_backoff=60.0,
        retry=lambda *_: 3600,
    )
    run_until_empty(worker)
    assert sorted(log.ids(EventKind.SETTLED)) == sorted(good)
    assert sorted(log.ids(EventKind.FAILED)) == sorted(bad)
    assert {r["id"]: r["attempt"] for r in stand.rows()} == dict.fromkeys(bad, 1)


@on_cases(ROW_LOCK, ADVISORY)
def test_the_handlers_connection_refuses_to_end_its_transaction(stand: Stand) -> None:
    prepare(stand)
    names = ("commit", "rollback", "close", "sql")
    ids = stand.enqueue([{"payload": name, "account": name} for name in names])
    log, refused = Log(), []

    def handle(delivery: Any, connection: Any) -> None:
        what = delivery.row.payload
        connection.cursor().execute(
            f"INSERT INTO history (job, attempt, pid) VALUES ({delivery.id}, 1, 0)"
        )
        try:
            connection.cursor().execute("COMMIT") if what == "sql" else getattr(connection, what)()
        except Exception as error:
            refused.append((what, type(error).__name__))
            raise

    worker = worker_of(
        "blocking", stand, handle, on_event=log, transactional=True, retry=lambda *_: 3600
    )
    worker_stops_after(worker, log, len(names))
    refusals = dict(refused)
    assert {"commit", "rollback"} <= set(refusals)
    # a COMMIT in SQL cannot be refused everywhere, but it is found out and no ack
    assert stand.count == len(ids)
    settled = {(e.id, e.outcome) for e in log.of(EventKind.SETTLED)}
    assert not any(outcome == "Ack" for _, outcome in settled), log.events
    committed = {row[0] for row in stand.database.execute("SELECT job FROM history")}
    assert committed <= {ids[3]}


@pytest.mark.parametrize("check", [True, False], ids=["checked", "unchecked"])
@on_cases(ROW_LOCK, ADVISORY, JOBS)
def test_an_async_handler_is_given_no_blocking_connection(stand: Stand, check: bool) -> None:
    stand.enqueue([{}])
    before, log = stand.rows(), Log()
    handled: list[Any] = []
    options: Any = {"on_event": log, "transactional": True, "check": check}
    worker = worker_of("asyncio", stand, lambda *given: handled.append(given), **options)
    with pytest.raises(ClaimError, match="needs a connection of asyncio, and `connect` gave a "):
        OnThread(worker).join(30)
    # no delivery is spent on it, nothing is tried again, no connection is left
    assert stand.rows() == before and handled == []
    assert [event.kind for event in log.events] == [EventKind.STOPPED], log.events
    stand.database.wait_until_idle()
    worker = worker_of("asyncio", stand, lambda *given: None, **options)
    worker._handler = lambda *given: handled.append(given)
    run_until_empty(worker)
    assert len(handled) == 1 and stand.count == 0


def worker_stops_after(worker: Any, log: Log, number: int) -> None:
    """Run a worker until that many deliveries have failed or were lost, and have ended."""
    with working(worker):
        for n in range(1, number + 1):
            log.wait_for(EventKind.FAILED, n)


@pytest.mark.parametrize("face", ["blocking", "native"])
@on_cases(ROW_LOCK.with_(dialects=["postgres"]), ADVISORY.with_(dialects=["postgres"]))
def test_lr_03_an_aborted_transaction_is_a_failure_that_counts(stand: Stand, face: str) -> None:
    (id,) = stand.enqueue([{}])
    log = Log()

    def handle(delivery: Any, connection: Any) -> None:
        with contextlib.suppress(Exception):
            connection.execute("SELECT 1 / 0")

    async def handle_async(delivery: Any, connection: Any) -> None:
        with contextlib.suppress(Exception):
            await connection.execute("SELECT 1 / 0")

    worker = worker_of(face, stand, handle, on_event=log, transactional=True, retry=lambda *_: 3600)
    if face == "native":
        worker._handler = handle_async
    run_until_empty(worker)
    assert log.deliveries == [(id, 1)] and log.ids(EventKind.FAILED) == [id]
    (row,) = stand.rows()
    assert row["attempt"] == 2 and "aborted" in row["note"]
    assert not log.of(EventKind.LOST)


@on_cases(ROW_LOCK, ADVISORY)
def test_a_handler_that_removes_its_own_row_has_failed(stand: Stand) -> None:
    # it was taken for lost, again and again, with no attempt counted
    (id,) = stand.enqueue([{}])
    log = Log()

    def handle(delivery: Any, connection: Any) -> None:
        connection.cursor().execute(f"DELETE FROM jobs WHERE id = {delivery.id}")

    worker = worker_of(
        "blocking", stand, handle, on_event=log, transactional=True, retry=lambda *_: 0
    )
    run_until_empty(worker)
    assert [attempt for _, attempt in log.deliveries] == [1, 2, 3, 4, 5]
    assert not log.of(EventKind.LOST) and len(log.of(EventKind.FAILED)) == 5
    assert [(row["id"], row["reason"]) for row in stand.rows(dead=True)] == [(id, "attempts")]


DEFERRED = (
    "CREATE TABLE effects (id int, CONSTRAINT once UNIQUE (id) DEFERRABLE INITIALLY DEFERRED)"
)
TWICE = "INSERT INTO effects VALUES (1), (1)"


def write_twice(delivery: Any, connection: Any) -> None:
    connection.execute(TWICE)


@pytest.mark.parametrize("face", ["blocking", "native"])
@on_cases(ROW_LOCK.with_(dialects=["postgres"]), ADVISORY.with_(dialects=["postgres"]))
def test_writes_that_a_commit_would_refuse_are_a_failure_that_counts(
    stand: Stand, face: str
) -> None:
    stand.database.execute(DEFERRED)
    (id,) = stand.enqueue([{}])
    log = Log()

    async def handle_async(delivery: Any, connection: Any) -> None:
        await connection.execute(TWICE)

    worker = worker_of(
        face,
        stand,
        write_twice,
        on_event=log,
        transactional=True,
        retry=lambda *_: 3600,
    )
    if face == "native":
        worker._handler = handle_async
    run_until_empty(worker)
    assert log.deliveries == [(id, 1)] and log.ids(EventKind.FAILED) == [id]
    assert [e.outcome for e in log.of(EventKind.SETTLED)] == ["RetryAfter"]
    (row,) = stand.rows()
    assert row["attempt"] == 2 and "once" in row["note"] and not log.of(EventKind.LOST)
    assert stand.database.value("SELECT COUNT(*) FROM effects") == 0


@on_cases(ROW_LOCK.with_(dialects=["postgres"]), ADVISORY.with_(dialects=["postgres"]))
def test_writes_that_only_the_commit_refuses(stand: Stand) -> None:
    # the key is held still, and the failure counts; a row lock is gone, and nobody counts
    stand.database.execute(DEFERRED)
    (id,) = stand.enqueue([{}])
    log = Log()
    worker = worker_of(
        "blocking",
        stand,
        write_twice,
        on_event=log,
        transactional=True,
        retry=lambda *_: 3600,
    )
    with mock.patch.object(psycopg_driver, "CHECK_CONSTRAINTS", "SELECT 1"), working(worker):
        if is_advisory(stand.case):
            log.wait_for(EventKind.SETTLED, 1)
        else:
            log.wait_for(EventKind.UNSETTLED, 2)
    (row,) = stand.rows()
    assert row["attempt"] == (2 if is_advisory(stand.case) else 1)
    assert id == row["id"] and not log.of(EventKind.LOST)


@on_cases(ROW_LOCK, ADVISORY)
def test_rows_of_one_partition_key_run_in_order(stand: Stand) -> None:
    n = 24
    ids = stand.enqueue(
        [{"account": str(k), "customer": ("acme", "other", None)[k % 3]} for k in range(n)]
    )
    begun: list[Any] = []
    at_work: set[Any] = set()
    together: list[Any] = []
    lock = threading.Lock()

    def handle(delivery: Any) -> None:
        customer = delivery.row.customer
        with lock:
            begun.append((customer, delivery.id))
            if customer is not None and customer in at_work:
                together.append(customer)
            at_work.add(customer)
        with lock:
            at_work.discard(customer)

    run_until_empty(worker_of("blocking", stand, handle, concurrency=6))
    assert not together and len(begun) == n
    for customer in ("acme", "other"):
        mine = [id for one, id in begun if one == customer]
        assert mine == sorted(mine)
    assert sorted(id for _, id in begun) == sorted(ids)


@on_cases(ROW_LOCK.with_(dialects=["postgres"]))
def test_a_handler_that_wants_the_process_to_end(stand: Stand) -> None:
    (id,) = stand.enqueue([{}])

    def handle(delivery: Any) -> None:
        raise SystemExit(3)

    worker = worker_of("blocking", stand, handle)
    running = OnThread(worker)
    with pytest.raises(SystemExit) as ended:
        running.join(30)
    assert ended.value.code == 3
    assert stand.row(id) is not None
