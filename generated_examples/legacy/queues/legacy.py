# From tables.toml: edit that and run `sqlclaimgen build`.
# format 1 · form lease · postgres, mysql, mariadb, sqlite
"""The work table Job Queue: lease form, PostgreSQL, MySQL, MariaDB and SQLite."""

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
]

TABLE = "Job Queue"
LEASE = _datetime.timedelta(seconds=120)

Connection: _t.TypeAlias = (
    _runtime.PostgresConnection | _runtime.MySQLConnection | _runtime.SQLiteConnection
)
AsyncConnection: _t.TypeAlias = _runtime.AsyncPostgresConnection
Outcome: _t.TypeAlias = Ack | Retry | RetryAfter | Discard | DeadLetter


@_dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class New:
    """A row to enqueue."""

    Job_No: str
    class_: str
    reply_to: str | None = None


@_dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A row as the claim returned it."""

    Job_No: str
    class_: str
    due: _datetime.datetime
    last_error: str | None
    reply_to: str | None


class Delivery(_runtime.LeaseDelivery[Row, str]):
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

    def retry(
        self,
        conn: Connection,
        error: str | None = None,
    ) -> None:
        """Make the row due now, behind the rows that are due, or claimed at once if none are."""
        _runtime.settle(conn, self, Retry(error))

    def retry_after(
        self,
        conn: Connection,
        delay: _datetime.timedelta,
        error: str | None = None,
    ) -> None:
        """Make the row due again after ``delay``."""
        _runtime.settle(conn, self, RetryAfter(delay, error))

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

    async def retry_async(
        self,
        conn: AsyncConnection,
        error: str | None = None,
    ) -> None:
        """Make the row due now, behind the rows that are due, or claimed at once if none are."""
        await _runtime.settle_async(conn, self, Retry(error))

    async def retry_after_async(
        self,
        conn: AsyncConnection,
        delay: _datetime.timedelta,
        error: str | None = None,
    ) -> None:
        """Make the row due again after ``delay``."""
        await _runtime.settle_async(conn, self, RetryAfter(delay, error))

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
) -> str:
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
) -> list[str]:
    """Add rows in the transaction of ``conn``. Returns their ids, in order."""
    return _runtime.enqueue_many(QUEUE, conn, rows, delay, at)


async def enqueue_async(
    conn: AsyncConnection,
    new: New,
    *,
    delay: _datetime.timedelta = _datetime.timedelta(0),
    at: _datetime.datetime | None = None,
) -> str:
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
) -> list[str]:
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
    limit: int = 1,
) -> _runtime.Claim[Delivery]:
    """Take up to ``limit`` due rows.

    The claim commits at once; the rows are held by the expiry in them.
    Raises TransactionOpen when ``conn`` has a transaction open.
    """
    return _runtime.claim(QUEUE, conn, _runtime.ONLY, limit)


def claim_async(
    conn: AsyncConnection,
    *,
    limit: int = 1,
) -> _runtime.AsyncClaim[Delivery]:
    """Take up to ``limit`` due rows.

    ``async with`` claims when its block is entered, and gives back when it is left.
    Raises TransactionOpen when ``conn`` has a transaction open.
    """
    return _runtime.claim_async(QUEUE, conn, _runtime.ONLY, limit)


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
) -> _runtime.StatsWithDead:
    """Count the rows that are due, delayed, in work and dead, up to 10,000."""
    return _runtime.stats(
        QUEUE,
        conn,
        _runtime.ONLY,
        _runtime.StatsWithDead,
    )


@_t.overload
def redrive(
    conn: Connection,
    *,
    ids: _Iterable[str],
) -> _runtime.Redriven[str]: ...


@_t.overload
def redrive(
    conn: Connection,
    *,
    limit: int,
) -> _runtime.Redriven[str]: ...


def redrive(
    conn: Connection,
    *,
    ids: _Iterable[str] | None = None,
    limit: int | None = None,
) -> _runtime.Redriven[str]:
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
) -> _runtime.StatsWithDead:
    """Count the rows that are due, delayed, in work and dead, up to 10,000."""
    return await _runtime.stats_async(
        QUEUE,
        conn,
        _runtime.ONLY,
        _runtime.StatsWithDead,
    )


@_t.overload
async def redrive_async(
    conn: AsyncConnection,
    *,
    ids: _Iterable[str],
) -> _runtime.Redriven[str]: ...


@_t.overload
async def redrive_async(
    conn: AsyncConnection,
    *,
    limit: int,
) -> _runtime.Redriven[str]: ...


async def redrive_async(
    conn: AsyncConnection,
    *,
    ids: _Iterable[str] | None = None,
    limit: int | None = None,
) -> _runtime.Redriven[str]:
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
WITH candidate AS (
    SELECT "Job No" FROM "Job Queue"
    WHERE "State" = 0 AND "Due" <= :now AND ("Locked" IS NULL OR "Locked" <= :now)
        AND "Job No" <> ALL(CAST(:set_aside AS varchar(40)[]))
    ORDER BY "Due", "Job No"
    LIMIT :limit
    FOR NO KEY UPDATE SKIP LOCKED
)
, taken AS (
    UPDATE "Job Queue" AS t
    SET "Locked" = :locked_until, "tries" = LEAST(t."tries", 2147483646) + 1
    WHERE t."Job No" = ANY(ARRAY(SELECT c."Job No" FROM candidate AS c))
    RETURNING t."Job No", t."class", t."Due", t."last error", t."reply-to", t."tries" - 1 AS "tries"
)
SELECT "Job No", "class", "Due", "last error", "reply-to", "tries"
FROM taken
ORDER BY "Due", "Job No"\
""",
        "candidates": """\
SELECT "Job No" FROM "Job Queue"
WHERE "State" = 0 AND "Due" <= :now AND ("Locked" IS NULL OR "Locked" <= :now)
    AND "Job No" <> ALL(CAST(:set_aside AS varchar(40)[]))
ORDER BY "Due", "Job No"
LIMIT :limit
FOR NO KEY UPDATE SKIP LOCKED\
""",
        "candidates_take": """\
UPDATE "Job Queue"
SET "Locked" = :locked_until, "tries" = LEAST("tries", 2147483646) + 1
WHERE "Job No" = ANY(CAST(:ids AS varchar(40)[]))
RETURNING "Job No", "class", "Due", "last error", "reply-to", "tries" - 1 AS "tries"\
""",
        "extend": """\
WITH held AS (
    SELECT * FROM unnest(CAST(:ids AS varchar(40)[]), CAST(:tokens AS timestamptz[]),
        CAST(:sents AS timestamptz[]), CAST(:attempts AS integer[])) AS h(id, token, sent, attempt)
), locked AS (
    SELECT h.* FROM "Job Queue" AS t JOIN held AS h ON t."Job No" = h.id
    WHERE t."Locked" IN (h.token, h.sent) AND t."tries" = h.attempt AND t."State" = 0
    FOR NO KEY UPDATE OF t SKIP LOCKED
)
UPDATE "Job Queue" AS t
SET "Locked" = :locked_until
FROM locked AS h
WHERE t."Job No" = h.id AND t."Locked" IN (h.token, h.sent) AND t."tries" = h.attempt
    AND t."State" = 0
RETURNING t."Job No"\
""",
        "held": """\
SELECT t."Job No", t."Locked"
FROM "Job Queue" AS t JOIN unnest(CAST(:ids AS varchar(40)[]), CAST(:tokens AS timestamptz[]),
    CAST(:sents AS timestamptz[]), CAST(:attempts AS integer[])) AS h(id, token, sent, attempt)
    ON t."Job No" = h.id AND t."Locked" IN (h.token, h.sent) AND t."tries" = h.attempt
        AND t."State" = 0\
""",
        "release": """\
UPDATE "Job Queue" AS t
SET "Locked" = NULL
FROM unnest(CAST(:ids AS varchar(40)[]), CAST(:tokens AS timestamptz[]),
    CAST(:sents AS timestamptz[]), CAST(:attempts AS integer[])) AS h(id, token, sent, attempt)
WHERE t."Job No" = h.id AND t."Locked" IN (h.token, h.sent) AND t."tries" = h.attempt
    AND t."State" = 0
RETURNING t."Job No"\
""",
        "give_back": """\
UPDATE "Job Queue" AS t
SET "Locked" = NULL, "tries" = t."tries" - 1
FROM unnest(CAST(:ids AS varchar(40)[]), CAST(:tokens AS timestamptz[]),
    CAST(:sents AS timestamptz[]), CAST(:attempts AS integer[])) AS h(id, token, sent, attempt)
WHERE t."Job No" = h.id AND t."Locked" IN (h.token, h.sent) AND t."tries" = h.attempt
    AND t."State" = 0
RETURNING t."Job No"\
""",
        "shorten": """\
WITH held AS (
    SELECT * FROM unnest(CAST(:ids AS varchar(40)[]), CAST(:tokens AS timestamptz[]),
        CAST(:sents AS timestamptz[]), CAST(:attempts AS integer[])) AS h(id, token, sent, attempt)
), locked AS (
    SELECT h.* FROM "Job Queue" AS t JOIN held AS h ON t."Job No" = h.id
    WHERE t."Locked" IN (h.token, h.sent) AND t."tries" = h.attempt AND t."State" = 0
    FOR NO KEY UPDATE OF t SKIP LOCKED
)
UPDATE "Job Queue" AS t
SET "Locked" = :soon, "tries" = t."tries" - 1
FROM locked AS h
WHERE t."Job No" = h.id AND t."Locked" IN (h.token, h.sent) AND t."tries" = h.attempt
    AND t."State" = 0
RETURNING t."Job No"\
""",
        "ack": """\
UPDATE "Job Queue"
SET "Done At" = :now, "State" = 1, "Locked" = NULL
WHERE "Job No" = :id AND "Locked" IN (:token, :sent) AND "tries" = :attempt AND "State" = 0\
""",
        "retry": """\
UPDATE "Job Queue"
SET "Due" = :now, "Locked" = NULL, "last error" = :error
WHERE "Job No" = :id AND "Locked" IN (:token, :sent) AND "tries" = :attempt AND "State" = 0\
""",
        "retry_after": """\
UPDATE "Job Queue"
SET "Due" = :due, "Locked" = NULL, "last error" = :error
WHERE "Job No" = :id AND "Locked" IN (:token, :sent) AND "tries" = :attempt AND "State" = 0\
""",
        "dead_letter": """\
UPDATE "Job Queue"
SET "Done At" = :now, "State" = 9, "Locked" = NULL, "last error" = COALESCE(CAST(:error AS text),
    CAST(:reason AS text))
WHERE "Job No" = :id AND "Locked" IN (:token, :sent) AND "tries" = :attempt AND "State" = 0\
""",
        "present": """\
SELECT "Job No" FROM "Job Queue"
WHERE "Job No" = :id AND "Locked" IN (:token, :sent) AND "tries" = :attempt AND "State" = 0\
""",
        "enqueue": """\
INSERT INTO "Job Queue" ("Job No", "class", "reply-to", "tries", "State", "Due")
VALUES (:Job_No, :class_, :reply_to, 1, 0, :due)
RETURNING "Job No"\
""",
        "redrive_oldest": """\
SELECT "Job No" FROM "Job Queue"
WHERE "State" = 9
ORDER BY "Done At", "Job No"
LIMIT :limit\
""",
        "redrive": """\
WITH chosen AS (
    SELECT "Job No" FROM "Job Queue"
    WHERE "Job No" = ANY(CAST(:ids AS varchar(40)[])) AND "State" = 9
    FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE "Job Queue" AS t
SET "State" = 0, "Done At" = NULL, "tries" = 1, "Due" = :now, "Locked" = NULL
FROM chosen AS c
WHERE t."Job No" = c."Job No"
RETURNING t."Job No"\
""",
        "purge_oldest": """\
SELECT t."Job No", t."Done At" FROM "Job Queue" AS t
WHERE t."Done At" < :before AND t."State" = 1
ORDER BY t."Done At"
LIMIT :limit
FOR UPDATE SKIP LOCKED\
""",
        "purge_next": """\
SELECT t."Job No", t."Done At" FROM "Job Queue" AS t
WHERE t."Done At" < :before AND t."State" = 1 AND t."Done At" >= :since
ORDER BY t."Done At"
LIMIT :limit
FOR UPDATE SKIP LOCKED\
""",
        "purge": """\
DELETE FROM "Job Queue"
WHERE "Job No" = ANY(CAST(:ids AS varchar(40)[]))\
""",
        "purge_left": """\
SELECT t."Job No" FROM "Job Queue" AS t
WHERE t."Job No" = ANY(CAST(:ids AS varchar(40)[]))\
""",
        "stats_due": """\
SELECT COUNT(CASE WHEN ("Locked" IS NULL OR "Locked" <= :now) THEN 1 END) AS due_rows,
    COUNT(CASE WHEN "Locked" > :now THEN 1 END) AS rows_in_work,
    MIN(CASE WHEN ("Locked" IS NULL OR "Locked" <= :now) THEN "Due" END) AS oldest,
    COUNT(*) AS looked_at
FROM (
    SELECT "Job No", "Due", "Locked" FROM "Job Queue"
    WHERE "State" = 0 AND "Due" <= :now
    ORDER BY "Due", "Job No" LIMIT :most
) AS looked\
""",
        "stats_delayed": """\
SELECT COUNT(*) FROM (
    SELECT "Job No" FROM "Job Queue"
    WHERE "State" = 0 AND "Due" > :now
    ORDER BY "Due", "Job No" LIMIT :most
) AS looked\
""",
        "stats_dead": """\
SELECT COUNT(*) FROM (
    SELECT "Job No" FROM "Job Queue"
    WHERE "State" = 9
    ORDER BY "Done At", "Job No"
    LIMIT :most
) AS looked\
""",
        "row_security": """\
SELECT row_security_active('"Job Queue"')\
""",
    },
    "mysql": {
        "claim": """\
SELECT t.`Job No`, t.`class`, t.`Due`, t.`last error`, t.`reply-to`, LEAST(t.`tries`,
    2147483646) AS `tries`
FROM (
        (SELECT `Job No` AS candidate_id,
            `Due` AS candidate_1 FROM `Job Queue` FORCE INDEX (`Job Queue_claim`)
         WHERE `State` = 0 AND `Due` <= :now AND `Locked` IS NULL
             AND COALESCE(`Job No` NOT IN (:set_aside), TRUE)
         ORDER BY `Due`, `Job No` LIMIT :window)
        UNION ALL
        (SELECT `Job No` AS candidate_id,
            `Due` AS candidate_1 FROM `Job Queue` FORCE INDEX (`Job Queue_claim`)
         WHERE `State` = 0 AND `Due` <= :now AND `Locked` <= :now
             AND COALESCE(`Job No` NOT IN (:set_aside), TRUE)
         ORDER BY `Due`, `Job No` LIMIT :window)
        ORDER BY candidate_1, candidate_id LIMIT :window
    ) AS c
STRAIGHT_JOIN `Job Queue` AS t FORCE INDEX (PRIMARY) ON t.`Job No` = c.candidate_id
WHERE t.`State` = 0 AND t.`Due` <= :now AND (t.`Locked` IS NULL OR t.`Locked` <= :now)
ORDER BY c.candidate_1, c.candidate_id
LIMIT :limit
FOR UPDATE OF t SKIP LOCKED\
""",
        "probe": """\
SELECT 1 FROM (
        (SELECT `Job No` AS candidate_id,
            `Due` AS candidate_1 FROM `Job Queue` FORCE INDEX (`Job Queue_claim`)
         WHERE `State` = 0 AND `Due` <= :now AND `Locked` IS NULL
             AND COALESCE(`Job No` NOT IN (:set_aside), TRUE)
         ORDER BY `Due`, `Job No` LIMIT :window)
        UNION ALL
        (SELECT `Job No` AS candidate_id,
            `Due` AS candidate_1 FROM `Job Queue` FORCE INDEX (`Job Queue_claim`)
         WHERE `State` = 0 AND `Due` <= :now AND `Locked` <= :now
             AND COALESCE(`Job No` NOT IN (:set_aside), TRUE)
         ORDER BY `Due`, `Job No` LIMIT :window)
        ORDER BY candidate_1, candidate_id LIMIT :window
    ) AS c
LIMIT 1 OFFSET :last\
""",
        "claim_write": """\
UPDATE `Job Queue`
SET `Locked` = :locked_until, `tries` = LEAST(`tries`, 2147483646) + 1
WHERE `Job No` IN (:ids)\
""",
        "extend": """\
SELECT `Job No` FROM `Job Queue` FORCE INDEX (PRIMARY)
WHERE `Job No` IN (:ids) AND (`Job No`, `Locked`, `tries`) IN (:held) AND `State` = 0
FOR UPDATE SKIP LOCKED\
""",
        "extend_write": """\
UPDATE `Job Queue` FORCE INDEX (PRIMARY)
SET `Locked` = :locked_until
WHERE `Job No` IN (:ids) AND (`Job No`, `Locked`, `tries`) IN (:held) AND `State` = 0\
""",
        "held": """\
SELECT `Job No`, `Locked` FROM `Job Queue` FORCE INDEX (PRIMARY)
WHERE `Job No` IN (:ids) AND (`Job No`, `Locked`, `tries`) IN (:held) AND `State` = 0\
""",
        "release": """\
UPDATE `Job Queue` FORCE INDEX (PRIMARY)
SET `Locked` = NULL
WHERE `Job No` IN (:ids) AND (`Job No`, `Locked`, `tries`) IN (:held) AND `State` = 0\
""",
        "give_back": """\
UPDATE `Job Queue` FORCE INDEX (PRIMARY)
SET `Locked` = NULL, `tries` = `tries` - 1
WHERE `Job No` IN (:ids) AND (`Job No`, `Locked`, `tries`) IN (:held) AND `State` = 0\
""",
        "shorten": """\
UPDATE `Job Queue` FORCE INDEX (PRIMARY)
SET `Locked` = :soon, `tries` = `tries` - 1
WHERE `Job No` IN (:ids) AND (`Job No`, `Locked`, `tries`) IN (:held) AND `State` = 0\
""",
        "ack": """\
UPDATE `Job Queue` FORCE INDEX (PRIMARY)
SET `Done At` = :now, `State` = 1, `Locked` = NULL
WHERE `Job No` = :id AND `Locked` IN (:token, :sent) AND `tries` = :attempt AND `State` = 0\
""",
        "retry": """\
UPDATE `Job Queue` FORCE INDEX (PRIMARY)
SET `Due` = :now, `Locked` = NULL, `last error` = :error
WHERE `Job No` = :id AND `Locked` IN (:token, :sent) AND `tries` = :attempt AND `State` = 0\
""",
        "retry_after": """\
UPDATE `Job Queue` FORCE INDEX (PRIMARY)
SET `Due` = :due, `Locked` = NULL, `last error` = :error
WHERE `Job No` = :id AND `Locked` IN (:token, :sent) AND `tries` = :attempt AND `State` = 0\
""",
        "dead_letter": """\
UPDATE `Job Queue` FORCE INDEX (PRIMARY)
SET `Done At` = :now, `State` = 9, `Locked` = NULL, `last error` = COALESCE(:error, :reason)
WHERE `Job No` = :id AND `Locked` IN (:token, :sent) AND `tries` = :attempt AND `State` = 0\
""",
        "enqueue": """\
INSERT INTO `Job Queue` (`Job No`, `class`, `reply-to`, `tries`, `State`, `Due`)
VALUES (:Job_No, :class_, :reply_to, 1, 0, :due)
\
""",
        "redrive_oldest": """\
SELECT `Job No` FROM `Job Queue` FORCE INDEX (`Job Queue_purge`)
WHERE `State` = 9
ORDER BY `Done At`, `Job No`
LIMIT :limit\
""",
        "redrive_lock": """\
SELECT t.`Job No` FROM `Job Queue` AS t FORCE INDEX (PRIMARY)
WHERE t.`Job No` IN (:ids) AND t.`State` = 9
ORDER BY t.`Job No`
FOR UPDATE OF t SKIP LOCKED\
""",
        "redrive": """\
UPDATE `Job Queue`
SET `State` = 0, `Done At` = NULL, `tries` = 1, `Due` = :now, `Locked` = NULL
WHERE `Job No` IN (:ids)\
""",
        "purge_oldest": """\
SELECT t.`Job No`, t.`Done At` FROM `Job Queue` AS t FORCE INDEX (`Job Queue_purge`)
WHERE t.`Done At` < :before AND t.`State` = 1
ORDER BY t.`Done At`
LIMIT :limit
FOR UPDATE OF t SKIP LOCKED\
""",
        "purge_next": """\
SELECT t.`Job No`, t.`Done At` FROM `Job Queue` AS t FORCE INDEX (`Job Queue_purge`)
WHERE t.`Done At` < :before AND t.`State` = 1 AND t.`Done At` >= :since
ORDER BY t.`Done At`
LIMIT :limit
FOR UPDATE OF t SKIP LOCKED\
""",
        "purge": """\
DELETE t FROM (
    SELECT `Job No` FROM `Job Queue`
    WHERE `Job No` IN (:ids)
    FOR UPDATE SKIP LOCKED
) AS c
STRAIGHT_JOIN `Job Queue` AS t FORCE INDEX (PRIMARY) ON t.`Job No` = c.`Job No`\
""",
        "purge_left": """\
SELECT t.`Job No` FROM `Job Queue` AS t
WHERE t.`Job No` IN (:ids)\
""",
        "stats_due": """\
SELECT COUNT(*) AS due_rows,
    MIN(`Due`) AS oldest,
    COUNT(*) AS looked_at
FROM (
    SELECT `Due` FROM `Job Queue` FORCE INDEX (`Job Queue_claim`)
    WHERE `State` = 0 AND `Locked` IS NULL AND `Due` <= :now
    ORDER BY `Due`, `Job No` LIMIT :most
) AS looked\
""",
        "stats_delayed": """\
SELECT COUNT(*) FROM (
    SELECT `Job No` FROM `Job Queue` FORCE INDEX (`Job Queue_claim`)
    WHERE `State` = 0 AND `Locked` IS NULL AND `Due` > :now
    ORDER BY `Due`, `Job No` LIMIT :most
) AS looked\
""",
        "stats_leased": """\
SELECT COUNT(CASE WHEN `Locked` <= :now THEN 1 END) AS due_rows,
    COUNT(CASE WHEN `Locked` > :now THEN 1 END) AS rows_in_work,
    MIN(CASE WHEN `Locked` <= :now THEN `Due` END) AS oldest,
    COUNT(*) AS looked_at
FROM (
    SELECT `Locked`, `Due` FROM `Job Queue` FORCE INDEX (`Job Queue_claim`)
    WHERE `State` = 0 AND `Locked` IS NOT NULL
    LIMIT :most
) AS looked\
""",
        "stats_dead": """\
SELECT COUNT(*) FROM (
    SELECT `Job No` FROM `Job Queue` FORCE INDEX (`Job Queue_purge`)
    WHERE `State` = 9
    ORDER BY `Done At`, `Job No`
    LIMIT :most
) AS looked\
""",
    },
    "mariadb": {
        "claim": """\
SELECT t.`Job No`, t.`class`, t.`Due`, t.`last error`, t.`reply-to`, LEAST(t.`tries`,
    2147483646) AS `tries`
FROM (
        (SELECT `Job No` AS candidate_id,
            `Due` AS candidate_1 FROM `Job Queue` FORCE INDEX (`Job Queue_claim`)
         WHERE `State` = 0 AND `Due` <= :now AND `Locked` IS NULL
             AND COALESCE(`Job No` NOT IN (:set_aside), TRUE)
         ORDER BY `Due`, `Job No` LIMIT :window)
        UNION ALL
        (SELECT `Job No` AS candidate_id,
            `Due` AS candidate_1 FROM `Job Queue` FORCE INDEX (`Job Queue_claim`)
         WHERE `State` = 0 AND `Due` <= :now AND `Locked` <= :now
             AND COALESCE(`Job No` NOT IN (:set_aside), TRUE)
         ORDER BY `Due`, `Job No` LIMIT :window)
        ORDER BY candidate_1, candidate_id LIMIT :window
    ) AS c
STRAIGHT_JOIN `Job Queue` AS t FORCE INDEX (PRIMARY) ON t.`Job No` = c.candidate_id
WHERE t.`State` = 0 AND t.`Due` <= :now AND (t.`Locked` IS NULL OR t.`Locked` <= :now)
ORDER BY c.candidate_1, c.candidate_id
LIMIT :limit
FOR UPDATE SKIP LOCKED\
""",
        "probe": """\
SELECT 1 FROM (
        (SELECT `Job No` AS candidate_id,
            `Due` AS candidate_1 FROM `Job Queue` FORCE INDEX (`Job Queue_claim`)
         WHERE `State` = 0 AND `Due` <= :now AND `Locked` IS NULL
             AND COALESCE(`Job No` NOT IN (:set_aside), TRUE)
         ORDER BY `Due`, `Job No` LIMIT :window)
        UNION ALL
        (SELECT `Job No` AS candidate_id,
            `Due` AS candidate_1 FROM `Job Queue` FORCE INDEX (`Job Queue_claim`)
         WHERE `State` = 0 AND `Due` <= :now AND `Locked` <= :now
             AND COALESCE(`Job No` NOT IN (:set_aside), TRUE)
         ORDER BY `Due`, `Job No` LIMIT :window)
        ORDER BY candidate_1, candidate_id LIMIT :window
    ) AS c
LIMIT 1 OFFSET :last\
""",
        "claim_write": """\
UPDATE `Job Queue`
SET `Locked` = :locked_until, `tries` = LEAST(`tries`, 2147483646) + 1
WHERE `Job No` IN (:ids)\
""",
        "extend": """\
SELECT `Job No` FROM `Job Queue` FORCE INDEX (PRIMARY)
WHERE `Job No` IN (:ids) AND (`Job No`, `Locked`, `tries`) IN (:held) AND `State` = 0
FOR UPDATE SKIP LOCKED\
""",
        "extend_write": """\
UPDATE `Job Queue` FORCE INDEX (PRIMARY)
SET `Locked` = :locked_until
WHERE `Job No` IN (:ids) AND (`Job No`, `Locked`, `tries`) IN (:held) AND `State` = 0\
""",
        "held": """\
SELECT `Job No`, `Locked` FROM `Job Queue` FORCE INDEX (PRIMARY)
WHERE `Job No` IN (:ids) AND (`Job No`, `Locked`, `tries`) IN (:held) AND `State` = 0\
""",
        "release": """\
UPDATE `Job Queue` FORCE INDEX (PRIMARY)
SET `Locked` = NULL
WHERE `Job No` IN (:ids) AND (`Job No`, `Locked`, `tries`) IN (:held) AND `State` = 0\
""",
        "give_back": """\
UPDATE `Job Queue` FORCE INDEX (PRIMARY)
SET `Locked` = NULL, `tries` = `tries` - 1
WHERE `Job No` IN (:ids) AND (`Job No`, `Locked`, `tries`) IN (:held) AND `State` = 0\
""",
        "shorten": """\
UPDATE `Job Queue` FORCE INDEX (PRIMARY)
SET `Locked` = :soon, `tries` = `tries` - 1
WHERE `Job No` IN (:ids) AND (`Job No`, `Locked`, `tries`) IN (:held) AND `State` = 0\
""",
        "ack": """\
UPDATE `Job Queue` FORCE INDEX (PRIMARY)
SET `Done At` = :now, `State` = 1, `Locked` = NULL
WHERE `Job No` = :id AND `Locked` IN (:token, :sent) AND `tries` = :attempt AND `State` = 0\
""",
        "retry": """\
UPDATE `Job Queue` FORCE INDEX (PRIMARY)
SET `Due` = :now, `Locked` = NULL, `last error` = :error
WHERE `Job No` = :id AND `Locked` IN (:token, :sent) AND `tries` = :attempt AND `State` = 0\
""",
        "retry_after": """\
UPDATE `Job Queue` FORCE INDEX (PRIMARY)
SET `Due` = :due, `Locked` = NULL, `last error` = :error
WHERE `Job No` = :id AND `Locked` IN (:token, :sent) AND `tries` = :attempt AND `State` = 0\
""",
        "dead_letter": """\
UPDATE `Job Queue` FORCE INDEX (PRIMARY)
SET `Done At` = :now, `State` = 9, `Locked` = NULL, `last error` = COALESCE(:error, :reason)
WHERE `Job No` = :id AND `Locked` IN (:token, :sent) AND `tries` = :attempt AND `State` = 0\
""",
        "enqueue": """\
INSERT INTO `Job Queue` (`Job No`, `class`, `reply-to`, `tries`, `State`, `Due`)
VALUES (:Job_No, :class_, :reply_to, 1, 0, :due)
RETURNING `Job No`\
""",
        "redrive_oldest": """\
SELECT `Job No` FROM `Job Queue` FORCE INDEX (`Job Queue_purge`)
WHERE `State` = 9
ORDER BY `Done At`, `Job No`
LIMIT :limit\
""",
        "redrive_lock": """\
SELECT t.`Job No` FROM `Job Queue` AS t FORCE INDEX (PRIMARY)
WHERE t.`Job No` IN (:ids) AND t.`State` = 9
ORDER BY t.`Job No`
FOR UPDATE SKIP LOCKED\
""",
        "redrive": """\
UPDATE `Job Queue`
SET `State` = 0, `Done At` = NULL, `tries` = 1, `Due` = :now, `Locked` = NULL
WHERE `Job No` IN (:ids)\
""",
        "purge_oldest": """\
SELECT t.`Job No`, t.`Done At` FROM `Job Queue` AS t FORCE INDEX (`Job Queue_purge`)
WHERE t.`Done At` < :before AND t.`State` = 1
ORDER BY t.`Done At`
LIMIT :limit
FOR UPDATE SKIP LOCKED\
""",
        "purge_next": """\
SELECT t.`Job No`, t.`Done At` FROM `Job Queue` AS t FORCE INDEX (`Job Queue_purge`)
WHERE t.`Done At` < :before AND t.`State` = 1 AND t.`Done At` >= :since
ORDER BY t.`Done At`
LIMIT :limit
FOR UPDATE SKIP LOCKED\
""",
        "purge": """\
DELETE t FROM (
    SELECT `Job No` FROM `Job Queue`
    WHERE `Job No` IN (:ids)
    FOR UPDATE SKIP LOCKED
) AS c
STRAIGHT_JOIN `Job Queue` AS t FORCE INDEX (PRIMARY) ON t.`Job No` = c.`Job No`\
""",
        "purge_left": """\
SELECT t.`Job No` FROM `Job Queue` AS t
WHERE t.`Job No` IN (:ids)\
""",
        "stats_due": """\
SELECT COUNT(*) AS due_rows,
    MIN(`Due`) AS oldest,
    COUNT(*) AS looked_at
FROM (
    SELECT `Due` FROM `Job Queue` FORCE INDEX (`Job Queue_claim`)
    WHERE `State` = 0 AND `Locked` IS NULL AND `Due` <= :now
    ORDER BY `Due`, `Job No` LIMIT :most
) AS looked\
""",
        "stats_delayed": """\
SELECT COUNT(*) FROM (
    SELECT `Job No` FROM `Job Queue` FORCE INDEX (`Job Queue_claim`)
    WHERE `State` = 0 AND `Locked` IS NULL AND `Due` > :now
    ORDER BY `Due`, `Job No` LIMIT :most
) AS looked\
""",
        "stats_leased": """\
SELECT COUNT(CASE WHEN `Locked` <= :now THEN 1 END) AS due_rows,
    COUNT(CASE WHEN `Locked` > :now THEN 1 END) AS rows_in_work,
    MIN(CASE WHEN `Locked` <= :now THEN `Due` END) AS oldest,
    COUNT(*) AS looked_at
FROM (
    SELECT `Locked`, `Due` FROM `Job Queue` FORCE INDEX (`Job Queue_claim`)
    WHERE `State` = 0 AND `Locked` IS NOT NULL
    LIMIT :most
) AS looked\
""",
        "stats_dead": """\
SELECT COUNT(*) FROM (
    SELECT `Job No` FROM `Job Queue` FORCE INDEX (`Job Queue_purge`)
    WHERE `State` = 9
    ORDER BY `Done At`, `Job No`
    LIMIT :most
) AS looked\
""",
    },
    "sqlite": {
        "claim": """\
UPDATE "Job Queue"
SET "Locked" = :locked_until, "tries" = MIN("tries", 9223372036854775806) + 1
WHERE "Job No" IN (
    SELECT "Job No" FROM "Job Queue"
    WHERE "State" = 0 AND "Due" <= :now AND ("Locked" IS NULL OR "Locked" <= :now)
        AND "Job No" NOT IN (SELECT value FROM json_each(:set_aside))
    ORDER BY "Due", "Job No"
    LIMIT :limit
)
RETURNING "Job No", "class", "Due", "last error", "reply-to", "tries" - 1 AS "tries"\
""",
        "candidates": """\
SELECT "Job No" FROM "Job Queue"
WHERE "State" = 0 AND "Due" <= :now AND ("Locked" IS NULL OR "Locked" <= :now)
    AND "Job No" NOT IN (SELECT value FROM json_each(:set_aside))
ORDER BY "Due", "Job No"
LIMIT :limit\
""",
        "candidates_take": """\
UPDATE "Job Queue"
SET "Locked" = :locked_until, "tries" = MIN("tries", 9223372036854775806) + 1
WHERE "Job No" IN (SELECT value FROM json_each(:ids))
RETURNING "Job No", "class", "Due", "last error", "reply-to", "tries" - 1 AS "tries"\
""",
        "extend": """\
UPDATE "Job Queue" AS t
SET "Locked" = :locked_until
WHERE t."Job No" IN (    SELECT r."Job No" FROM (
    SELECT json_extract(value, '$[0]') AS id, json_extract(value, '$[1]') AS token,
        json_extract(value, '$[2]') AS sent, json_extract(value, '$[3]') AS attempt
    FROM json_each(:held)
) AS h CROSS JOIN "Job Queue" AS r
    ON r."Job No" = h.id AND r."Locked" IN (h.token, h.sent) AND r."tries" = h.attempt
        AND r."State" = 0
)
RETURNING "Job No"\
""",
        "held": """\
SELECT t."Job No", t."Locked"
FROM (
    SELECT json_extract(value, '$[0]') AS id, json_extract(value, '$[1]') AS token,
        json_extract(value, '$[2]') AS sent, json_extract(value, '$[3]') AS attempt
    FROM json_each(:held)
) AS h
CROSS JOIN "Job Queue" AS t ON t."Job No" = h.id AND t."Locked" IN (h.token, h.sent)
    AND t."tries" = h.attempt AND t."State" = 0\
""",
        "release": """\
UPDATE "Job Queue" AS t
SET "Locked" = NULL
WHERE t."Job No" IN (    SELECT r."Job No" FROM (
    SELECT json_extract(value, '$[0]') AS id, json_extract(value, '$[1]') AS token,
        json_extract(value, '$[2]') AS sent, json_extract(value, '$[3]') AS attempt
    FROM json_each(:held)
) AS h CROSS JOIN "Job Queue" AS r
    ON r."Job No" = h.id AND r."Locked" IN (h.token, h.sent) AND r."tries" = h.attempt
        AND r."State" = 0
)
RETURNING "Job No"\
""",
        "give_back": """\
UPDATE "Job Queue" AS t
SET "Locked" = NULL, "tries" = t."tries" - 1
WHERE t."Job No" IN (    SELECT r."Job No" FROM (
    SELECT json_extract(value, '$[0]') AS id, json_extract(value, '$[1]') AS token,
        json_extract(value, '$[2]') AS sent, json_extract(value, '$[3]') AS attempt
    FROM json_each(:held)
) AS h CROSS JOIN "Job Queue" AS r
    ON r."Job No" = h.id AND r."Locked" IN (h.token, h.sent) AND r."tries" = h.attempt
        AND r."State" = 0
)
RETURNING "Job No"\
""",
        "shorten": """\
UPDATE "Job Queue" AS t
SET "Locked" = :soon, "tries" = t."tries" - 1
WHERE t."Job No" IN (    SELECT r."Job No" FROM (
    SELECT json_extract(value, '$[0]') AS id, json_extract(value, '$[1]') AS token,
        json_extract(value, '$[2]') AS sent, json_extract(value, '$[3]') AS attempt
    FROM json_each(:held)
) AS h CROSS JOIN "Job Queue" AS r
    ON r."Job No" = h.id AND r."Locked" IN (h.token, h.sent) AND r."tries" = h.attempt
        AND r."State" = 0
)
RETURNING "Job No"\
""",
        "ack": """\
UPDATE "Job Queue"
SET "Done At" = :now, "State" = 1, "Locked" = NULL
WHERE "Job No" = :id AND "Locked" IN (:token, :sent) AND "tries" = :attempt AND "State" = 0\
""",
        "retry": """\
UPDATE "Job Queue"
SET "Due" = :now, "Locked" = NULL, "last error" = :error
WHERE "Job No" = :id AND "Locked" IN (:token, :sent) AND "tries" = :attempt AND "State" = 0\
""",
        "retry_after": """\
UPDATE "Job Queue"
SET "Due" = :due, "Locked" = NULL, "last error" = :error
WHERE "Job No" = :id AND "Locked" IN (:token, :sent) AND "tries" = :attempt AND "State" = 0\
""",
        "dead_letter": """\
UPDATE "Job Queue"
SET "Done At" = :now, "State" = 9, "Locked" = NULL, "last error" = COALESCE(:error, :reason)
WHERE "Job No" = :id AND "Locked" IN (:token, :sent) AND "tries" = :attempt AND "State" = 0\
""",
        "present": """\
SELECT "Job No" FROM "Job Queue"
WHERE "Job No" = :id AND "Locked" IN (:token, :sent) AND "tries" = :attempt AND "State" = 0\
""",
        "enqueue": """\
INSERT INTO "Job Queue" ("Job No", "class", "reply-to", "tries", "State", "Due")
VALUES (:Job_No, :class_, :reply_to, 1, 0, :due)
RETURNING "Job No"\
""",
        "redrive_oldest": """\
SELECT "Job No" FROM "Job Queue"
WHERE "State" = 9
ORDER BY "Done At", "Job No"
LIMIT :limit\
""",
        "redrive": """\
UPDATE "Job Queue"
SET "State" = 0, "Done At" = NULL, "tries" = 1, "Due" = :now, "Locked" = NULL
WHERE "Job No" IN (SELECT value FROM json_each(:ids)) AND "State" = 9
RETURNING "Job No"\
""",
        "purge_oldest": """\
SELECT t."Job No", t."Done At" FROM "Job Queue" AS t
WHERE t."Done At" < :before AND t."State" = 1
ORDER BY t."Done At"
LIMIT :limit\
""",
        "purge_next": """\
SELECT t."Job No", t."Done At" FROM "Job Queue" AS t
WHERE t."Done At" < :before AND t."State" = 1 AND t."Done At" >= :since
ORDER BY t."Done At"
LIMIT :limit\
""",
        "purge": """\
DELETE FROM "Job Queue"
WHERE "Job No" IN (SELECT value FROM json_each(:ids))\
""",
        "purge_left": """\
SELECT t."Job No" FROM "Job Queue" AS t
WHERE t."Job No" IN (SELECT value FROM json_each(:ids))\
""",
        "stats_due": """\
SELECT COUNT(CASE WHEN ("Locked" IS NULL OR "Locked" <= :now) THEN 1 END) AS due_rows,
    COUNT(CASE WHEN "Locked" > :now THEN 1 END) AS rows_in_work,
    MIN(CASE WHEN ("Locked" IS NULL OR "Locked" <= :now) THEN "Due" END) AS oldest,
    COUNT(*) AS looked_at
FROM (
    SELECT "Job No", "Due", "Locked" FROM "Job Queue"
    WHERE "State" = 0 AND "Due" <= :now
    ORDER BY "Due", "Job No" LIMIT :most
) AS looked\
""",
        "stats_delayed": """\
SELECT COUNT(*) FROM (
    SELECT "Job No" FROM "Job Queue"
    WHERE "State" = 0 AND "Due" > :now
    ORDER BY "Due", "Job No" LIMIT :most
) AS looked\
""",
        "stats_dead": """\
SELECT COUNT(*) FROM (
    SELECT "Job No" FROM "Job Queue"
    WHERE "State" = 9
    ORDER BY "Done At", "Job No"
    LIMIT :most
) AS looked\
""",
    },
}

