# From tables.toml: edit that and run `sqlclaimgen build`.
# format 1 · form lease · postgres, mysql, mariadb, sqlite
"""The work table report_jobs: lease form, PostgreSQL, MySQL, MariaDB and SQLite.

It imports the types of its columns: their modules may not import it at their top.
"""

from __future__ import annotations

import dataclasses as _dataclasses
import datetime as _datetime
import typing as _t
from collections.abc import Iterable as _Iterable

from sqlclaimgen import runtime as _runtime
from sqlclaimgen.runtime import Ack, DeadLetter, Discard, Retry, RetryAfter

__all__ = [
    "LEASE",
    "QUEUE",
    "TABLE",
    "Ack",
    "AsyncConnection",
    "Connection",
    "DeadLetter",
    "Delivery",
    "Discard",
    "New",
    "Outcome",
    "Retry",
    "RetryAfter",
    "Row",
    "claim",
    "claim_async",
    "claim_table",
    "claim_table_async",
    "enqueue",
    "enqueue_async",
    "enqueue_many",
    "enqueue_many_async",
    "extend",
    "extend_async",
    "insert",
    "purge",
    "purge_async",
    "redrive",
    "redrive_async",
    "release",
    "release_async",
    "stats",
    "stats_async",
    "stats_table",
    "stats_table_async",
]

from reports.models import Report as _Report

TABLE = "report_jobs"
LEASE = _datetime.timedelta(seconds=60)

Connection: _t.TypeAlias = (
    _runtime.PostgresConnection | _runtime.MySQLConnection | _runtime.SQLiteConnection
)
AsyncConnection: _t.TypeAlias = _runtime.AsyncPostgresConnection
Outcome: _t.TypeAlias = Ack | Retry | RetryAfter | Discard | DeadLetter


@_dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class New:
    """A row to enqueue."""

    queue: str
    urgency: int = 0
    customer: str
    payload: _Report
    remark: str | None = None


@_dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A row as the claim returned it."""

    job_id: int
    queue: str
    urgency: int
    customer: str
    retry_after: _datetime.datetime
    payload: _Report
    remark: str | None


class Delivery(_runtime.LeaseDelivery[Row, int]):
    """One row in one worker's hands.

    Settling joins the transaction open on ``conn``, or commits its own.
    Every settlement raises LeaseLost when the row no longer holds its token.
    """

    __slots__ = ()

    @property
    def attempt(self) -> int:
        """Which delivery of its row this is, from 1."""
        return self.number

    def ack(self, conn: Connection) -> None:
        """Finish the row."""
        _runtime.settle(conn, self, Ack())

    def retry(self, conn: Connection) -> None:
        """Make the row due now, behind the rows of its priority that are due, or claimed at once if none are."""
        _runtime.settle(conn, self, Retry())

    def retry_after(
        self,
        conn: Connection,
        delay: _datetime.timedelta,
    ) -> None:
        """Make the row due again after ``delay``."""
        _runtime.settle(conn, self, RetryAfter(delay))

    def discard(self, conn: Connection) -> None:
        """Finish the row like ack, counted apart."""
        _runtime.settle(conn, self, Discard())

    def dead_letter(
        self,
        conn: Connection,
        reason: str = "rejected",
        error: str | None = None,
    ) -> None:
        """Give the row up."""
        _runtime.settle(conn, self, DeadLetter(reason, error))

    async def ack_async(self, conn: AsyncConnection) -> None:
        """Finish the row."""
        await _runtime.settle_async(conn, self, Ack())

    async def retry_async(self, conn: AsyncConnection) -> None:
        """Make the row due now, behind the rows of its priority that are due, or claimed at once if none are."""
        await _runtime.settle_async(conn, self, Retry())

    async def retry_after_async(
        self,
        conn: AsyncConnection,
        delay: _datetime.timedelta,
    ) -> None:
        """Make the row due again after ``delay``."""
        await _runtime.settle_async(conn, self, RetryAfter(delay))

    async def discard_async(self, conn: AsyncConnection) -> None:
        """Finish the row like ack, counted apart."""
        await _runtime.settle_async(conn, self, Discard())

    async def dead_letter_async(
        self,
        conn: AsyncConnection,
        reason: str = "rejected",
        error: str | None = None,
    ) -> None:
        """Give the row up."""
        await _runtime.settle_async(conn, self, DeadLetter(reason, error))


def enqueue(
    conn: Connection,
    new: New,
    *,
    delay: _datetime.timedelta = _datetime.timedelta(0),
    at: _datetime.datetime | None = None,
) -> int:
    """Add a row in the transaction of ``conn``, never committing it.

    It is due after ``delay``, or at ``at``.
    Returns the row's id.
    """
    return _runtime.enqueue(QUEUE, conn, new, delay, at)


def enqueue_many(
    conn: Connection,
    rows: _Iterable[New],
    *,
    delay: _datetime.timedelta = _datetime.timedelta(0),
    at: _datetime.datetime | None = None,
) -> list[int]:
    """Add rows in the transaction of ``conn``. Returns their ids, in order."""
    return _runtime.enqueue_many(QUEUE, conn, rows, delay, at)


async def enqueue_async(
    conn: AsyncConnection,
    new: New,
    *,
    delay: _datetime.timedelta = _datetime.timedelta(0),
    at: _datetime.datetime | None = None,
) -> int:
    """Add a row in the transaction of ``conn``, never committing it.

    It is due after ``delay``, or at ``at``.
    Returns the row's id.
    """
    return await _runtime.enqueue_async(QUEUE, conn, new, delay, at)


async def enqueue_many_async(
    conn: AsyncConnection,
    rows: _Iterable[New],
    *,
    delay: _datetime.timedelta = _datetime.timedelta(0),
    at: _datetime.datetime | None = None,
) -> list[int]:
    """Add rows in the transaction of ``conn``. Returns their ids, in order."""
    return await _runtime.enqueue_many_async(QUEUE, conn, rows, delay, at)


def insert(
    new: New,
    style: _runtime.Style[_runtime.Parameters],
    *,
    dialect: _t.Literal["postgres", "mysql", "mariadb", "sqlite"],
    delay: _datetime.timedelta = _datetime.timedelta(0),
    at: _datetime.datetime | None = None,
) -> tuple[str, _runtime.Parameters]:
    """Return the statement of ``enqueue`` and its parameters, for another driver.

    Read all of its answer: the row's id, except on MySQL.
    """
    return _runtime.insert(QUEUE, new, dialect, style, delay, at)


def claim(
    conn: Connection,
    *,
    group: str,
    limit: int = 1,
) -> _runtime.Claim[Delivery]:
    """Take up to ``limit`` due rows of one group.

    The claim commits at once; the rows are held by the expiry in them.
    Raises TransactionOpen when ``conn`` has a transaction open.
    """
    return _runtime.claim(QUEUE, conn, _runtime.group(group), limit)


def claim_async(
    conn: AsyncConnection,
    *,
    group: str,
    limit: int = 1,
) -> _runtime.AsyncClaim[Delivery]:
    """Take up to ``limit`` due rows of one group.

    ``async with`` claims when its block is entered, and gives back when it is left.
    Raises TransactionOpen when ``conn`` has a transaction open.
    """
    return _runtime.claim_async(QUEUE, conn, _runtime.group(group), limit)


def claim_table(
    conn: Connection,
    *,
    limit: int = 1,
) -> _runtime.Claim[Delivery]:
    """Take up to ``limit`` due rows.

    The claim commits at once; the rows are held by the expiry in them.
    Raises TransactionOpen when ``conn`` has a transaction open.
    """
    return _runtime.claim(QUEUE, conn, _runtime.TABLE, limit)


def claim_table_async(
    conn: AsyncConnection,
    *,
    limit: int = 1,
) -> _runtime.AsyncClaim[Delivery]:
    """Take up to ``limit`` due rows.

    ``async with`` claims when its block is entered, and gives back when it is left.
    Raises TransactionOpen when ``conn`` has a transaction open.
    """
    return _runtime.claim_async(QUEUE, conn, _runtime.TABLE, limit)


def extend(
    conn: Connection,
    deliveries: _Iterable[Delivery],
) -> list[Delivery]:
    """Move the expiry of every delivery in work, and commit. Returns the lost ones."""
    return _runtime.extend(QUEUE, conn, deliveries)


def release(
    conn: Connection,
    deliveries: _Iterable[Delivery],
) -> None:
    """Give unsettled deliveries back, with their attempt. Lost ones are passed over."""
    _runtime.release(QUEUE, conn, deliveries)


def stats(
    conn: Connection,
    *,
    group: str,
) -> _runtime.StatsWithDead:
    """Count the rows of one group that are due, delayed, in work and dead, up to 10,000."""
    return _runtime.stats(
        QUEUE,
        conn,
        _runtime.group(group),
        _runtime.StatsWithDead,
    )


def stats_table(
    conn: Connection,
) -> _runtime.StatsWithDead:
    """Count the rows that are due, delayed, in work and dead, up to 10,000."""
    return _runtime.stats(
        QUEUE,
        conn,
        _runtime.TABLE,
        _runtime.StatsWithDead,
    )


@_t.overload
def redrive(
    conn: Connection,
    *,
    ids: _Iterable[int],
) -> _runtime.Redriven[int]: ...


@_t.overload
def redrive(
    conn: Connection,
    *,
    limit: int,
) -> _runtime.Redriven[int]: ...


def redrive(
    conn: Connection,
    *,
    ids: _Iterable[int] | None = None,
    limit: int | None = None,
) -> _runtime.Redriven[int]:
    """Bring dead letters back, due now, from their first attempt. Returns their ids.

    ``ids`` names them; an id that is no dead letter is left out. None comes back, and
    AlreadyQueued is raised, when one of them is queued again.
    ``limit`` takes up to so many, the oldest first, and passes over such rows; one that
    the database refuses is in ``kept`` of the result.
    Joins the transaction open on ``conn``, or commits its own.
    """
    return _runtime.redrive(QUEUE, conn, ids, limit)


def purge(
    conn: Connection,
    *,
    older_than: _datetime.timedelta,
    limit: int | None = None,
    pause: _datetime.timedelta = _datetime.timedelta(0),
) -> _runtime.Purged:
    """Delete rows that were finished longer than ``older_than`` ago. Returns how many.

    A thousand rows a transaction, ``pause`` between them; ``limit`` rows at most.
    A row that the database refuses to delete stays, and is in ``kept`` of the result.
    Raises TransactionOpen when ``conn`` has a transaction open.
    """
    return _runtime.purge(QUEUE, conn, older_than, limit, pause)


async def extend_async(
    conn: AsyncConnection,
    deliveries: _Iterable[Delivery],
) -> list[Delivery]:
    """Move the expiry of every delivery in work, and commit. Returns the lost ones."""
    return await _runtime.extend_async(QUEUE, conn, deliveries)


async def release_async(
    conn: AsyncConnection,
    deliveries: _Iterable[Delivery],
) -> None:
    """Give unsettled deliveries back, with their attempt. Lost ones are passed over."""
    await _runtime.release_async(QUEUE, conn, deliveries)


async def stats_async(
    conn: AsyncConnection,
    *,
    group: str,
) -> _runtime.StatsWithDead:
    """Count the rows of one group that are due, delayed, in work and dead, up to 10,000."""
    return await _runtime.stats_async(
        QUEUE,
        conn,
        _runtime.group(group),
        _runtime.StatsWithDead,
    )


async def stats_table_async(
    conn: AsyncConnection,
) -> _runtime.StatsWithDead:
    """Count the rows that are due, delayed, in work and dead, up to 10,000."""
    return await _runtime.stats_async(
        QUEUE,
        conn,
        _runtime.TABLE,
        _runtime.StatsWithDead,
    )


@_t.overload
async def redrive_async(
    conn: AsyncConnection,
    *,
    ids: _Iterable[int],
) -> _runtime.Redriven[int]: ...


@_t.overload
async def redrive_async(
    conn: AsyncConnection,
    *,
    limit: int,
) -> _runtime.Redriven[int]: ...


async def redrive_async(
    conn: AsyncConnection,
    *,
    ids: _Iterable[int] | None = None,
    limit: int | None = None,
) -> _runtime.Redriven[int]:
    """Bring dead letters back, due now, from their first attempt. Returns their ids.

    ``ids`` names them; an id that is no dead letter is left out. None comes back, and
    AlreadyQueued is raised, when one of them is queued again.
    ``limit`` takes up to so many, the oldest first, and passes over such rows; one that
    the database refuses is in ``kept`` of the result.
    Joins the transaction open on ``conn``, or commits its own.
    """
    return await _runtime.redrive_async(QUEUE, conn, ids, limit)


async def purge_async(
    conn: AsyncConnection,
    *,
    older_than: _datetime.timedelta,
    limit: int | None = None,
    pause: _datetime.timedelta = _datetime.timedelta(0),
) -> _runtime.Purged:
    """Delete rows that were finished longer than ``older_than`` ago. Returns how many.

    A thousand rows a transaction, ``pause`` between them; ``limit`` rows at most.
    A row that the database refuses to delete stays, and is in ``kept`` of the result.
    Raises TransactionOpen when ``conn`` has a transaction open.
    """
    return await _runtime.purge_async(QUEUE, conn, older_than, limit, pause)


_SQL: dict[str, dict[str, str]] = {
    "postgres": {
        "claim": """\
