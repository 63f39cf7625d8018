"""What a good programmer writes by hand: a claim of n rows, and one statement that settles them."""

from __future__ import annotations

import contextlib
import json
from abc import ABC, abstractmethod
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any

from benchmarks.tables import QUEUE, Table
from benchmarks.threads import on_threads

LEASE = timedelta(seconds=60)

POSTGRES_CLAIM = """
WITH candidate AS (
    SELECT id FROM lease_jobs
    WHERE queue = %(queue)s AND retry_after <= %(now)s
        AND (locked_until IS NULL OR locked_until <= %(now)s)
    ORDER BY priority, retry_after, id
    LIMIT %(limit)s
    FOR NO KEY UPDATE SKIP LOCKED
), taken AS (
    UPDATE lease_jobs AS t SET locked_until = %(token)s, attempt = t.attempt + 1
    WHERE t.id = ANY(ARRAY(SELECT id FROM candidate))
    RETURNING t.id, t.queue, t.priority, t.retry_after, t.payload, t.attempt
)
SELECT id, queue, priority, retry_after, payload, attempt FROM taken
ORDER BY priority, retry_after, id
"""
POSTGRES_SETTLE = """
DELETE FROM lease_jobs AS t
USING unnest(%s::bigint[], %s::timestamptz[]) AS held(id, token)
WHERE t.id = held.id AND t.locked_until = held.token
"""

ROW_LOCK_CLAIM = """
SELECT id, queue, priority, retry_after, payload, attempt FROM row_lock_jobs
WHERE queue = %s AND retry_after <= %s
ORDER BY priority, retry_after, id
LIMIT %s
FOR NO KEY UPDATE SKIP LOCKED
"""
ROW_LOCK_SETTLE = "DELETE FROM row_lock_jobs WHERE id = ANY(%s::bigint[])"

# Candidates are read without locks, free ones and those whose lease is over, and locked by id.
INNODB_CLAIM = """
SELECT t.id, t.queue, t.priority, t.retry_after, t.payload, t.attempt
FROM (
    (SELECT id, priority, retry_after FROM lease_jobs
     WHERE queue = %(queue)s AND locked_until IS NULL AND retry_after <= %(now)s
     ORDER BY priority, retry_after, id LIMIT %(window)s)
    UNION ALL
    (SELECT id, priority, retry_after FROM lease_jobs
     WHERE queue = %(queue)s AND locked_until <= %(now)s AND retry_after <= %(now)s
     ORDER BY priority, retry_after, id LIMIT %(window)s)
    ORDER BY priority, retry_after, id LIMIT %(window)s
) AS c STRAIGHT_JOIN lease_jobs AS t ON t.id = c.id
WHERE t.queue = %(queue)s AND t.retry_after <= %(now)s
    AND (t.locked_until IS NULL OR t.locked_until <= %(now)s)
ORDER BY c.priority, c.retry_after, c.id
LIMIT %(limit)s
FOR UPDATE SKIP LOCKED
"""
INNODB_WRITE = "UPDATE lease_jobs SET locked_until = %s, attempt = attempt + 1 WHERE id IN %s"
INNODB_SETTLE = "DELETE FROM lease_jobs WHERE id IN %s AND locked_until = %s"

SQLITE_CLAIM = """
UPDATE lease_jobs SET locked_until = :token, attempt = attempt + 1
WHERE id IN (
    SELECT id FROM lease_jobs
    WHERE queue = :queue AND retry_after <= :now
        AND (locked_until IS NULL OR locked_until <= :now)
    ORDER BY priority, retry_after, id
    LIMIT :limit
)
RETURNING id, queue, priority, retry_after, payload, attempt
"""
SQLITE_SETTLE = """
DELETE FROM lease_jobs WHERE id IN (SELECT value FROM json_each(?)) AND locked_until = ?
"""


@dataclass(frozen=True, slots=True)
class Held:
    """The rows of a claim, and the expiry they are held by."""

    rows: list[Any]
    token: Any = None

    @property
    def ids(self) -> list[int]:
        """The rows' ids."""
        return [row[0] for row in self.rows]


