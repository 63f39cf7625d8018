"""Help for users' tests: memory, work, and a clock that the test moves."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from sqlclaimgen.runtime import (
    Ack,
    ClaimError,
    DeadLetter,
    Discard,
    LeaseLost,
    Retry,
    RetryAfter,
    RowInvalid,
    UnsupportedServer,
    by_hand,
    transaction,
)
from sqlclaimgen.runtime.protocols import fifo
from sqlclaimgen.runtime.testing import MOST, Clock, memory, work
from tests.support.generated import Generated, generate

TABLES = """
format = 1

[table.jobs]
dialects = ["sqlite"]
lease = "30s"
max_attempts = 3
dead_letter = { table = "jobs_dead" }
retry = { backoff = "exponential", base = "10s", max = "1h" }
claims = ["group", "table"]
[table.jobs.columns]
id = { role = "id", type = "bigint", generated = true }
queue = { role = "group", type = "text" }
due = { role = "retry_after" }
attempt = { role = "attempt" }
locked_until = { role = "locked_until" }
note = { role = "last_error", type = "text", null = true }
payload = { role = "payload", type = "json" }

[table.keyed]
dialects = ["sqlite"]
advisory_lock = "account-{account}"
[table.keyed.columns]
id = { role = "id", type = "bigint", generated = true }
due = { role = "retry_after" }
attempt = { role = "attempt" }
account = { type = "int" }
payload = { role = "payload", type = "json", null = true }

[table.ordered]
dialects = ["sqlite"]
lease = "30s"
claims = ["group", "table"]
[table.ordered.columns]
id = { role = "id", type = "bigint", generated = true }
queue = { role = "group", type = "text", fifo = true }
due = { role = "retry_after" }
locked_until = { role = "locked_until" }

[table.elsewhere]
schema = "app"
dialects = ["sqlite"]
[table.elsewhere.columns]
id = { role = "id", type = "bigint", generated = true }
locked_until = { role = "locked_until" }
size = { type = "int" }

[table.served]
dialects = ["postgres"]
[table.served.columns]
id = { role = "id", type = "bigint", generated = true }
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Generated:
    return generate(TABLES, tmp_path_factory.mktemp("made"))


def _ddl(made: Generated, key: str) -> Path:
    return made.folder / "sql" / "sqlite" / f"{key}.ddl.sql"


@pytest.fixture
def jobs(made: Generated) -> Any:
    return made.module("jobs")


@pytest.fixture
def conn(made: Generated) -> Iterator[sqlite3.Connection]:
    connection = memory(_ddl(made, "jobs"), str(_ddl(made, "keyed")))
    yield connection
    connection.close()


def _rows(conn: sqlite3.Connection, table: str = "jobs") -> int:
    return int(conn.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0])


def _enqueue(jobs: Any, conn: sqlite3.Connection, *payloads: Any, queue: str = "a") -> list[int]:
    return list(
        jobs.enqueue_many(conn, [jobs.New(queue=queue, payload=payload) for payload in payloads])
    )


def test_it_works_until_nothing_is_due(jobs: Any, conn: sqlite3.Connection) -> None:
    ids = _enqueue(jobs, conn, 1, 2, 3)
    seen: list[Any] = []
    done = work(jobs.QUEUE, lambda delivery: seen.append(delivery.row.payload), conn)
    assert seen == [1, 2, 3]
    assert [one.delivery.id for one in done] == ids
    assert [one.outcome for one in done] == [Ack()] * 3
    assert _rows(conn) == 0
    assert work(jobs.QUEUE, lambda delivery: None, conn) == []


def test_groups_in_turn(jobs: Any, conn: sqlite3.Connection) -> None:
    _enqueue(jobs, conn, 1, 2, queue="a")
    _enqueue(jobs, conn, 3, queue="b")
    _enqueue(jobs, conn, 4, queue="c")
    done = work(jobs.QUEUE, lambda delivery: None, conn, groups=["a", "b"])
    assert sorted(one.delivery.row.payload for one in done) == [1, 2, 3]
    assert _rows(conn) == 1


@pytest.mark.parametrize("goes_on", [True, False], ids=["goes on", "twin"])
def test_groups_behind_more_waiting_ones_than_a_claim_looks_at(
    made: Generated, goes_on: bool
) -> None:
    ordered = made.module("ordered")
    conn = memory(_ddl(made, "ordered"))
    new = ordered.New
    ordered.enqueue_many(conn, [new(queue=f"a{n:02}") for n in range(20)], delay=timedelta(hours=1))
    ids = ordered.enqueue_many(conn, [new(queue="z1"), new(queue="z2")])
    plain = by_hand.claim

    def claim_without_more(*arguments: Any) -> Any:
        claim = plain(*arguments)
        claim.more = False
        return claim

    twin = mock.patch.object(by_hand, "claim", claim_without_more)
    with mock.patch.object(fifo, "BUDGET", 8), contextlib.nullcontext() if goes_on else twin:
        done = work(ordered.QUEUE, lambda delivery: None, conn)
    assert [one.delivery.id for one in done] == (ids if goes_on else [])