WITH RECURSIVE step(priority) AS (
    (SELECT "urgency" FROM "report_jobs"
     WHERE "queue" = :group AND "processed_at" IS NULL
     ORDER BY "urgency" LIMIT 1)
    UNION ALL
    SELECT (SELECT t."urgency" FROM "report_jobs" AS t
            WHERE t."queue" = :group AND t."processed_at" IS NULL AND t."urgency" > step.priority
            ORDER BY t."urgency" LIMIT 1)
    FROM step WHERE step.priority IS NOT NULL
), candidate AS (
    SELECT one.* FROM step CROSS JOIN LATERAL (
        SELECT t."job_id" FROM "report_jobs" AS t
        WHERE t."queue" = :group AND t."processed_at" IS NULL AND t."urgency" = step.priority
            AND t."retry_after" <= :now AND (t."locked_until" IS NULL OR t."locked_until" <= :now)
            AND t."job_id" <> ALL(CAST(:set_aside AS bigint[]))
        ORDER BY t."retry_after", t."job_id"
        LIMIT :limit
        FOR NO KEY UPDATE SKIP LOCKED
    ) AS one
    LIMIT :limit
)
, taken AS (
    UPDATE "report_jobs" AS t
    SET "locked_until" = :locked_until, "attempt" = LEAST(t."attempt", 2147483646) + 1
    WHERE t."job_id" = ANY(ARRAY(SELECT c."job_id" FROM candidate AS c))
    RETURNING t."job_id", t."queue", t."urgency", t."customer", t."retry_after",
        CAST(t."payload" AS text) AS "payload", t."note", t."attempt" - 1 AS "attempt"
)
SELECT "job_id", "queue", "urgency", "customer", "retry_after", "payload", "note", "attempt"
FROM taken
ORDER BY "urgency", "retry_after", "job_id"\
""",
        "candidates": """\
WITH RECURSIVE step(priority) AS (
    (SELECT "urgency" FROM "report_jobs"
     WHERE "queue" = :group AND "processed_at" IS NULL
     ORDER BY "urgency" LIMIT 1)
    UNION ALL
    SELECT (SELECT t."urgency" FROM "report_jobs" AS t
            WHERE t."queue" = :group AND t."processed_at" IS NULL AND t."urgency" > step.priority
            ORDER BY t."urgency" LIMIT 1)
    FROM step WHERE step.priority IS NOT NULL
)
SELECT one.* FROM step CROSS JOIN LATERAL (
    SELECT t."job_id" FROM "report_jobs" AS t
    WHERE t."queue" = :group AND t."processed_at" IS NULL AND t."urgency" = step.priority
        AND t."retry_after" <= :now AND (t."locked_until" IS NULL OR t."locked_until" <= :now)
        AND t."job_id" <> ALL(CAST(:set_aside AS bigint[]))
    ORDER BY t."retry_after", t."job_id"
    LIMIT :limit
    FOR NO KEY UPDATE SKIP LOCKED
) AS one
LIMIT :limit\
""",
        "claim_table": """\
WITH RECURSIVE step(priority) AS (
    (SELECT "urgency" FROM "report_jobs"
     WHERE "processed_at" IS NULL
     ORDER BY "urgency" LIMIT 1)
    UNION ALL
    SELECT (SELECT t."urgency" FROM "report_jobs" AS t
            WHERE t."processed_at" IS NULL AND t."urgency" > step.priority
            ORDER BY t."urgency" LIMIT 1)
    FROM step WHERE step.priority IS NOT NULL
), candidate AS (
    SELECT one.* FROM step CROSS JOIN LATERAL (
        SELECT t."job_id" FROM "report_jobs" AS t
        WHERE t."processed_at" IS NULL AND t."urgency" = step.priority AND t."retry_after" <= :now
            AND (t."locked_until" IS NULL OR t."locked_until" <= :now)
            AND t."job_id" <> ALL(CAST(:set_aside AS bigint[]))
        ORDER BY t."retry_after", t."job_id"
        LIMIT :limit
        FOR NO KEY UPDATE SKIP LOCKED
    ) AS one
    LIMIT :limit
)
, taken AS (
    UPDATE "report_jobs" AS t
    SET "locked_until" = :locked_until, "attempt" = LEAST(t."attempt", 2147483646) + 1
    WHERE t."job_id" = ANY(ARRAY(SELECT c."job_id" FROM candidate AS c))
    RETURNING t."job_id", t."queue", t."urgency", t."customer", t."retry_after",
        CAST(t."payload" AS text) AS "payload", t."note", t."attempt" - 1 AS "attempt"
)
SELECT "job_id", "queue", "urgency", "customer", "retry_after", "payload", "note", "attempt"
FROM taken
ORDER BY "urgency", "retry_after", "job_id"\
""",
        "candidates_table": """\
WITH RECURSIVE step(priority) AS (
    (SELECT "urgency" FROM "report_jobs"
     WHERE "processed_at" IS NULL
     ORDER BY "urgency" LIMIT 1)
    UNION ALL
    SELECT (SELECT t."urgency" FROM "report_jobs" AS t
            WHERE t."processed_at" IS NULL AND t."urgency" > step.priority
            ORDER BY t."urgency" LIMIT 1)
    FROM step WHERE step.priority IS NOT NULL
)
SELECT one.* FROM step CROSS JOIN LATERAL (
    SELECT t."job_id" FROM "report_jobs" AS t
    WHERE t."processed_at" IS NULL AND t."urgency" = step.priority AND t."retry_after" <= :now
        AND (t."locked_until" IS NULL OR t."locked_until" <= :now)
        AND t."job_id" <> ALL(CAST(:set_aside AS bigint[]))
    ORDER BY t."retry_after", t."job_id"
    LIMIT :limit
    FOR NO KEY UPDATE SKIP LOCKED
) AS one
LIMIT :limit\
""",
        "candidates_take": """\
UPDATE "report_jobs"
SET "locked_until" = :locked_until, "attempt" = LEAST("attempt", 2147483646) + 1
WHERE "job_id" = ANY(CAST(:ids AS bigint[]))
RETURNING "job_id", "queue", "urgency", "customer", "retry_after",
    CAST("payload" AS text) AS "payload", "note", "attempt" - 1 AS "attempt"\
""",
        "extend": """\
WITH held AS (
    SELECT * FROM unnest(CAST(:ids AS bigint[]), CAST(:tokens AS timestamptz[]),
        CAST(:sents AS timestamptz[]), CAST(:attempts AS integer[])) AS h(id, token, sent, attempt)
), locked AS (
    SELECT h.* FROM "report_jobs" AS t JOIN held AS h ON t."job_id" = h.id
    WHERE t."locked_until" IN (h.token, h.sent) AND t."attempt" = h.attempt
        AND t."processed_at" IS NULL
    FOR NO KEY UPDATE OF t SKIP LOCKED
)
UPDATE "report_jobs" AS t
SET "locked_until" = :locked_until
FROM locked AS h
WHERE t."job_id" = h.id AND t."locked_until" IN (h.token, h.sent) AND t."attempt" = h.attempt
    AND t."processed_at" IS NULL
RETURNING t."job_id"\
""",
        "held": """\
SELECT t."job_id", t."locked_until"
FROM "report_jobs" AS t JOIN unnest(CAST(:ids AS bigint[]), CAST(:tokens AS timestamptz[]),
    CAST(:sents AS timestamptz[]), CAST(:attempts AS integer[])) AS h(id, token, sent, attempt)
    ON t."job_id" = h.id AND t."locked_until" IN (h.token, h.sent) AND t."attempt" = h.attempt
        AND t."processed_at" IS NULL\
""",
        "release": """\
UPDATE "report_jobs" AS t
SET "locked_until" = NULL
FROM unnest(CAST(:ids AS bigint[]), CAST(:tokens AS timestamptz[]), CAST(:sents AS timestamptz[]),
    CAST(:attempts AS integer[])) AS h(id, token, sent, attempt)
WHERE t."job_id" = h.id AND t."locked_until" IN (h.token, h.sent) AND t."attempt" = h.attempt
    AND t."processed_at" IS NULL
RETURNING t."job_id"\
""",
        "give_back": """\
UPDATE "report_jobs" AS t
SET "locked_until" = NULL, "attempt" = t."attempt" - 1
FROM unnest(CAST(:ids AS bigint[]), CAST(:tokens AS timestamptz[]), CAST(:sents AS timestamptz[]),
    CAST(:attempts AS integer[])) AS h(id, token, sent, attempt)
WHERE t."job_id" = h.id AND t."locked_until" IN (h.token, h.sent) AND t."attempt" = h.attempt
    AND t."processed_at" IS NULL
RETURNING t."job_id"\
""",
        "shorten": """\