class Loop(ABC):
    """Claims up to n rows on a connection, works on them and settles them."""

    @abstractmethod
    def prepare(self, connection: Any) -> None:
        """Set what the loop needs on its connection."""

    @abstractmethod
    def claim(self, connection: Any, limit: int) -> Held:
        """Take up to so many rows."""

    @abstractmethod
    def settle(self, connection: Any, held: Held) -> int:
        """Finish the rows. Returns how many there were."""

    def once(self, connection: Any, limit: int) -> int:
        """One claim and its settlement. Returns the number of rows."""
        held = self.claim(connection, limit)
        if held.rows:
            handle(held.rows)
            settled = self.settle(connection, held)
            if settled != len(held.rows):
                raise RuntimeError(f"{len(held.rows) - settled} leases were lost")
        return len(held.rows)

    def work_off(self, table: Table, limit: int, threads: int) -> None:
        """Claim and settle until a claim finds nothing, on each of the threads."""

        def work() -> None:
            with contextlib.closing(table.connect()) as connection:
                self.prepare(connection)
                while self.once(connection, limit):
                    pass

        on_threads(threads, work)


def handle(rows: list[Any]) -> None:
    """The work: nothing."""


class PostgresLease(Loop):
    """A lease on PostgreSQL, in autocommit."""

    def prepare(self, connection: Any) -> None:
        connection.autocommit = True

    def claim(self, connection: Any, limit: int) -> Held:
        now = datetime.now(timezone.utc)
        token = now + LEASE
        values = {"queue": QUEUE, "now": now, "limit": limit, "token": token}
        return Held(connection.execute(POSTGRES_CLAIM, values).fetchall(), token)

    def settle(self, connection: Any, held: Held) -> int:
        values = [held.ids, [held.token] * len(held.rows)]
        return int(connection.execute(POSTGRES_SETTLE, values).rowcount)


class PostgresRowLock(Loop):
    """A row lock on PostgreSQL: the transaction stays open while the rows are worked on."""

    def prepare(self, connection: Any) -> None:
        connection.autocommit = False

    def claim(self, connection: Any, limit: int) -> Held:
        now = datetime.now(timezone.utc)
        rows = connection.execute(ROW_LOCK_CLAIM, [QUEUE, now, limit]).fetchall()
        if not rows:
            connection.rollback()
        return Held(rows)

    def settle(self, connection: Any, held: Held) -> int:
        settled = int(connection.execute(ROW_LOCK_SETTLE, [held.ids]).rowcount)
        connection.commit()
        return settled


class InnoDBLease(Loop):
    """A lease on MySQL or MariaDB: two statements for the claim, one for the settlement."""

    def prepare(self, connection: Any) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")

    def claim(self, connection: Any, limit: int) -> Held:
        now = datetime.now(timezone.utc).replace(tzinfo=None)
        token = now + LEASE
        values = {"queue": QUEUE, "now": now, "limit": limit, "window": max(100, 10 * limit)}
        with connection.cursor() as cursor:
            cursor.execute(INNODB_CLAIM, values)
            held = Held(list(cursor.fetchall()), token)
            if held.rows:
                cursor.execute(INNODB_WRITE, [token, held.ids])
        connection.commit()
        return held

    def settle(self, connection: Any, held: Held) -> int:
        with connection.cursor() as cursor:
            settled = int(cursor.execute(INNODB_SETTLE, [held.ids, held.token]))
        connection.commit()
        return settled


class SQLiteLease(Loop):
    """A lease on SQLite, one write transaction for the claim and one for the settlement."""

    def prepare(self, connection: Any) -> None:
        connection.isolation_level = None

    def claim(self, connection: Any, limit: int) -> Held:
        now = int(datetime.now(timezone.utc).timestamp() * 1_000_000)
        token = now + LEASE // timedelta(microseconds=1)
        values = {"queue": QUEUE, "now": now, "limit": limit, "token": token}
        connection.execute("BEGIN IMMEDIATE")
        rows = connection.execute(SQLITE_CLAIM, values).fetchall()
        connection.execute("COMMIT")
        return Held(rows, token)

    def settle(self, connection: Any, held: Held) -> int:
        connection.execute("BEGIN IMMEDIATE")
        done = connection.execute(SQLITE_SETTLE, [json.dumps(held.ids), held.token])
        connection.execute("COMMIT")
        return int(done.rowcount)


LEASES: dict[str, Loop] = {
    "postgres": PostgresLease(),
    "mysql": InnoDBLease(),
    "mariadb": InnoDBLease(),
    "sqlite": SQLiteLease(),
}
"""The loop of each database over leases."""
ROW_LOCK = PostgresRowLock()