def test_every_outcome(jobs: Any, conn: sqlite3.Connection) -> None:
    outcomes = [Discard(), DeadLetter("no use"), RetryAfter(timedelta(hours=1)), None]
    _enqueue(jobs, conn, *range(4))
    done = work(jobs.QUEUE, lambda delivery: outcomes[delivery.row.payload], conn)
    assert [one.outcome for one in done] == [*outcomes[:3], Ack()]
    assert (_rows(conn), _rows(conn, "jobs_dead")) == (1, 1)


def test_failures_follow_the_tables_policy_on_the_tests_clock(
    jobs: Any, conn: sqlite3.Connection
) -> None:
    clock = Clock()

    def broken(delivery: Any) -> None:
        raise RuntimeError(f"attempt {delivery.attempt}")

    with clock.of(jobs):
        _enqueue(jobs, conn, 1)
        for attempt, delay in ((1, 10), (2, 20)):
            [one] = work(jobs.QUEUE, broken, conn)
            assert isinstance(one.outcome, RetryAfter)
            assert one.outcome.delay == timedelta(seconds=delay)
            assert str(one.error) == f"attempt {attempt}"
            clock.advance(seconds=delay - 1)
            assert work(jobs.QUEUE, broken, conn) == []
            clock.advance(timedelta(seconds=1))
        [last] = work(jobs.QUEUE, broken, conn)
        assert "attempt 3" in str(last.error)
    assert (_rows(conn), _rows(conn, "jobs_dead")) == (0, 1)


def test_a_policy_of_the_callers(jobs: Any, conn: sqlite3.Connection) -> None:
    _enqueue(jobs, conn, 1)
    [one] = work(jobs.QUEUE, lambda delivery: 1 / 0, conn, retry=lambda attempt, error: 7)
    assert isinstance(one.outcome, RetryAfter)
    assert one.outcome.delay == timedelta(seconds=7)


def test_a_wrong_outcome_is_a_failure(jobs: Any, conn: sqlite3.Connection) -> None:
    _enqueue(jobs, conn, 1)
    [one] = work(jobs.QUEUE, lambda delivery: "done", conn)
    assert isinstance(one.error, TypeError)


def test_raising_again(jobs: Any, conn: sqlite3.Connection) -> None:
    _enqueue(jobs, conn, 1, 2)

    def fails(delivery: Any) -> None:
        assert delivery.row.payload == 2

    with pytest.raises(AssertionError):
        work(jobs.QUEUE, fails, conn, reraise=True)
    # its row was settled first: it waits for its retry, and the other one is as it was
    [other] = work(jobs.QUEUE, fails, conn)
    assert other.outcome == Ack()


def test_what_is_no_exception_passes_through_and_gives_the_row_back(
    jobs: Any, conn: sqlite3.Connection
) -> None:
    _enqueue(jobs, conn, 1)

    def stopped(delivery: Any) -> None:
        pytest.fail("the framework's own")

    with pytest.raises(pytest.fail.Exception):
        work(jobs.QUEUE, stopped, conn)
    [one] = work(jobs.QUEUE, lambda delivery: None, conn)
    assert one.outcome == Ack()


def test_a_row_that_does_not_decode(jobs: Any, conn: sqlite3.Connection) -> None:
    _enqueue(jobs, conn, 1)
    conn.execute("PRAGMA ignore_check_constraints = ON")
    conn.execute("UPDATE jobs SET payload = 'no json'")
    seen: list[Any] = []
    [kept] = work(jobs.QUEUE, seen.append, conn, on_invalid="keep")
    assert (kept.outcome, type(kept.error)) == (None, RowInvalid)
    assert _rows(conn) == 1
    assert work(jobs.QUEUE, seen.append, conn) == []
    conn.execute("UPDATE jobs SET locked_until = NULL")
    [dead] = work(jobs.QUEUE, seen.append, conn, on_invalid="dead_letter")
    assert isinstance(dead.outcome, DeadLetter)
    assert seen == []


def test_rows_that_are_due_without_end(made: Generated, jobs: Any) -> None:
    keyed = made.module("keyed")
    conn = memory(_ddl(made, "keyed"))
    keyed.enqueue(conn, keyed.New(account=1))
    with pytest.raises(ClaimError, match=f"still due after {MOST} deliveries"):
        work(keyed.QUEUE, lambda delivery: Retry(), conn)


def test_an_asyncio_handler(jobs: Any, conn: sqlite3.Connection) -> None:
    _enqueue(jobs, conn, 1)

    async def handle(delivery: Any) -> Any:
        return jobs.Discard()

    [one] = work(jobs.QUEUE, handle, conn)
    assert one.outcome == Discard()