WITH held AS (
    SELECT * FROM unnest(CAST(:ids AS bigint[]), CAST(:tokens AS timestamptz[]),
        CAST(:sents AS timestamptz[]), CAST(:attempts AS integer[])) AS h(id, token, sent, attempt)
), locked AS (
    SELECT h.* FROM "report_jobs" AS t JOIN held AS h ON t."job_id" = h.id
    WHERE t."locked_until" IN (h.token, h.sent) AND t."attempt" = h.attempt
        AND t."processed_at" IS NULL
    FOR NO KEY UPDATE OF t SKIP LOCKED
)
UPDATE "report_jobs" AS t
SET "locked_until" = :soon, "attempt" = t."attempt" - 1
FROM locked AS h
WHERE t."job_id" = h.id AND t."locked_until" IN (h.token, h.sent) AND t."attempt" = h.attempt
    AND t."processed_at" IS NULL
RETURNING t."job_id"\
""",
        "ack": """\
UPDATE "report_jobs"
SET "processed_at" = :now, "locked_until" = NULL
WHERE "job_id" = :id AND "locked_until" IN (:token, :sent) AND "attempt" = :attempt
    AND "processed_at" IS NULL\
""",
        "retry": """\
UPDATE "report_jobs"
SET "retry_after" = :now, "locked_until" = NULL
WHERE "job_id" = :id AND "locked_until" IN (:token, :sent) AND "attempt" = :attempt
    AND "processed_at" IS NULL\
""",
        "retry_after": """\
UPDATE "report_jobs"
SET "retry_after" = :due, "locked_until" = NULL
WHERE "job_id" = :id AND "locked_until" IN (:token, :sent) AND "attempt" = :attempt
    AND "processed_at" IS NULL\
""",
        "dead_letter": """\
WITH moved AS (
    DELETE FROM "report_jobs"
    WHERE "job_id" = :id AND "locked_until" IN (:token, :sent) AND "attempt" = :attempt
        AND "processed_at" IS NULL
    RETURNING "job_id", "queue", "urgency", "customer", "retry_after", "attempt", "locked_until",
        "processed_at", "payload", "note"
)
INSERT INTO "report_jobs_dead" ("job_id", "queue", "urgency", "customer", "retry_after", "attempt",
    "locked_until", "processed_at", "payload", "note", "reason", "error", "died_at")
SELECT "job_id", "queue", "urgency", "customer", "retry_after", "attempt" - 1, NULL, "processed_at",
    "payload", "note", CAST(:reason AS text), CAST(:error AS text), :now
FROM moved
ON CONFLICT ("job_id") DO UPDATE
SET "queue" = excluded."queue", "urgency" = excluded."urgency", "customer" = excluded."customer",
    "retry_after" = excluded."retry_after", "attempt" = excluded."attempt",
    "locked_until" = excluded."locked_until", "processed_at" = excluded."processed_at",
    "payload" = excluded."payload", "note" = excluded."note", "reason" = excluded."reason",
    "error" = excluded."error", "died_at" = excluded."died_at"\
""",
        "present": """\
SELECT "job_id" FROM "report_jobs"
WHERE "job_id" = :id AND "locked_until" IN (:token, :sent) AND "attempt" = :attempt
    AND "processed_at" IS NULL\
""",
        "enqueue": """\
INSERT INTO "report_jobs" ("queue", "urgency", "customer", "payload", "note", "attempt",
    "retry_after")
VALUES (:queue, :urgency, :customer, CAST(:payload AS jsonb), :remark, 1, :retry_after)
RETURNING "job_id"\
""",
        "redrive_oldest": """\
SELECT d."job_id" FROM "report_jobs_dead" AS d
WHERE (SELECT 1 FROM "report_jobs" AS q WHERE q."job_id" = d."job_id" LIMIT 1) IS NULL
ORDER BY d."died_at", d."job_id"
LIMIT :limit\
""",
        "redrive": """\
WITH chosen AS (
    SELECT "job_id", "queue", "urgency", "customer", "retry_after", "attempt", "locked_until",
        "processed_at", "payload", "note" FROM "report_jobs_dead"
    WHERE "job_id" = ANY(CAST(:ids AS bigint[]))
    ORDER BY "job_id"
    FOR UPDATE
), moved AS (
    INSERT INTO "report_jobs" ("job_id", "queue", "urgency", "customer", "retry_after", "attempt",
        "locked_until", "processed_at", "payload", "note") OVERRIDING SYSTEM VALUE
    SELECT d."job_id", d."queue", COALESCE(d."urgency", 0), d."customer", :now, 1, NULL, NULL,
        d."payload", d."note"
    FROM chosen AS d
    ON CONFLICT DO NOTHING
    RETURNING "job_id"
)
DELETE FROM "report_jobs_dead" AS d USING moved AS c
WHERE d."job_id" = c."job_id"
RETURNING d."job_id"\
""",
        "redrive_number": """\
SELECT setval(s.numbers, :id) FROM (SELECT CAST(pg_get_serial_sequence('"report_jobs"',
    'job_id') AS regclass) AS numbers) AS s
WHERE CASE WHEN has_sequence_privilege(s.numbers, 'USAGE') AND has_sequence_privilege(s.numbers,
    'UPDATE')
    THEN COALESCE(pg_sequence_last_value(s.numbers), 0) < :id ELSE FALSE END\
""",
        "dead_among": """\
SELECT d."job_id" FROM "report_jobs_dead" AS d
WHERE d."job_id" = ANY(CAST(:ids AS bigint[]))\
""",
        "purge_oldest": """\
SELECT t."job_id", t."processed_at" FROM "report_jobs" AS t
WHERE t."processed_at" < :before
ORDER BY t."processed_at"
LIMIT :limit
FOR UPDATE SKIP LOCKED\
""",
        "purge_next": """\
SELECT t."job_id", t."processed_at" FROM "report_jobs" AS t
WHERE t."processed_at" < :before AND t."processed_at" >= :since
ORDER BY t."processed_at"
LIMIT :limit
FOR UPDATE SKIP LOCKED\
""",
        "purge": """\
DELETE FROM "report_jobs"
WHERE "job_id" = ANY(CAST(:ids AS bigint[]))\
""",
        "purge_left": """\
SELECT t."job_id" FROM "report_jobs" AS t
WHERE t."job_id" = ANY(CAST(:ids AS bigint[]))\
""",
        "stats_priorities": """\
WITH RECURSIVE step(priority) AS (
    SELECT MIN(t."urgency") FROM "report_jobs" AS t WHERE t."queue" = :group
        AND t."processed_at" IS NULL
    UNION ALL
    SELECT (SELECT MIN(t."urgency") FROM "report_jobs" AS t
            WHERE t."queue" = :group AND t."processed_at" IS NULL AND t."urgency" > step.priority)
    FROM step WHERE step.priority IS NOT NULL
)
SELECT priority FROM step WHERE priority IS NOT NULL\
""",
        "stats_priorities_table": """\
WITH RECURSIVE step(priority) AS (
    SELECT MIN(t."urgency") FROM "report_jobs" AS t WHERE t."processed_at" IS NULL
    UNION ALL
    SELECT (SELECT MIN(t."urgency") FROM "report_jobs" AS t
            WHERE t."processed_at" IS NULL AND t."urgency" > step.priority)
    FROM step WHERE step.priority IS NOT NULL
)
SELECT priority FROM step WHERE priority IS NOT NULL\
""",
        "stats_due": """\
SELECT COUNT(CASE WHEN ("locked_until" IS NULL OR "locked_until" <= :now) THEN 1 END) AS due_rows,
    COUNT(CASE WHEN "locked_until" > :now THEN 1 END) AS rows_in_work,
    MIN(CASE WHEN ("locked_until" IS NULL OR "locked_until" <= :now) THEN "retry_after" END) AS oldest,
    COUNT(*) AS looked_at
FROM (
    SELECT "job_id", "retry_after", "locked_until" FROM "report_jobs"
    WHERE "queue" = :group AND "processed_at" IS NULL AND "urgency" = :priority
        AND "retry_after" <= :now
    ORDER BY "retry_after", "job_id" LIMIT :most
) AS looked\
""",
        "stats_delayed": """\
SELECT COUNT(*) FROM (
    SELECT "job_id" FROM "report_jobs"
    WHERE "queue" = :group AND "processed_at" IS NULL AND "urgency" = :priority
        AND "retry_after" > :now
    ORDER BY "retry_after", "job_id" LIMIT :most
) AS looked\
""",
        "stats_due_table": """\
SELECT COUNT(CASE WHEN ("locked_until" IS NULL OR "locked_until" <= :now) THEN 1 END) AS due_rows,
    COUNT(CASE WHEN "locked_until" > :now THEN 1 END) AS rows_in_work,
    MIN(CASE WHEN ("locked_until" IS NULL OR "locked_until" <= :now) THEN "retry_after" END) AS oldest,
    COUNT(*) AS looked_at
FROM (
    SELECT "job_id", "retry_after", "locked_until" FROM "report_jobs"
    WHERE "processed_at" IS NULL AND "urgency" = :priority AND "retry_after" <= :now
    ORDER BY "retry_after", "job_id" LIMIT :most
) AS looked\
""",
        "stats_delayed_table": """\
SELECT COUNT(*) FROM (
    SELECT "job_id" FROM "report_jobs"
    WHERE "processed_at" IS NULL AND "urgency" = :priority AND "retry_after" > :now
    ORDER BY "retry_after", "job_id" LIMIT :most
) AS looked\
""",
        "stats_dead": """\
SELECT COUNT(*) FROM (SELECT "job_id" FROM "report_jobs_dead" LIMIT :most) AS looked\
""",
        "row_security": """\
SELECT row_security_active('"report_jobs"')
    OR row_security_active('"report_jobs_dead"')\
""",
    },
    "mysql": {
        "due_priorities": """\
SELECT priority FROM (
    (SELECT `urgency` AS priority,
        MIN(`retry_after`) FROM `report_jobs` FORCE INDEX (`report_jobs_claim`)
     WHERE `queue` = :group AND `processed_at` IS NULL AND `locked_until` IS NULL
     GROUP BY `queue`, `processed_at`, `locked_until`, `urgency` HAVING MIN(`retry_after`) <= :now)
    UNION
    (SELECT `urgency`, NULL FROM `report_jobs` FORCE INDEX (`report_jobs_claim`)
     WHERE `queue` = :group AND `processed_at` IS NULL AND `locked_until` <= :now
         AND `retry_after` <= :now)
) AS listed
GROUP BY priority ORDER BY priority\
""",
        "claim": """\
SELECT t.`job_id`, t.`queue`, t.`urgency`, t.`customer`, t.`retry_after`, t.`payload`, t.`note`,
    LEAST(t.`attempt`, 2147483646) AS `attempt`