QUEUE: _runtime.Queue[Delivery, Outcome, New, str] = _runtime.Queue(
    format=1,
    table=TABLE,
    form="lease",
    delivery=Delivery,
    outcomes=(Ack, Retry, RetryAfter, Discard, DeadLetter),
    id_type=str,
    row=Row,
    new=New,
    columns=(
        _runtime.Column(
            "Job_No",
            "varchar",
        ),
        _runtime.Column(
            "class_",
            "varchar",
        ),
        _runtime.Column(
            "due",
            "timestamp(6)",
        ),
        _runtime.Column(
            "last_error",
            "varchar",
        ),
        _runtime.Column(
            "reply_to",
            "varchar",
        ),
    ),
    id_field="Job_No",
    order=(
        "due",
        "Job_No",
    ),
    enqueued=(
        _runtime.Column(
            "Job_No",
            "varchar",
        ),
        _runtime.Column(
            "class_",
            "varchar",
        ),
        _runtime.Column(
            "reply_to",
            "varchar",
        ),
    ),
    statements=_SQL,
    lease=LEASE,
    counts_attempts=True,
    retry_after=_runtime.Column(
        "due",
        "timestamp(6)",
    ),
    error_length=500,
    letter_length=500,
    work=_runtime.Relation(
        "Job Queue",
        {
            "Job No": "varchar",
            "class": "varchar",
            "Due": "timestamp(6)",
            "Locked": "timestamp(6)",
            "tries": "int",
            "State": "smallint",
            "Done At": "timestamp(6)",
            "last error": "varchar",
            "reply-to": "varchar",
        },
        id="Job No",
        times=(
            "Due",
            "Locked",
            "Done At",
        ),
    ),
)
