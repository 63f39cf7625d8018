"""What a table or a form does not have does not type-check, under either checker."""

from __future__ import annotations

from tests.support.generated import Generated

from .test_checkers import mypy, pyright, pytestmark

__all__ = ["pytestmark"]

RIGHT = '''"""A team's code."""

import sqlite3
from datetime import UTC, datetime, timedelta

import psycopg
import pymysql

from app.models import Customer, Report
from queues import advisory_small, lease_all, lease_now, lease_small, row_lock_small
from sqlclaimgen.runtime import (
    NAMED,
    NUMERIC,
    AsyncWorker,
    RetryAfter,
    Worker,
    transaction,
    transaction_async,
)


def produce(conn: psycopg.Connection, light: sqlite3.Connection) -> int:
    new = lease_all.New(id=1, queue="q", customer=Customer("c"), payload=Report(id=7))
    lease_all.enqueue_many(conn, [new], delay=timedelta(minutes=5))
    lease_small.enqueue(light, lease_small.New(id=2, payload="x"))
    row_lock_small.enqueue(pymysql.connect(), row_lock_small.New(id=3, payload="x"))
    return lease_all.enqueue(conn, new)


def by_hand(conn: psycopg.Connection) -> None:
    with lease_all.claim(conn, group="q", limit=10) as deliveries:
        for delivery in deliveries:
            report: Report = delivery.row.payload
            with transaction(conn):
                if report.id and delivery.attempt < 3 and not delivery.lost:
                    delivery.ack(conn)
                else:
                    delivery.retry_after(conn, timedelta(minutes=5))
    with row_lock_small.claim(conn, limit=2) as rows:
        for row in rows:
            row.discard(conn)
    with advisory_small.claim(conn) as ones:
        for one in ones:
            one.retry(conn)


def look(conn: psycopg.Connection) -> int:
    dead: int = lease_all.stats(conn, group="q").dead.value + lease_all.stats_table(conn).dead.value
    unknown = lease_small.stats(conn).dead
    return dead + (unknown.value if unknown else 0)


def defaults(conn: psycopg.Connection, light: sqlite3.Connection) -> None:
    lease_now.enqueue(conn, lease_now.New())
    lease_now.enqueue(light, lease_now.New(created_at=datetime.now(UTC), seen_at=None))
    with lease_now.claim(conn) as deliveries:
        for delivery in deliveries:
            made: datetime = delivery.row.created_at
            size: int = delivery.row.size
            delivery.ack(conn) if made and size else delivery.retry(conn)


async def over_asyncio(conn: psycopg.AsyncConnection) -> int:
    new = lease_all.New(id=1, queue="q", customer=Customer("c"), payload=Report(id=7))
    async with lease_all.claim_async(conn, group="q", limit=10) as deliveries:
        for delivery in deliveries:
            report: Report = delivery.row.payload
            async with transaction_async(conn):
                if report.id and delivery.attempt < 3 and not delivery.lost:
                    await delivery.ack_async(conn)
    async with advisory_small.claim_async(conn) as ones:
        for one in ones:
            await one.retry_async(conn)
    numbered: tuple[str, tuple[object, ...]] = lease_all.insert(new, NUMERIC, dialect="postgres")
    named: tuple[str, dict[str, object]] = lease_all.insert(new, NAMED, dialect="sqlite")
    seen: int = (await lease_all.stats_async(conn, group="q")).dead.value
    dead = seen + (await lease_all.redrive_async(conn, limit=len(numbered) + len(named)))[0]
    return dead + await lease_all.enqueue_async(conn, new, at=datetime.now(UTC))


def handler(delivery: lease_all.Delivery) -> lease_all.Outcome | None:
    return RetryAfter(timedelta(minutes=5)) if delivery.row.payload.id else None


def dsn() -> psycopg.Connection:
    return psycopg.connect("")


def work() -> None:
    Worker(lease_all.QUEUE, handler, connect=dsn, groups=["q"], concurrency=8)
    AsyncWorker(lease_all.QUEUE, handler, connect=dsn, on_invalid="keep", retry=lambda n, e: n * 2.0)
'''