FROM (
        (SELECT `job_id` AS candidate_id, `urgency` AS candidate_1,
            `retry_after` AS candidate_2 FROM `report_jobs` FORCE INDEX (`report_jobs_claim`)
         WHERE `queue` = :group AND `processed_at` IS NULL AND `urgency` = :priority
             AND `retry_after` <= :now AND `locked_until` IS NULL
             AND COALESCE(`job_id` NOT IN (:set_aside), TRUE)
         ORDER BY `retry_after`, `job_id` LIMIT :window)
        UNION ALL
        (SELECT `job_id` AS candidate_id, `urgency` AS candidate_1,
            `retry_after` AS candidate_2 FROM `report_jobs` FORCE INDEX (`report_jobs_claim`)
         WHERE `queue` = :group AND `processed_at` IS NULL AND `urgency` = :priority
             AND `retry_after` <= :now AND `locked_until` <= :now
             AND COALESCE(`job_id` NOT IN (:set_aside), TRUE)
         ORDER BY `retry_after`, `job_id` LIMIT :window)
        ORDER BY candidate_1, candidate_2, candidate_id LIMIT :window
    ) AS c
STRAIGHT_JOIN `report_jobs` AS t FORCE INDEX (PRIMARY) ON t.`job_id` = c.candidate_id
WHERE t.`queue` = :group AND t.`processed_at` IS NULL AND t.`urgency` = :priority
    AND t.`retry_after` <= :now AND (t.`locked_until` IS NULL OR t.`locked_until` <= :now)
ORDER BY c.candidate_1, c.candidate_2, c.candidate_id
LIMIT :limit
FOR UPDATE OF t SKIP LOCKED\
""",
        "probe": """\
SELECT 1 FROM (
        (SELECT `job_id` AS candidate_id, `urgency` AS candidate_1,
            `retry_after` AS candidate_2 FROM `report_jobs` FORCE INDEX (`report_jobs_claim`)
         WHERE `queue` = :group AND `processed_at` IS NULL AND `urgency` = :priority
             AND `retry_after` <= :now AND `locked_until` IS NULL
             AND COALESCE(`job_id` NOT IN (:set_aside), TRUE)
         ORDER BY `retry_after`, `job_id` LIMIT :window)
        UNION ALL
        (SELECT `job_id` AS candidate_id, `urgency` AS candidate_1,
            `retry_after` AS candidate_2 FROM `report_jobs` FORCE INDEX (`report_jobs_claim`)
         WHERE `queue` = :group AND `processed_at` IS NULL AND `urgency` = :priority
             AND `retry_after` <= :now AND `locked_until` <= :now
             AND COALESCE(`job_id` NOT IN (:set_aside), TRUE)
         ORDER BY `retry_after`, `job_id` LIMIT :window)
        ORDER BY candidate_1, candidate_2, candidate_id LIMIT :window
    ) AS c
LIMIT 1 OFFSET :last\
""",
        "due_priorities_table": """\
SELECT priority FROM (
    (SELECT `urgency` AS priority,
        MIN(`retry_after`) FROM `report_jobs` FORCE INDEX (`report_jobs_claim_table`)
     WHERE `processed_at` IS NULL AND `locked_until` IS NULL
     GROUP BY `processed_at`, `locked_until`, `urgency` HAVING MIN(`retry_after`) <= :now)
    UNION
    (SELECT `urgency`, NULL FROM `report_jobs` FORCE INDEX (`report_jobs_claim_table`)
     WHERE `processed_at` IS NULL AND `locked_until` <= :now AND `retry_after` <= :now)
) AS listed
GROUP BY priority ORDER BY priority\
""",
        "claim_table": """\
SELECT t.`job_id`, t.`queue`, t.`urgency`, t.`customer`, t.`retry_after`, t.`payload`, t.`note`,
    LEAST(t.`attempt`, 2147483646) AS `attempt`
FROM (
        (SELECT `job_id` AS candidate_id, `urgency` AS candidate_1,
            `retry_after` AS candidate_2 FROM `report_jobs` FORCE INDEX (`report_jobs_claim_table`)
         WHERE `processed_at` IS NULL AND `urgency` = :priority AND `retry_after` <= :now
             AND `locked_until` IS NULL AND COALESCE(`job_id` NOT IN (:set_aside), TRUE)
         ORDER BY `retry_after`, `job_id` LIMIT :window)
        UNION ALL
        (SELECT `job_id` AS candidate_id, `urgency` AS candidate_1,
            `retry_after` AS candidate_2 FROM `report_jobs` FORCE INDEX (`report_jobs_claim_table`)
         WHERE `processed_at` IS NULL AND `urgency` = :priority AND `retry_after` <= :now
             AND `locked_until` <= :now AND COALESCE(`job_id` NOT IN (:set_aside), TRUE)
         ORDER BY `retry_after`, `job_id` LIMIT :window)
        ORDER BY candidate_1, candidate_2, candidate_id LIMIT :window
    ) AS c
STRAIGHT_JOIN `report_jobs` AS t FORCE INDEX (PRIMARY) ON t.`job_id` = c.candidate_id
WHERE t.`processed_at` IS NULL AND t.`urgency` = :priority AND t.`retry_after` <= :now
    AND (t.`locked_until` IS NULL OR t.`locked_until` <= :now)
ORDER BY c.candidate_1, c.candidate_2, c.candidate_id
LIMIT :limit
FOR UPDATE OF t SKIP LOCKED\
""",
        "probe_table": """\
SELECT 1 FROM (
        (SELECT `job_id` AS candidate_id, `urgency` AS candidate_1,
            `retry_after` AS candidate_2 FROM `report_jobs` FORCE INDEX (`report_jobs_claim_table`)
         WHERE `processed_at` IS NULL AND `urgency` = :priority AND `retry_after` <= :now
             AND `locked_until` IS NULL AND COALESCE(`job_id` NOT IN (:set_aside), TRUE)
         ORDER BY `retry_after`, `job_id` LIMIT :window)
        UNION ALL
        (SELECT `job_id` AS candidate_id, `urgency` AS candidate_1,
            `retry_after` AS candidate_2 FROM `report_jobs` FORCE INDEX (`report_jobs_claim_table`)
         WHERE `processed_at` IS NULL AND `urgency` = :priority AND `retry_after` <= :now
             AND `locked_until` <= :now AND COALESCE(`job_id` NOT IN (:set_aside), TRUE)
         ORDER BY `retry_after`, `job_id` LIMIT :window)
        ORDER BY candidate_1, candidate_2, candidate_id LIMIT :window
    ) AS c
LIMIT 1 OFFSET :last\
""",
        "claim_write": """\
UPDATE `report_jobs`
SET `locked_until` = :locked_until, `attempt` = LEAST(`attempt`, 2147483646) + 1
WHERE `job_id` IN (:ids)\
""",
        "extend": """\
SELECT `job_id` FROM `report_jobs` FORCE INDEX (PRIMARY)
WHERE `job_id` IN (:ids) AND (`job_id`, `locked_until`, `attempt`) IN (:held)
    AND `processed_at` IS NULL
FOR UPDATE SKIP LOCKED\
""",
        "extend_write": """\
UPDATE `report_jobs` FORCE INDEX (PRIMARY)
SET `locked_until` = :locked_until
WHERE `job_id` IN (:ids) AND (`job_id`, `locked_until`, `attempt`) IN (:held)
    AND `processed_at` IS NULL\
""",
        "held": """\
SELECT `job_id`, `locked_until` FROM `report_jobs` FORCE INDEX (PRIMARY)
WHERE `job_id` IN (:ids) AND (`job_id`, `locked_until`, `attempt`) IN (:held)
    AND `processed_at` IS NULL\
""",
        "release": """\
UPDATE `report_jobs` FORCE INDEX (PRIMARY)
SET `locked_until` = NULL
WHERE `job_id` IN (:ids) AND (`job_id`, `locked_until`, `attempt`) IN (:held)
    AND `processed_at` IS NULL\
""",
        "give_back": """\
UPDATE `report_jobs` FORCE INDEX (PRIMARY)
SET `locked_until` = NULL, `attempt` = `attempt` - 1
WHERE `job_id` IN (:ids) AND (`job_id`, `locked_until`, `attempt`) IN (:held)
    AND `processed_at` IS NULL\
""",
        "shorten": """\
UPDATE `report_jobs` FORCE INDEX (PRIMARY)
SET `locked_until` = :soon, `attempt` = `attempt` - 1
WHERE `job_id` IN (:ids) AND (`job_id`, `locked_until`, `attempt`) IN (:held)
    AND `processed_at` IS NULL\
""",
        "ack": """\
UPDATE `report_jobs` FORCE INDEX (PRIMARY)
SET `processed_at` = :now, `locked_until` = NULL
WHERE `job_id` = :id AND `locked_until` IN (:token, :sent) AND `attempt` = :attempt
    AND `processed_at` IS NULL\
""",
        "retry": """\
UPDATE `report_jobs` FORCE INDEX (PRIMARY)
SET `retry_after` = :now, `locked_until` = NULL
WHERE `job_id` = :id AND `locked_until` IN (:token, :sent) AND `attempt` = :attempt
    AND `processed_at` IS NULL\
""",
        "retry_after": """\
UPDATE `report_jobs` FORCE INDEX (PRIMARY)
SET `retry_after` = :due, `locked_until` = NULL
WHERE `job_id` = :id AND `locked_until` IN (:token, :sent) AND `attempt` = :attempt
    AND `processed_at` IS NULL\
""",
        "dead_letter": """\
INSERT INTO `report_jobs_dead` (`job_id`, `queue`, `urgency`, `customer`, `retry_after`, `attempt`,
    `locked_until`, `processed_at`, `payload`, `note`, `reason`, `error`, `died_at`)
SELECT `job_id`, `queue`, `urgency`, `customer`, `retry_after`, `attempt` - 1, NULL, `processed_at`,
    `payload`, `note`, :reason, :error, :now
FROM `report_jobs` FORCE INDEX (PRIMARY)
WHERE `job_id` = :id AND `locked_until` IN (:token, :sent) AND `attempt` = :attempt
    AND `processed_at` IS NULL
FOR UPDATE
ON DUPLICATE KEY UPDATE `queue` = VALUES(`queue`), `urgency` = VALUES(`urgency`),
    `customer` = VALUES(`customer`), `retry_after` = VALUES(`retry_after`),
    `attempt` = VALUES(`attempt`), `locked_until` = VALUES(`locked_until`),
    `processed_at` = VALUES(`processed_at`), `payload` = VALUES(`payload`), `note` = VALUES(`note`),
    `reason` = VALUES(`reason`), `error` = VALUES(`error`), `died_at` = VALUES(`died_at`)\
""",
        "dead_letter_remove": """\
DELETE settled FROM `report_jobs` AS settled FORCE INDEX (PRIMARY)
WHERE `job_id` = :id AND `locked_until` IN (:token, :sent) AND `attempt` = :attempt
    AND `processed_at` IS NULL\
""",
        "enqueue": """\
INSERT INTO `report_jobs` (`queue`, `urgency`, `customer`, `payload`, `note`, `attempt`,
    `retry_after`)
VALUES (:queue, :urgency, :customer, :payload, :remark, 1, :retry_after)
\
""",
        "redrive_oldest": """\