def test_a_transactional_handler(jobs: Any, conn: sqlite3.Connection) -> None:
    conn.execute("CREATE TABLE effects (payload)")
    _enqueue(jobs, conn, 1, 2, 3)

    def handle(delivery: Any, connection: Any) -> Any:
        connection.execute("INSERT INTO effects VALUES (?)", [delivery.row.payload])
        if delivery.row.payload == 2:
            return jobs.RetryAfter(timedelta(hours=1))
        if delivery.row.payload == 3:
            raise RuntimeError
        return None

    done = work(jobs.QUEUE, handle, conn, transactional=True)
    assert [type(one.outcome) for one in done] == [Ack, RetryAfter, RetryAfter]
    assert conn.execute("SELECT payload FROM effects").fetchall() == [(1,)]
    assert _rows(conn) == 2


def test_a_plain_handler_that_settles_by_itself(jobs: Any, conn: sqlite3.Connection) -> None:
    _enqueue(jobs, conn, 1, 2)

    def handle(delivery: Any) -> None:
        with transaction(conn):
            delivery.ack(conn)

    assert len(work(jobs.QUEUE, handle, conn)) == 2
    assert _rows(conn) == 0


def test_a_transactional_handler_returns_its_outcome(jobs: Any, conn: sqlite3.Connection) -> None:
    conn.execute("CREATE TABLE effects (payload)")
    _enqueue(jobs, conn, 1)

    def handle(delivery: Any, connection: Any) -> None:
        connection.execute("INSERT INTO effects VALUES (1)")
        delivery.ack(connection)

    [one] = work(jobs.QUEUE, handle, conn, transactional=True)
    assert "Return the outcome instead" in str(one.error)
    assert one.outcome == RetryAfter(timedelta(seconds=10), mock.ANY)
    assert _rows(conn) == 1 and conn.execute("SELECT * FROM effects").fetchall() == []


def test_a_lease_that_runs_out_under_its_handler(jobs: Any, conn: sqlite3.Connection) -> None:
    clock = Clock()
    with clock.of(jobs):
        _enqueue(jobs, conn, 1)

        def slow(delivery: Any) -> None:
            clock.advance(minutes=1)
            with jobs.claim_table(conn) as others:
                for other in others:
                    other.ack(conn)

        with pytest.raises(LeaseLost):
            work(jobs.QUEUE, slow, conn)
    assert _rows(conn) == 0


def test_the_advisory_form(made: Generated, conn: sqlite3.Connection) -> None:
    keyed = made.module("keyed")
    clock = Clock()
    with clock.of(keyed):
        keyed.enqueue(conn, keyed.New(account=7), delay=timedelta(minutes=1))
        assert work(keyed.QUEUE, lambda delivery: None, conn) == []
        clock.advance(minutes=1)
        [one] = work(keyed.QUEUE, lambda delivery: None, conn)
    assert one.outcome == Ack()


def test_an_advisory_row_that_does_not_decode_is_not_kept(
    made: Generated, conn: sqlite3.Connection
) -> None:
    # a worker would hold its key for a while; here nothing holds it once the claim is left
    keyed = made.module("keyed")
    keyed.enqueue(conn, keyed.New(account=7))
    conn.execute("PRAGMA ignore_check_constraints = ON")
    conn.execute("UPDATE keyed SET payload = 'no json'")
    [one] = work(keyed.QUEUE, lambda delivery: None, conn, on_invalid="keep", retry=lambda *_: 60)
    assert isinstance(one.error, RowInvalid) and isinstance(one.outcome, RetryAfter)
    assert _rows(conn, "keyed") == 1


def test_a_table_in_a_schema(made: Generated) -> None:
    elsewhere = made.module("elsewhere")
    conn = memory(_ddl(made, "elsewhere"), schemas=["app"])
    elsewhere.enqueue(conn, elsewhere.New(size=1))
    assert len(work(elsewhere.QUEUE, lambda delivery: None, conn)) == 1


def test_a_table_that_has_no_sqlite(made: Generated, conn: sqlite3.Connection) -> None:
    with pytest.raises(UnsupportedServer, match="Add it to `dialects`"):
        work(made.module("served").QUEUE, lambda delivery: None, conn)


def test_the_clock(jobs: Any) -> None:
    before = jobs.QUEUE
    clock = Clock(datetime(2030, 1, 1, 5, tzinfo=UTC))
    with pytest.raises(ZeroDivisionError), clock.of(jobs) as same:
        assert same is clock
        assert jobs.QUEUE.clock() == clock()
        assert clock.advance(hours=1, minutes=30) == datetime(2030, 1, 1, 6, 30, tzinfo=UTC)
        raise ZeroDivisionError
    assert jobs.QUEUE is before
    with pytest.raises(ValueError, match="step back"):
        clock.advance(seconds=-1)
    with pytest.raises(ValueError, match="time zone"):
        Clock(datetime(2030, 1, 1))