WRONG = '''"""Every line marked E must be refused by both checkers."""

import sqlite3
from datetime import timedelta

import psycopg
import pymysql

from app.models import Customer, Report
from queues import advisory_small, lease_all, lease_now, lease_one, lease_small, row_lock_small
from sqlclaimgen.runtime import NUMERIC, AsyncWorker, DeadLetter, RetryAfter, Worker, transaction_async

new = lease_all.New(id=1, queue="q", customer=Customer("c"), payload=Report(id=7))


def wrong(
    small: lease_small.Delivery,
    whole: lease_all.Delivery,
    conn: psycopg.Connection,
    light: sqlite3.Connection,
    unblocking: psycopg.AsyncConnection,
) -> None:
    small.retry_after(conn, timedelta(minutes=5))  # E no such outcome
    small.dead_letter(conn)  # E no such outcome
    small.attempt  # E counts nothing
    lease_small.RetryAfter  # E no such name
    lease_small.stats(conn).dead.value  # E no dead letters
    lease_now.New(created_at="now")  # E a datetime
    lease_now.New(size=None)  # E an int
    lease_small.claim(conn, group="q")  # E no group
    lease_all.claim(conn, limit=3)  # E group missing
    lease_all.claim(conn, group=7)  # E group is text
    advisory_small.claim(conn, limit=2)  # E one row for a connection
    row_lock_small.extend(conn, [])  # E no lease
    lease_all.New(id=1, queue="q", customer=Customer("c"), payload={"id": 7})  # E payload is a Report
    lease_all.New(id=1, queue="q", customer=Customer("c"))  # E payload missing
    lease_all.New(id=1, queue="q", customer=Customer("c"), payload=Report(1), attempt=2)  # E not given
    lease_all.New(1, "q", Customer("c"), payload=Report(1))  # E by keyword
    whole.row.payload.nope  # E typed payload
    whole.row.note = "x"  # E frozen
    whole.row.locked_until  # E not a Row's
    lease_all.enqueue(unblocking, new)  # E asynchronous
    whole.ack(unblocking)  # E asynchronous
    whole.ack_async(conn)  # E blocking, and not awaited
    lease_all.claim_async(conn, group="q")  # E blocking
    small.retry_after_async(unblocking, timedelta(minutes=5))  # E no such outcome
    lease_one.enqueue_async(unblocking, lease_one.New(id=1))  # E no asyncio driver
    lease_all.insert(new, NUMERIC, dialect="oracle")  # E not its dialect
    lease_all.insert(new, NUMERIC, dialect="postgres")[1].keys()  # E a tuple
    lease_all.insert(small.row, NUMERIC, dialect="postgres")  # E not a New
    transaction_async(conn)  # E blocking
    lease_all.enqueue(conn.cursor(), new)  # E a cursor
    lease_one.enqueue(conn, lease_one.New(id=1))  # E for SQLite alone
    row_lock_small.claim(light)  # E not for SQLite
    lease_one.claim(pymysql.connect())  # E not for MySQL
    lease_all.enqueue(conn, lease_small.New(id=1, payload="x"))  # E another table's row
    lease_small.enqueue(conn, lease_small.New(id=1, payload="x"), delay=timedelta(1))  # E no retry_after


async def wrong_async(conn: psycopg.AsyncConnection, blocking: psycopg.Connection) -> None:
    with lease_all.claim_async(conn, group="q") as deliveries:  # E async with
        pass
    async with lease_all.claim(blocking, group="q") as others:  # E with
        pass
    await lease_all.claim_async(conn, group="q")  # E async with
    lease_all.enqueue_async(conn, new)  # E not awaited
    await lease_all.enqueue_async(conn, lease_small.New(id=1, payload="x"))  # E another table's row
    await lease_all.enqueue_async(conn, new, at="tomorrow")  # E a datetime


def delayed(delivery: lease_small.Delivery) -> RetryAfter:
    return RetryAfter(timedelta(minutes=5))


def buried(delivery: lease_small.Delivery) -> DeadLetter:
    return DeadLetter("no")


def other(delivery: lease_all.Delivery) -> None: ...


def dsn() -> psycopg.Connection:
    return psycopg.connect("")


Worker(lease_small.QUEUE, delayed, connect=dsn)  # E an outcome that the table lacks
Worker(lease_small.QUEUE, buried, connect=dsn)  # E an outcome that the table lacks
Worker(lease_small.QUEUE, other, connect=dsn)  # E a delivery of another table
Worker(lease_all.QUEUE, other)  # E no connect
Worker(lease_all.QUEUE, other, connect=dsn, concurency=8)  # E no such option
Worker(lease_all.QUEUE, other, connect=dsn, concurrency="8")  # E a number
AsyncWorker(lease_all.QUEUE, other, connect=dsn, on_invalid="drop")  # E no such policy
AsyncWorker(lease_all.QUEUE, other, connect=dsn, on_event=print, retry=3)  # E a function
'''


def test_right_uses_pass_both_checkers(everything: Generated) -> None:
    (everything.folder / "right.py").write_text(RIGHT)
    assert mypy(everything.folder, "right.py") == ""
    assert pyright(everything.folder, "right.py") == []


def test_wrong_uses_are_refused_by_both_checkers(everything: Generated) -> None:
    (everything.folder / "wrong.py").write_text(WRONG)
    marked = {number for number, line in enumerate(WRONG.splitlines(), 1) if "# E" in line}
    mypy_lines = {
        int(line.split(":")[1])
        for line in mypy(everything.folder, "wrong.py").splitlines()
        if line.startswith("wrong.py:") and " error: " in line
    }
    assert mypy_lines == marked
    pyright_lines = {number for _, number, _ in pyright(everything.folder, "wrong.py")}
    assert pyright_lines - expressions() == marked - expressions()
    assert marked <= pyright_lines


def expressions() -> set[int]:
    """Lines that pyright also calls expressions without a use, whatever they name."""
    return {
        number
        for number, line in enumerate(WRONG.splitlines(), 1)
        if line.strip().partition("  #")[0].replace(".", "").replace("_", "").isalnum()
    }