SELECT d.`job_id` FROM `report_jobs_dead` AS d FORCE INDEX (`report_jobs_dead_oldest`)
WHERE (SELECT 1 FROM `report_jobs` AS q WHERE q.`job_id` = d.`job_id` LIMIT 1) IS NULL
ORDER BY d.`died_at`, d.`job_id`
LIMIT :limit\
""",
        "redrive_lock": """\
SELECT t.`job_id` FROM `report_jobs_dead` AS t FORCE INDEX (PRIMARY)
WHERE t.`job_id` IN (:ids)
ORDER BY t.`job_id`
FOR UPDATE\
""",
        "redrive": """\
INSERT INTO `report_jobs` (`job_id`, `queue`, `urgency`, `customer`, `retry_after`, `attempt`,
    `locked_until`, `processed_at`, `payload`, `note`)
SELECT d.`job_id`, d.`queue`, COALESCE(d.`urgency`, 0), d.`customer`, :now, 1, NULL, NULL,
    d.`payload`, d.`note`
FROM `report_jobs_dead` AS d
WHERE d.`job_id` IN (:ids)
FOR UPDATE\
""",
        "redrive_remove": """\
DELETE t FROM (
    SELECT `job_id` FROM `report_jobs_dead`
    WHERE `job_id` IN (:ids)
    FOR UPDATE SKIP LOCKED
) AS c
STRAIGHT_JOIN `report_jobs_dead` AS t FORCE INDEX (PRIMARY) ON t.`job_id` = c.`job_id`\
""",
        "purge_oldest": """\
SELECT t.`job_id`, t.`processed_at` FROM `report_jobs` AS t FORCE INDEX (`report_jobs_claim_table`)
WHERE t.`processed_at` < :before
ORDER BY t.`processed_at`
LIMIT :limit
FOR UPDATE OF t SKIP LOCKED\
""",
        "purge_next": """\
SELECT t.`job_id`, t.`processed_at` FROM `report_jobs` AS t FORCE INDEX (`report_jobs_claim_table`)
WHERE t.`processed_at` < :before AND t.`processed_at` >= :since
ORDER BY t.`processed_at`
LIMIT :limit
FOR UPDATE OF t SKIP LOCKED\
""",
        "purge": """\
DELETE t FROM (
    SELECT `job_id` FROM `report_jobs`
    WHERE `job_id` IN (:ids)
    FOR UPDATE SKIP LOCKED
) AS c
STRAIGHT_JOIN `report_jobs` AS t FORCE INDEX (PRIMARY) ON t.`job_id` = c.`job_id`\
""",
        "purge_left": """\
SELECT t.`job_id` FROM `report_jobs` AS t
WHERE t.`job_id` IN (:ids)\
""",
        "stats_priorities": """\
SELECT `urgency` FROM `report_jobs` FORCE INDEX (`report_jobs_claim`)
WHERE `queue` = :group AND `processed_at` IS NULL AND `locked_until` IS NULL
GROUP BY `queue`, `processed_at`, `locked_until`, `urgency`\
""",
        "stats_priorities_table": """\
SELECT `urgency` FROM `report_jobs` FORCE INDEX (`report_jobs_claim_table`)
WHERE `processed_at` IS NULL AND `locked_until` IS NULL
GROUP BY `processed_at`, `locked_until`, `urgency`\
""",
        "stats_due": """\
SELECT COUNT(*) AS due_rows,
    MIN(`retry_after`) AS oldest,
    COUNT(*) AS looked_at
FROM (
    SELECT `retry_after` FROM `report_jobs` FORCE INDEX (`report_jobs_claim`)
    WHERE `queue` = :group AND `processed_at` IS NULL AND `locked_until` IS NULL
        AND `urgency` = :priority AND `retry_after` <= :now
    ORDER BY `retry_after`, `job_id` LIMIT :most
) AS looked\
""",
        "stats_delayed": """\
SELECT COUNT(*) FROM (
    SELECT `job_id` FROM `report_jobs` FORCE INDEX (`report_jobs_claim`)
    WHERE `queue` = :group AND `processed_at` IS NULL AND `locked_until` IS NULL
        AND `urgency` = :priority AND `retry_after` > :now
    ORDER BY `retry_after`, `job_id` LIMIT :most
) AS looked\
""",
        "stats_leased": """\
SELECT COUNT(CASE WHEN `locked_until` <= :now THEN 1 END) AS due_rows,
    COUNT(CASE WHEN `locked_until` > :now THEN 1 END) AS rows_in_work,
    MIN(CASE WHEN `locked_until` <= :now THEN `retry_after` END) AS oldest,
    COUNT(*) AS looked_at
FROM (
    SELECT `locked_until`, `retry_after` FROM `report_jobs` FORCE INDEX (`report_jobs_claim`)
    WHERE `queue` = :group AND `processed_at` IS NULL AND `locked_until` IS NOT NULL
    LIMIT :most
) AS looked\
""",
        "stats_due_table": """\
SELECT COUNT(*) AS due_rows,
    MIN(`retry_after`) AS oldest,
    COUNT(*) AS looked_at
FROM (
    SELECT `retry_after` FROM `report_jobs` FORCE INDEX (`report_jobs_claim_table`)
    WHERE `processed_at` IS NULL AND `locked_until` IS NULL AND `urgency` = :priority
        AND `retry_after` <= :now
    ORDER BY `retry_after`, `job_id` LIMIT :most
) AS looked\
""",
        "stats_delayed_table": """\
SELECT COUNT(*) FROM (
    SELECT `job_id` FROM `report_jobs` FORCE INDEX (`report_jobs_claim_table`)
    WHERE `processed_at` IS NULL AND `locked_until` IS NULL AND `urgency` = :priority
        AND `retry_after` > :now
    ORDER BY `retry_after`, `job_id` LIMIT :most
) AS looked\
""",
        "stats_leased_table": """\
SELECT COUNT(CASE WHEN `locked_until` <= :now THEN 1 END) AS due_rows,
    COUNT(CASE WHEN `locked_until` > :now THEN 1 END) AS rows_in_work,
    MIN(CASE WHEN `locked_until` <= :now THEN `retry_after` END) AS oldest,
    COUNT(*) AS looked_at
FROM (
    SELECT `locked_until`, `retry_after` FROM `report_jobs` FORCE INDEX (`report_jobs_claim_table`)
    WHERE `processed_at` IS NULL AND `locked_until` IS NOT NULL
    LIMIT :most
) AS looked\
""",
        "stats_dead": """\
SELECT COUNT(*) FROM (SELECT `job_id` FROM `report_jobs_dead` LIMIT :most) AS looked\
""",
    },
    "mariadb": {
        "due_priorities": """\
SELECT priority FROM (
    (SELECT `urgency` AS priority,
        MIN(`retry_after`) FROM `report_jobs` FORCE INDEX (`report_jobs_claim`)
     WHERE `queue` = :group AND `processed_at` IS NULL AND `locked_until` IS NULL
     GROUP BY `queue`, `processed_at`, `locked_until`, `urgency` HAVING MIN(`retry_after`) <= :now)
    UNION
    (SELECT `urgency`, NULL FROM `report_jobs` FORCE INDEX (`report_jobs_claim`)
     WHERE `queue` = :group AND `processed_at` IS NULL AND `locked_until` <= :now
         AND `retry_after` <= :now)
) AS listed
GROUP BY priority ORDER BY priority\
""",
        "claim": """\
SELECT t.`job_id`, t.`queue`, t.`urgency`, t.`customer`, t.`retry_after`, t.`payload`, t.`note`,
    LEAST(t.`attempt`, 2147483646) AS `attempt`
FROM (
        (SELECT `job_id` AS candidate_id, `urgency` AS candidate_1,
            `retry_after` AS candidate_2 FROM `report_jobs` FORCE INDEX (`report_jobs_claim`)
         WHERE `queue` = :group AND `processed_at` IS NULL AND `urgency` = :priority
             AND `retry_after` <= :now AND `locked_until` IS NULL
             AND COALESCE(`job_id` NOT IN (:set_aside), TRUE)
         ORDER BY `retry_after`, `job_id` LIMIT :window)
        UNION ALL
        (SELECT `job_id` AS candidate_id, `urgency` AS candidate_1,
            `retry_after` AS candidate_2 FROM `report_jobs` FORCE INDEX (`report_jobs_claim`)
         WHERE `queue` = :group AND `processed_at` IS NULL AND `urgency` = :priority
             AND `retry_after` <= :now AND `locked_until` <= :now
             AND COALESCE(`job_id` NOT IN (:set_aside), TRUE)
         ORDER BY `retry_after`, `job_id` LIMIT :window)
        ORDER BY candidate_1, candidate_2, candidate_id LIMIT :window
    ) AS c
STRAIGHT_JOIN `report_jobs` AS t FORCE INDEX (PRIMARY) ON t.`job_id` = c.candidate_id
WHERE t.`queue` = :group AND t.`processed_at` IS NULL AND t.`urgency` = :priority
    AND t.`retry_after` <= :now AND (t.`locked_until` IS NULL OR t.`locked_until` <= :now)
ORDER BY c.candidate_1, c.candidate_2, c.candidate_id
LIMIT :limit
FOR UPDATE SKIP LOCKED\
""",
        "probe": """\
SELECT 1 FROM (
        (SELECT `job_id` AS candidate_id, `urgency` AS candidate_1,
            `retry_after` AS candidate_2 FROM `report_jobs` FORCE INDEX (`report_jobs_claim`)
         WHERE `queue` = :group AND `processed_at` IS NULL AND `urgency` = :priority
             AND `retry_after` <= :now AND `locked_until` IS NULL
             AND COALESCE(`job_id` NOT IN (:set_aside), TRUE)
         ORDER BY `retry_after`, `job_id` LIMIT :window)
        UNION ALL
        (SELECT `job_id` AS candidate_id, `urgency` AS candidate_1,
            `retry_after` AS candidate_2 FROM `report_jobs` FORCE INDEX (`report_jobs_claim`)
         WHERE `queue` = :group AND `processed_at` IS NULL AND `urgency` = :priority
             AND `retry_after` <= :now AND `locked_until` <= :now
             AND COALESCE(`job_id` NOT IN (:set_aside), TRUE)
         ORDER BY `retry_after`, `job_id` LIMIT :window)
        ORDER BY candidate_1, candidate_2, candidate_id LIMIT :window
    ) AS c
LIMIT 1 OFFSET :last\
""",
        "due_priorities_table": """\
SELECT priority FROM (
    (SELECT `urgency` AS priority,
        MIN(`retry_after`) FROM `report_jobs` FORCE INDEX (`report_jobs_claim_table`)
     WHERE `processed_at` IS NULL AND `locked_until` IS NULL
     GROUP BY `processed_at`, `locked_until`, `urgency` HAVING MIN(`retry_after`) <= :now)
    UNION
    (SELECT `urgency`, NULL FROM `report_jobs` FORCE INDEX (`report_jobs_claim_table`)
     WHERE `processed_at` IS NULL AND `locked_until` <= :now AND `retry_after` <= :now)
) AS listed
GROUP BY priority ORDER BY priority\
""",
        "claim_table": """\
SELECT t.`job_id`, t.`queue`, t.`urgency`, t.`customer`, t.`retry_after`, t.`payload`, t.`note`,
    LEAST(t.`attempt`, 2147483646) AS `attempt`
FROM (
        (SELECT `job_id` AS candidate_id, `urgency` AS candidate_1,
            `retry_after` AS candidate_2 FROM `report_jobs` FORCE INDEX (`report_jobs_claim_table`)
         WHERE `processed_at` IS NULL AND `urgency` = :priority AND `retry_after` <= :now
             AND `locked_until` IS NULL AND COALESCE(`job_id` NOT IN (:set_aside), TRUE)
         ORDER BY `retry_after`, `job_id` LIMIT :window)
        UNION ALL
        (SELECT `job_id` AS candidate_id, `urgency` AS candidate_1,
            `retry_after` AS candidate_2 FROM `report_jobs` FORCE INDEX (`report_jobs_claim_table`)
         WHERE `processed_at` IS NULL AND `urgency` = :priority AND `retry_after` <= :now
             AND `locked_until` <= :now AND COALESCE(`job_id` NOT IN (:set_aside), TRUE)
         ORDER BY `retry_after`, `job_id` LIMIT :window)
        ORDER BY candidate_1, candidate_2, candidate_id LIMIT :window
    ) AS c
STRAIGHT_JOIN `report_jobs` AS t FORCE INDEX (PRIMARY) ON t.`job_id` = c.candidate_id
WHERE t.`processed_at` IS NULL AND t.`urgency` = :priority AND t.`retry_after` <= :now
    AND (t.`locked_until` IS NULL OR t.`locked_until` <= :now)
ORDER BY c.candidate_1, c.candidate_2, c.candidate_id
LIMIT :limit
FOR UPDATE SKIP LOCKED\
""",
        "probe_table": """\
SELECT 1 FROM (
        (SELECT `job_id` AS candidate_id, `urgency` AS candidate_1,
            `retry_after` AS candidate_2 FROM `report_jobs` FORCE INDEX (`report_jobs_claim_table`)
         WHERE `processed_at` IS NULL AND `urgency` = :priority AND `retry_after` <= :now
             AND `locked_until` IS NULL AND COALESCE(`job_id` NOT IN (:set_aside), TRUE)
         ORDER BY `retry_after`, `job_id` LIMIT :window)
        UNION ALL
        (SELECT `job_id` AS candidate_id, `urgency` AS candidate_1,
            `retry_after` AS candidate_2 FROM `report_jobs` FORCE INDEX (`report_jobs_claim_table`)
         WHERE `processed_at` IS NULL AND `urgency` = :priority AND `retry_after` <= :now
             AND `locked_until` <= :now AND COALESCE(`job_id` NOT IN (:set_aside), TRUE)
         ORDER BY `retry_after`, `job_id` LIMIT :window)
        ORDER BY candidate_1, candidate_2, candidate_id LIMIT :window
    ) AS c
LIMIT 1 OFFSET :last\
""",
        "claim_write": """\
UPDATE `report_jobs`
SET `locked_until` = :locked_until, `attempt` = LEAST(`attempt`, 2147483646) + 1
WHERE `job_id` IN (:ids)\
""",
        "extend": """\
SELECT `job_id` FROM `report_jobs` FORCE INDEX (PRIMARY)
WHERE `job_id` IN (:ids) AND (`job_id`, `locked_until`, `attempt`) IN (:held)
    AND `processed_at` IS NULL
FOR UPDATE SKIP LOCKED\
""",
        "extend_write": """\
UPDATE `report_jobs` FORCE INDEX (PRIMARY)
SET `locked_until` = :locked_until
WHERE `job_id` IN (:ids) AND (`job_id`, `locked_until`, `attempt`) IN (:held)
    AND `processed_at` IS NULL\
""",
        "held": """\
SELECT `job_id`, `locked_until` FROM `report_jobs` FORCE INDEX (PRIMARY)
WHERE `job_id` IN (:ids) AND (`job_id`, `locked_until`, `attempt`) IN (:held)
    AND `processed_at` IS NULL\
""",
        "release": """\
UPDATE `report_jobs` FORCE INDEX (PRIMARY)
SET `locked_until` = NULL
WHERE `job_id` IN (:ids) AND (`job_id`, `locked_until`, `attempt`) IN (:held)
    AND `processed_at` IS NULL\
""",
        "give_back": """\
UPDATE `report_jobs` FORCE INDEX (PRIMARY)
SET `locked_until` = NULL, `attempt` = `attempt` - 1
WHERE `job_id` IN (:ids) AND (`job_id`, `locked_until`, `attempt`) IN (:held)
    AND `processed_at` IS NULL\
""",
        "shorten": """\
UPDATE `report_jobs` FORCE INDEX (PRIMARY)
SET `locked_until` = :soon, `attempt` = `attempt` - 1
WHERE `job_id` IN (:ids) AND (`job_id`, `locked_until`, `attempt`) IN (:held)
    AND `processed_at` IS NULL\
""",
        "ack": """\
UPDATE `report_jobs` FORCE INDEX (PRIMARY)
SET `processed_at` = :now, `locked_until` = NULL
WHERE `job_id` = :id AND `locked_until` IN (:token, :sent) AND `attempt` = :attempt
    AND `processed_at` IS NULL\
""",
        "retry": """\
UPDATE `report_jobs` FORCE INDEX (PRIMARY)
SET `retry_after` = :now, `locked_until` = NULL
WHERE `job_id` = :id AND `locked_until` IN (:token, :sent) AND `attempt` = :attempt
    AND `processed_at` IS NULL\
""",
        "retry_after": """\
UPDATE `report_jobs` FORCE INDEX (PRIMARY)
SET `retry_after` = :due, `locked_until` = NULL
WHERE `job_id` = :id AND `locked_until` IN (:token, :sent) AND `attempt` = :attempt
    AND `processed_at` IS NULL\
""",
        "dead_letter": """\
INSERT INTO `report_jobs_dead` (`job_id`, `queue`, `urgency`, `customer`, `retry_after`, `attempt`,
    `locked_until`, `processed_at`, `payload`, `note`, `reason`, `error`, `died_at`)
SELECT `job_id`, `queue`, `urgency`, `customer`, `retry_after`, `attempt` - 1, NULL, `processed_at`,
    `payload`, `note`, :reason, :error, :now
FROM `report_jobs` FORCE INDEX (PRIMARY)
WHERE `job_id` = :id AND `locked_until` IN (:token, :sent) AND `attempt` = :attempt
    AND `processed_at` IS NULL
FOR UPDATE
ON DUPLICATE KEY UPDATE `queue` = VALUES(`queue`), `urgency` = VALUES(`urgency`),
    `customer` = VALUES(`customer`), `retry_after` = VALUES(`retry_after`),
    `attempt` = VALUES(`attempt`), `locked_until` = VALUES(`locked_until`),
    `processed_at` = VALUES(`processed_at`), `payload` = VALUES(`payload`), `note` = VALUES(`note`),
    `reason` = VALUES(`reason`), `error` = VALUES(`error`), `died_at` = VALUES(`died_at`)\
""",
        "dead_letter_remove": """\
DELETE settled FROM `report_jobs` AS settled FORCE INDEX (PRIMARY)
WHERE `job_id` = :id AND `locked_until` IN (:token, :sent) AND `attempt` = :attempt
    AND `processed_at` IS NULL\
""",
        "enqueue": """\
INSERT INTO `report_jobs` (`queue`, `urgency`, `customer`, `payload`, `note`, `attempt`,
    `retry_after`)
VALUES (:queue, :urgency, :customer, :payload, :remark, 1, :retry_after)
RETURNING `job_id`\
""",
        "redrive_oldest": """\
SELECT d.`job_id` FROM `report_jobs_dead` AS d FORCE INDEX (`report_jobs_dead_oldest`)
WHERE (SELECT 1 FROM `report_jobs` AS q WHERE q.`job_id` = d.`job_id` LIMIT 1) IS NULL
ORDER BY d.`died_at`, d.`job_id`
LIMIT :limit\
""",
        "redrive_lock": """\
SELECT t.`job_id` FROM `report_jobs_dead` AS t FORCE INDEX (PRIMARY)
WHERE t.`job_id` IN (:ids)
ORDER BY t.`job_id`
FOR UPDATE\
""",
        "redrive": """\
INSERT INTO `report_jobs` (`job_id`, `queue`, `urgency`, `customer`, `retry_after`, `attempt`,
    `locked_until`, `processed_at`, `payload`, `note`)
SELECT d.`job_id`, d.`queue`, COALESCE(d.`urgency`, 0), d.`customer`, :now, 1, NULL, NULL,
    d.`payload`, d.`note`
FROM `report_jobs_dead` AS d
WHERE d.`job_id` IN (:ids)
FOR UPDATE\
""",
        "redrive_remove": """\
DELETE t FROM (
    SELECT `job_id` FROM `report_jobs_dead`
    WHERE `job_id` IN (:ids)
    FOR UPDATE SKIP LOCKED
) AS c
STRAIGHT_JOIN `report_jobs_dead` AS t FORCE INDEX (PRIMARY) ON t.`job_id` = c.`job_id`\
""",
        "purge_oldest": """\
SELECT t.`job_id`, t.`processed_at` FROM `report_jobs` AS t FORCE INDEX (`report_jobs_claim_table`)
WHERE t.`processed_at` < :before
ORDER BY t.`processed_at`
LIMIT :limit
FOR UPDATE SKIP LOCKED\
""",
        "purge_next": """\
SELECT t.`job_id`, t.`processed_at` FROM `report_jobs` AS t FORCE INDEX (`report_jobs_claim_table`)
WHERE t.`processed_at` < :before AND t.`processed_at` >= :since
ORDER BY t.`processed_at`
LIMIT :limit
FOR UPDATE SKIP LOCKED\
""",
        "purge": """\
DELETE t FROM (
    SELECT `job_id` FROM `report_jobs`
    WHERE `job_id` IN (:ids)
    FOR UPDATE SKIP LOCKED
) AS c
STRAIGHT_JOIN `report_jobs` AS t FORCE INDEX (PRIMARY) ON t.`job_id` = c.`job_id`\
""",
        "purge_left": """\
SELECT t.`job_id` FROM `report_jobs` AS t
WHERE t.`job_id` IN (:ids)\
""",
        "stats_priorities": """\
SELECT `urgency` FROM `report_jobs` FORCE INDEX (`report_jobs_claim`)
WHERE `queue` = :group AND `processed_at` IS NULL AND `locked_until` IS NULL
GROUP BY `queue`, `processed_at`, `locked_until`, `urgency`\
""",
        "stats_priorities_table": """\
SELECT `urgency` FROM `report_jobs` FORCE INDEX (`report_jobs_claim_table`)
WHERE `processed_at` IS NULL AND `locked_until` IS NULL
GROUP BY `processed_at`, `locked_until`, `urgency`\
""",
        "stats_due": """\
SELECT COUNT(*) AS due_rows,
    MIN(`retry_after`) AS oldest,
    COUNT(*) AS looked_at
FROM (
    SELECT `retry_after` FROM `report_jobs` FORCE INDEX (`report_jobs_claim`)
    WHERE `queue` = :group AND `processed_at` IS NULL AND `locked_until` IS NULL
        AND `urgency` = :priority AND `retry_after` <= :now
    ORDER BY `retry_after`, `job_id` LIMIT :most
) AS looked\
""",
        "stats_delayed": """\
SELECT COUNT(*) FROM (
    SELECT `job_id` FROM `report_jobs` FORCE INDEX (`report_jobs_claim`)
    WHERE `queue` = :group AND `processed_at` IS NULL AND `locked_until` IS NULL
        AND `urgency` = :priority AND `retry_after` > :now
    ORDER BY `retry_after`, `job_id` LIMIT :most
) AS looked\
""",
        "stats_leased": """\
SELECT COUNT(CASE WHEN `locked_until` <= :now THEN 1 END) AS due_rows,
    COUNT(CASE WHEN `locked_until` > :now THEN 1 END) AS rows_in_work,
    MIN(CASE WHEN `locked_until` <= :now THEN `retry_after` END) AS oldest,
    COUNT(*) AS looked_at
FROM (
    SELECT `locked_until`, `retry_after` FROM `report_jobs` FORCE INDEX (`report_jobs_claim`)
    WHERE `queue` = :group AND `processed_at` IS NULL AND `locked_until` IS NOT NULL
    LIMIT :most
) AS looked\
""",
        "stats_due_table": """\
SELECT COUNT(*) AS due_rows,
    MIN(`retry_after`) AS oldest,
    COUNT(*) AS looked_at
FROM (
    SELECT `retry_after` FROM `report_jobs` FORCE INDEX (`report_jobs_claim_table`)
    WHERE `processed_at` IS NULL AND `locked_until` IS NULL AND `urgency` = :priority
        AND `retry_after` <= :now
    ORDER BY `retry_after`, `job_id` LIMIT :most
) AS looked\
""",
        "stats_delayed_table": """\
SELECT COUNT(*) FROM (
    SELECT `job_id` FROM `report_jobs` FORCE INDEX (`report_jobs_claim_table`)
    WHERE `processed_at` IS NULL AND `locked_until` IS NULL AND `urgency` = :priority
        AND `retry_after` > :now
    ORDER BY `retry_after`, `job_id` LIMIT :most
) AS looked\
""",
        "stats_leased_table": """\
SELECT COUNT(CASE WHEN `locked_until` <= :now THEN 1 END) AS due_rows,
    COUNT(CASE WHEN `locked_until` > :now THEN 1 END) AS rows_in_work,
    MIN(CASE WHEN `locked_until` <= :now THEN `retry_after` END) AS oldest,
    COUNT(*) AS looked_at
FROM (
    SELECT `locked_until`, `retry_after` FROM `report_jobs` FORCE INDEX (`report_jobs_claim_table`)
    WHERE `processed_at` IS NULL AND `locked_until` IS NOT NULL
    LIMIT :most
) AS looked\
""",
        "stats_dead": """\
SELECT COUNT(*) FROM (SELECT `job_id` FROM `report_jobs_dead` LIMIT :most) AS looked\
""",
    },
    "sqlite": {
        "claim": """\
UPDATE "report_jobs"
SET "locked_until" = :locked_until, "attempt" = MIN("attempt", 9223372036854775806) + 1
WHERE "job_id" IN (
    WITH RECURSIVE step(priority) AS (
        SELECT MIN("urgency") FROM "report_jobs" WHERE "queue" = :group AND "processed_at" IS NULL
        UNION ALL
        SELECT (SELECT MIN(t."urgency") FROM "report_jobs" AS t
                WHERE t."queue" = :group AND t."processed_at" IS NULL
                    AND t."urgency" > step.priority)
        FROM step WHERE step.priority IS NOT NULL
    )
    SELECT due.value FROM step CROSS JOIN json_each((
        SELECT json_group_array(one.id) FROM (
            SELECT t."job_id" AS id FROM "report_jobs" AS t
            WHERE t."queue" = :group AND t."processed_at" IS NULL AND t."urgency" = step.priority
                AND t."retry_after" <= :now
                AND (t."locked_until" IS NULL OR t."locked_until" <= :now)
                AND t."job_id" NOT IN (SELECT value FROM json_each(:set_aside))
            ORDER BY t."retry_after", t."job_id"
            LIMIT :limit
        ) AS one
    )) AS due
    LIMIT :limit
)
RETURNING +"job_id", "queue", +"urgency", "customer", "retry_after", "payload", "note",
    "attempt" - 1 AS "attempt"\
""",
        "candidates": """\
WITH RECURSIVE step(priority) AS (
    SELECT MIN("urgency") FROM "report_jobs" WHERE "queue" = :group AND "processed_at" IS NULL
    UNION ALL
    SELECT (SELECT MIN(t."urgency") FROM "report_jobs" AS t
            WHERE t."queue" = :group AND t."processed_at" IS NULL AND t."urgency" > step.priority)
    FROM step WHERE step.priority IS NOT NULL
)
SELECT due.value FROM step CROSS JOIN json_each((
    SELECT json_group_array(one.id) FROM (
        SELECT t."job_id" AS id FROM "report_jobs" AS t
        WHERE t."queue" = :group AND t."processed_at" IS NULL AND t."urgency" = step.priority
            AND t."retry_after" <= :now AND (t."locked_until" IS NULL OR t."locked_until" <= :now)
            AND t."job_id" NOT IN (SELECT value FROM json_each(:set_aside))
        ORDER BY t."retry_after", t."job_id"
        LIMIT :limit
    ) AS one
)) AS due
LIMIT :limit\
""",
        "claim_table": """\
UPDATE "report_jobs"
SET "locked_until" = :locked_until, "attempt" = MIN("attempt", 9223372036854775806) + 1
WHERE "job_id" IN (
    WITH RECURSIVE step(priority) AS (
        SELECT MIN("urgency") FROM "report_jobs" WHERE "processed_at" IS NULL
        UNION ALL
        SELECT (SELECT MIN(t."urgency") FROM "report_jobs" AS t
                WHERE t."processed_at" IS NULL AND t."urgency" > step.priority)
        FROM step WHERE step.priority IS NOT NULL
    )
    SELECT due.value FROM step CROSS JOIN json_each((
        SELECT json_group_array(one.id) FROM (
            SELECT t."job_id" AS id FROM "report_jobs" AS t
            WHERE t."processed_at" IS NULL AND t."urgency" = step.priority
                AND t."retry_after" <= :now
                AND (t."locked_until" IS NULL OR t."locked_until" <= :now)
                AND t."job_id" NOT IN (SELECT value FROM json_each(:set_aside))
            ORDER BY t."retry_after", t."job_id"
            LIMIT :limit
        ) AS one
    )) AS due
    LIMIT :limit
)
RETURNING +"job_id", "queue", +"urgency", "customer", "retry_after", "payload", "note",
    "attempt" - 1 AS "attempt"\
""",
        "candidates_table": """\
WITH RECURSIVE step(priority) AS (
    SELECT MIN("urgency") FROM "report_jobs" WHERE "processed_at" IS NULL
    UNION ALL
    SELECT (SELECT MIN(t."urgency") FROM "report_jobs" AS t
            WHERE t."processed_at" IS NULL AND t."urgency" > step.priority)
    FROM step WHERE step.priority IS NOT NULL
)
SELECT due.value FROM step CROSS JOIN json_each((
    SELECT json_group_array(one.id) FROM (
        SELECT t."job_id" AS id FROM "report_jobs" AS t
        WHERE t."processed_at" IS NULL AND t."urgency" = step.priority AND t."retry_after" <= :now
            AND (t."locked_until" IS NULL OR t."locked_until" <= :now)
            AND t."job_id" NOT IN (SELECT value FROM json_each(:set_aside))
        ORDER BY t."retry_after", t."job_id"
        LIMIT :limit
    ) AS one
)) AS due
LIMIT :limit\
""",
        "candidates_take": """\
UPDATE "report_jobs"
SET "locked_until" = :locked_until, "attempt" = MIN("attempt", 9223372036854775806) + 1
WHERE "job_id" IN (SELECT value FROM json_each(:ids))
RETURNING +"job_id", "queue", +"urgency", "customer", "retry_after", "payload", "note",
    "attempt" - 1 AS "attempt"\
""",
        "extend": """\
UPDATE "report_jobs" AS t
SET "locked_until" = :locked_until
WHERE t."job_id" IN (    SELECT r."job_id" FROM (
    SELECT json_extract(value, '$[0]') AS id, json_extract(value, '$[1]') AS token,
        json_extract(value, '$[2]') AS sent, json_extract(value, '$[3]') AS attempt
    FROM json_each(:held)
) AS h CROSS JOIN "report_jobs" AS r
    ON r."job_id" = h.id AND r."locked_until" IN (h.token, h.sent) AND r."attempt" = h.attempt
        AND r."processed_at" IS NULL
)
RETURNING +"job_id"\
""",
        "held": """\
SELECT t."job_id", t."locked_until"
FROM (
    SELECT json_extract(value, '$[0]') AS id, json_extract(value, '$[1]') AS token,
        json_extract(value, '$[2]') AS sent, json_extract(value, '$[3]') AS attempt
    FROM json_each(:held)
) AS h
CROSS JOIN "report_jobs" AS t ON t."job_id" = h.id AND t."locked_until" IN (h.token, h.sent)
    AND t."attempt" = h.attempt AND t."processed_at" IS NULL\
""",
        "release": """\
UPDATE "report_jobs" AS t
SET "locked_until" = NULL
WHERE t."job_id" IN (    SELECT r."job_id" FROM (
    SELECT json_extract(value, '$[0]') AS id, json_extract(value, '$[1]') AS token,
        json_extract(value, '$[2]') AS sent, json_extract(value, '$[3]') AS attempt
    FROM json_each(:held)
) AS h CROSS JOIN "report_jobs" AS r
    ON r."job_id" = h.id AND r."locked_until" IN (h.token, h.sent) AND r."attempt" = h.attempt
        AND r."processed_at" IS NULL
)
RETURNING +"job_id"\
""",
        "give_back": """\
UPDATE "report_jobs" AS t
SET "locked_until" = NULL, "attempt" = t."attempt" - 1
WHERE t."job_id" IN (    SELECT r."job_id" FROM (
    SELECT json_extract(value, '$[0]') AS id, json_extract(value, '$[1]') AS token,
        json_extract(value, '$[2]') AS sent, json_extract(value, '$[3]') AS attempt
    FROM json_each(:held)
) AS h CROSS JOIN "report_jobs" AS r
    ON r."job_id" = h.id AND r."locked_until" IN (h.token, h.sent) AND r."attempt" = h.attempt
        AND r."processed_at" IS NULL
)
RETURNING +"job_id"\
""",
        "shorten": """\
UPDATE "report_jobs" AS t
SET "locked_until" = :soon, "attempt" = t."attempt" - 1
WHERE t."job_id" IN (    SELECT r."job_id" FROM (
    SELECT json_extract(value, '$[0]') AS id, json_extract(value, '$[1]') AS token,
        json_extract(value, '$[2]') AS sent, json_extract(value, '$[3]') AS attempt
    FROM json_each(:held)
) AS h CROSS JOIN "report_jobs" AS r
    ON r."job_id" = h.id AND r."locked_until" IN (h.token, h.sent) AND r."attempt" = h.attempt
        AND r."processed_at" IS NULL
)
RETURNING +"job_id"\
""",
        "ack": """\
UPDATE "report_jobs"
SET "processed_at" = :now, "locked_until" = NULL
WHERE "job_id" = :id AND "locked_until" IN (:token, :sent) AND "attempt" = :attempt
    AND "processed_at" IS NULL\
""",
        "retry": """\
UPDATE "report_jobs"
SET "retry_after" = :now, "locked_until" = NULL
WHERE "job_id" = :id AND "locked_until" IN (:token, :sent) AND "attempt" = :attempt
    AND "processed_at" IS NULL\
""",
        "retry_after": """\
UPDATE "report_jobs"
SET "retry_after" = :due, "locked_until" = NULL
WHERE "job_id" = :id AND "locked_until" IN (:token, :sent) AND "attempt" = :attempt
    AND "processed_at" IS NULL\
""",
        "dead_letter": """\
INSERT INTO "report_jobs_dead" ("job_id", "queue", "urgency", "customer", "retry_after", "attempt",
    "locked_until", "processed_at", "payload", "note", "reason", "error", "died_at")
SELECT "job_id", "queue", "urgency", "customer", "retry_after", "attempt" - 1, NULL, "processed_at",
    "payload", "note", :reason, :error, :now
FROM "report_jobs"
WHERE "job_id" = :id AND "locked_until" IN (:token, :sent) AND "attempt" = :attempt
    AND "processed_at" IS NULL
ON CONFLICT ("job_id") DO UPDATE
SET "queue" = excluded."queue", "urgency" = excluded."urgency", "customer" = excluded."customer",
    "retry_after" = excluded."retry_after", "attempt" = excluded."attempt",
    "locked_until" = excluded."locked_until", "processed_at" = excluded."processed_at",
    "payload" = excluded."payload", "note" = excluded."note", "reason" = excluded."reason",
    "error" = excluded."error", "died_at" = excluded."died_at"\
""",
        "dead_letter_remove": """\
DELETE FROM "report_jobs"
WHERE "job_id" = :id AND "locked_until" IN (:token, :sent) AND "attempt" = :attempt
    AND "processed_at" IS NULL\
""",
        "present": """\
SELECT "job_id" FROM "report_jobs"
WHERE "job_id" = :id AND "locked_until" IN (:token, :sent) AND "attempt" = :attempt
    AND "processed_at" IS NULL\
""",
        "enqueue": """\
INSERT INTO "report_jobs" ("queue", "urgency", "customer", "payload", "note", "attempt",
    "retry_after")
VALUES (:queue, :urgency, :customer, :payload, :remark, 1, :retry_after)
RETURNING +"job_id"\
""",
        "redrive_oldest": """\
SELECT d."job_id" FROM "report_jobs_dead" AS d
WHERE (SELECT 1 FROM "report_jobs" AS q WHERE q."job_id" = d."job_id" LIMIT 1) IS NULL
ORDER BY d."died_at", d."job_id"
LIMIT :limit\
""",
        "redrive": """\
INSERT INTO "report_jobs" ("job_id", "queue", "urgency", "customer", "retry_after", "attempt",
    "locked_until", "processed_at", "payload", "note")
SELECT d."job_id", d."queue", COALESCE(d."urgency", 0), d."customer", :now, 1, NULL, NULL,
    d."payload", d."note"
FROM "report_jobs_dead" AS d
WHERE d."job_id" IN (SELECT value FROM json_each(:ids))
ON CONFLICT DO NOTHING
RETURNING +"job_id"\
""",
        "redrive_remove": """\
DELETE FROM "report_jobs_dead"
WHERE "job_id" IN (SELECT value FROM json_each(:ids))\
""",
        "dead_among": """\
SELECT d."job_id" FROM "report_jobs_dead" AS d
WHERE d."job_id" IN (SELECT value FROM json_each(:ids))\
""",
        "purge_oldest": """\
SELECT t."job_id", t."processed_at" FROM "report_jobs" AS t
WHERE t."processed_at" < :before
ORDER BY t."processed_at"
LIMIT :limit\
""",
        "purge_next": """\
SELECT t."job_id", t."processed_at" FROM "report_jobs" AS t
WHERE t."processed_at" < :before AND t."processed_at" >= :since
ORDER BY t."processed_at"
LIMIT :limit\
""",
        "purge": """\
DELETE FROM "report_jobs"
WHERE "job_id" IN (SELECT value FROM json_each(:ids))\
""",
        "purge_left": """\
SELECT t."job_id" FROM "report_jobs" AS t
WHERE t."job_id" IN (SELECT value FROM json_each(:ids))\
""",
        "stats_priorities": """\
WITH RECURSIVE step(priority) AS (
    SELECT MIN(t."urgency") FROM "report_jobs" AS t WHERE t."queue" = :group
        AND t."processed_at" IS NULL
    UNION ALL
    SELECT (SELECT MIN(t."urgency") FROM "report_jobs" AS t
            WHERE t."queue" = :group AND t."processed_at" IS NULL AND t."urgency" > step.priority)
    FROM step WHERE step.priority IS NOT NULL
)
SELECT priority FROM step WHERE priority IS NOT NULL\
""",
        "stats_priorities_table": """\
WITH RECURSIVE step(priority) AS (
    SELECT MIN(t."urgency") FROM "report_jobs" AS t WHERE t."processed_at" IS NULL
    UNION ALL
    SELECT (SELECT MIN(t."urgency") FROM "report_jobs" AS t
            WHERE t."processed_at" IS NULL AND t."urgency" > step.priority)
    FROM step WHERE step.priority IS NOT NULL
)
SELECT priority FROM step WHERE priority IS NOT NULL\
""",
        "stats_due": """\
SELECT COUNT(CASE WHEN ("locked_until" IS NULL OR "locked_until" <= :now) THEN 1 END) AS due_rows,
    COUNT(CASE WHEN "locked_until" > :now THEN 1 END) AS rows_in_work,
    MIN(CASE WHEN ("locked_until" IS NULL OR "locked_until" <= :now) THEN "retry_after" END) AS oldest,
    COUNT(*) AS looked_at
FROM (
    SELECT "job_id", "retry_after", "locked_until" FROM "report_jobs"
    WHERE "queue" = :group AND "processed_at" IS NULL AND "urgency" = :priority
        AND "retry_after" <= :now
    ORDER BY "retry_after", "job_id" LIMIT :most
) AS looked\
""",
        "stats_delayed": """\
SELECT COUNT(*) FROM (
    SELECT "job_id" FROM "report_jobs"
    WHERE "queue" = :group AND "processed_at" IS NULL AND "urgency" = :priority
        AND "retry_after" > :now
    ORDER BY "retry_after", "job_id" LIMIT :most
) AS looked\
""",
        "stats_due_table": """\
SELECT COUNT(CASE WHEN ("locked_until" IS NULL OR "locked_until" <= :now) THEN 1 END) AS due_rows,
    COUNT(CASE WHEN "locked_until" > :now THEN 1 END) AS rows_in_work,
    MIN(CASE WHEN ("locked_until" IS NULL OR "locked_until" <= :now) THEN "retry_after" END) AS oldest,
    COUNT(*) AS looked_at
FROM (
    SELECT "job_id", "retry_after", "locked_until" FROM "report_jobs"
    WHERE "processed_at" IS NULL AND "urgency" = :priority AND "retry_after" <= :now
    ORDER BY "retry_after", "job_id" LIMIT :most
) AS looked\
""",
        "stats_delayed_table": """\
SELECT COUNT(*) FROM (
    SELECT "job_id" FROM "report_jobs"
    WHERE "processed_at" IS NULL AND "urgency" = :priority AND "retry_after" > :now
    ORDER BY "retry_after", "job_id" LIMIT :most
) AS looked\
""",
        "stats_dead": """\
SELECT COUNT(*) FROM (SELECT "job_id" FROM "report_jobs_dead" LIMIT :most) AS looked\
""",
    },
}

QUEUE: _runtime.Queue[Delivery, Outcome, New, int] = _runtime.Queue(
    format=1,
    table=TABLE,
    form="lease",
    delivery=Delivery,
    outcomes=(Ack, Retry, RetryAfter, Discard, DeadLetter),
    id_type=int,
    row=Row,
    new=New,
    columns=(
        _runtime.Column(
            "job_id",
            "bigint",
        ),
        _runtime.Column(
            "queue",
            "varchar",
        ),
        _runtime.Column(
            "urgency",
            "smallint",
        ),
        _runtime.Column(
            "customer",
            "varchar",
        ),
        _runtime.Column(
            "retry_after",
            "timestamp(6)",
        ),
        _runtime.Column(
            "payload",
            "json",
            _Report,
        ),
        _runtime.Column(
            "remark",
            "text",
        ),
    ),
    id_field="job_id",
    order=(
        "urgency",
        "retry_after",
        "job_id",
    ),
    enqueued=(
        _runtime.Column(
            "queue",
            "varchar",
        ),
        _runtime.Column(
            "urgency",
            "smallint",
        ),
        _runtime.Column(
            "customer",
            "varchar",
        ),
        _runtime.Column(
            "payload",
            "json",
            _Report,
        ),
        _runtime.Column(
            "remark",
            "text",
        ),
    ),
    statements=_SQL,
    lease=LEASE,
    counts_attempts=True,
    max_attempts=5,
    retry=_runtime.RetryPolicy(
        "exponential",
        10,
        3600,
        0.0,
    ),
    partition="customer",
    retry_after=_runtime.Column(
        "retry_after",
        "timestamp(6)",
    ),
    group=_runtime.Column(
        "queue",
        "varchar",
    ),
    work=_runtime.Relation(
        "report_jobs",
        {
            "job_id": "bigint",
            "queue": "varchar",
            "urgency": "smallint",
            "customer": "varchar",
            "retry_after": "timestamp(6)",
            "attempt": "int",
            "locked_until": "timestamp(6)",
            "processed_at": "timestamp(6)",
            "payload": "json",
            "note": "text",
        },
        id="job_id",
        times=(
            "retry_after",
            "locked_until",
            "processed_at",
        ),
    ),
    dead=_runtime.Relation(
        "report_jobs_dead",
        {
            "job_id": "bigint",
            "queue": "varchar",
            "urgency": "smallint",
            "customer": "varchar",
            "retry_after": "timestamp(6)",
            "attempt": "int",
            "locked_until": "timestamp(6)",
            "processed_at": "timestamp(6)",
            "payload": "json",
            "note": "text",
            "reason": "text",
            "error": "text",
            "died_at": "timestamp(6)",
        },
        id="job_id",
    ),
)
