# From tables.toml: edit that and run `sqlclaimgen build`.
# format 1 · form advisory lock · postgres, mysql, mariadb, sqlite
"""The work table payouts: advisory lock form, PostgreSQL, MySQL, MariaDB and SQLite.

It imports the types of its columns: their modules may not import it at their top.
"""

from __future__ import annotations

import dataclasses as _dataclasses
import datetime as _datetime
import decimal as _decimal
import typing as _t
import uuid as _uuid
from collections.abc import Iterable as _Iterable

from sqlclaimgen import runtime as _runtime
from sqlclaimgen.runtime import Ack, DeadLetter, Discard, Retry, RetryAfter

__all__ = [
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
    "insert",
    "purge",
    "purge_async",
    "redrive",
    "redrive_async",
    "stats",
    "stats_async",
]

from money.models import Currency as _Currency

TABLE = "payouts"

Connection: _t.TypeAlias = (
    _runtime.PostgresConnection | _runtime.MySQLConnection | _runtime.SQLiteConnection
)
AsyncConnection: _t.TypeAlias = _runtime.AsyncPostgresConnection
Outcome: _t.TypeAlias = Ack | Retry | RetryAfter | Discard | DeadLetter


@_dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class New:
    """A row to enqueue."""

    id: _uuid.UUID
    account: str
    amount: _decimal.Decimal
    currency: _Currency = _dataclasses.field(
        default_factory=lambda: _Currency("EUR"),
    )


@_dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A row as the claim returned it."""

    id: _uuid.UUID
    account: str
    due_at: _datetime.datetime
    last_error: str | None
    amount: _decimal.Decimal
    currency: _Currency


class Delivery(_runtime.AdvisoryDelivery[Row, _uuid.UUID]):
    """One row in one worker's hands.

    Settling joins the transaction open on ``conn``, or commits its own.
    Every settlement raises ClaimLost when the key's lock is gone.
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
) -> _uuid.UUID:
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
) -> list[_uuid.UUID]:
    """Add rows in the transaction of ``conn``. Returns their ids, in order."""
    return _runtime.enqueue_many(QUEUE, conn, rows, delay, at)


async def enqueue_async(
    conn: AsyncConnection,
    new: New,
    *,
    delay: _datetime.timedelta = _datetime.timedelta(0),
    at: _datetime.datetime | None = None,
) -> _uuid.UUID:
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
) -> list[_uuid.UUID]:
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
) -> _runtime.Claim[Delivery]:
    """Take a due row.

    The row is held by a lock on its key until the block is left.
    Rows with the same key are in work one at a time, of this table or another.
    Raises ConnectionBusy when ``conn`` holds another delivery by its key.
    On SQLite this process keeps the keys: use one process per database file, for two
    do not see each other's keys and may both deliver a row.
    Raises TransactionOpen when ``conn`` has a transaction open.
    """
    return _runtime.claim(QUEUE, conn, _runtime.ONLY, 1)


def claim_async(
    conn: AsyncConnection,
) -> _runtime.AsyncClaim[Delivery]:
    """Take a due row.

    ``async with`` claims when its block is entered, and gives back when it is left.
    Raises TransactionOpen when ``conn`` has a transaction open.
    """
    return _runtime.claim_async(QUEUE, conn, _runtime.ONLY, 1)


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
    ids: _Iterable[_uuid.UUID],
) -> _runtime.Redriven[_uuid.UUID]: ...


@_t.overload
def redrive(
    conn: Connection,
    *,
    limit: int,
) -> _runtime.Redriven[_uuid.UUID]: ...


def redrive(
    conn: Connection,
    *,
    ids: _Iterable[_uuid.UUID] | None = None,
    limit: int | None = None,
) -> _runtime.Redriven[_uuid.UUID]:
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
    ids: _Iterable[_uuid.UUID],
) -> _runtime.Redriven[_uuid.UUID]: ...


@_t.overload
async def redrive_async(
    conn: AsyncConnection,
    *,
    limit: int,
) -> _runtime.Redriven[_uuid.UUID]: ...


async def redrive_async(
    conn: AsyncConnection,
    *,
    ids: _Iterable[_uuid.UUID] | None = None,
    limit: int | None = None,
) -> _runtime.Redriven[_uuid.UUID]:
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
SELECT c.candidate_id, c.candidate_key, hashtextextended(c.candidate_key COLLATE "C", 0),
    pg_backend_pid()
FROM (
    SELECT t."id" AS candidate_id, ('accounts-' || CAST(t."account" AS text)) AS candidate_key
    FROM "payouts" AS t
    WHERE t."paid_at" IS NULL AND t."due_at" <= :now AND t."id" <> ALL(CAST(:set_aside AS uuid[]))
    ORDER BY t."due_at", t."id"
    LIMIT :window
) AS c
WHERE CASE WHEN hashtextextended(c.candidate_key COLLATE "C",
    0) = ANY(CAST(:locks AS bigint[])) THEN FALSE
    ELSE pg_try_advisory_lock(hashtextextended(c.candidate_key COLLATE "C", 0)) END
LIMIT 1\
""",
        "probe": """\
SELECT t."due_at", t."id"
FROM "payouts" AS t
WHERE t."paid_at" IS NULL AND t."due_at" <= :now AND t."id" <> ALL(CAST(:set_aside AS uuid[]))
ORDER BY t."due_at", t."id"
LIMIT 1 OFFSET :last\
""",
        "by_index": """\
SELECT set_config('enable_sort', 'off', TRUE), set_config('enable_bitmapscan', 'off', TRUE),
    set_config('enable_seqscan', 'off', TRUE)\
""",
        "claim_further": """\
SELECT c.candidate_id, c.candidate_key, hashtextextended(c.candidate_key COLLATE "C", 0),
    pg_backend_pid()
FROM (
    SELECT t."id" AS candidate_id, ('accounts-' || CAST(t."account" AS text)) AS candidate_key
    FROM "payouts" AS t
    WHERE t."paid_at" IS NULL AND t."due_at" <= :now AND t."id" <> ALL(CAST(:set_aside AS uuid[]))
        AND (t."due_at", t."id") > (CAST(:seen_value AS timestamptz(6)), CAST(:seen_id AS uuid))
    ORDER BY t."due_at", t."id"
    LIMIT :window
) AS c
WHERE CASE WHEN hashtextextended(c.candidate_key COLLATE "C",
    0) = ANY(CAST(:locks AS bigint[])) THEN FALSE
    ELSE pg_try_advisory_lock(hashtextextended(c.candidate_key COLLATE "C", 0)) END
LIMIT 1\
""",
        "probe_further": """\
SELECT t."due_at", t."id"
FROM "payouts" AS t
WHERE t."paid_at" IS NULL AND t."due_at" <= :now AND t."id" <> ALL(CAST(:set_aside AS uuid[]))
    AND (t."due_at", t."id") > (CAST(:seen_value AS timestamptz(6)), CAST(:seen_id AS uuid))
ORDER BY t."due_at", t."id"
LIMIT 1 OFFSET :last\
""",
        "take": """\
UPDATE "payouts" AS t
SET "attempt" = LEAST(t."attempt", 2147483646) + 1
WHERE t."id" = :id AND t."paid_at" IS NULL AND t."due_at" <= :now
    AND hashtextextended(('accounts-' || CAST(t."account" AS text)) COLLATE "C", 0) = :lock
RETURNING t."id", t."account", t."due_at", t."last_error", t."amount", t."currency",
    t."attempt" - 1 AS "attempt"\
""",
        "give_back": """\
UPDATE "payouts"
SET "attempt" = "attempt" - 1
WHERE "id" = :id AND "attempt" = :attempt AND pg_backend_pid() = :session AND "paid_at" IS NULL\
""",
        "unlock": """\
SELECT pg_advisory_unlock(CAST(:lock AS bigint))\
""",
        "ack": """\
UPDATE "payouts"
SET "paid_at" = :now
WHERE "id" = :id AND "attempt" = :attempt AND pg_backend_pid() = :session AND "paid_at" IS NULL\
""",
        "retry": """\
UPDATE "payouts"
SET "due_at" = :now, "last_error" = :error
WHERE "id" = :id AND "attempt" = :attempt AND pg_backend_pid() = :session AND "paid_at" IS NULL\
""",
        "retry_after": """\
UPDATE "payouts"
SET "due_at" = :due, "last_error" = :error
WHERE "id" = :id AND "attempt" = :attempt AND pg_backend_pid() = :session AND "paid_at" IS NULL\
""",
        "dead_letter": """\
WITH moved AS (
    DELETE FROM "payouts"
    WHERE "id" = :id AND "attempt" = :attempt AND pg_backend_pid() = :session AND "paid_at" IS NULL
    RETURNING "id", "account", "due_at", "attempt", "paid_at", "last_error", "amount", "currency"
)
INSERT INTO "payouts_failed" ("id", "account", "due_at", "attempt", "paid_at", "last_error",
    "amount", "currency", "reason", "error", "failed_at")
SELECT "id", "account", "due_at", "attempt" - 1, "paid_at", "last_error", "amount", "currency",
    CAST(:reason AS text), CAST(:error AS text), :now
FROM moved
ON CONFLICT ("id") DO UPDATE
SET "account" = excluded."account", "due_at" = excluded."due_at", "attempt" = excluded."attempt",
    "paid_at" = excluded."paid_at", "last_error" = excluded."last_error",
    "amount" = excluded."amount", "currency" = excluded."currency", "reason" = excluded."reason",
    "error" = excluded."error", "failed_at" = excluded."failed_at"\
""",
        "present": """\
SELECT "id" FROM "payouts"
WHERE "id" = :id AND "attempt" = :attempt AND pg_backend_pid() = :session AND "paid_at" IS NULL\
""",
        "enqueue": """\
INSERT INTO "payouts" ("id", "account", "amount", "currency", "attempt", "due_at")
VALUES (:id, :account, :amount, :currency, 1, :due_at)
RETURNING "id"\
""",
        "redrive_oldest": """\
SELECT d."id" FROM "payouts_failed" AS d
WHERE (SELECT 1 FROM "payouts" AS q WHERE q."id" = d."id" LIMIT 1) IS NULL
ORDER BY d."failed_at", d."id"
LIMIT :limit\
""",
        "redrive": """\
WITH chosen AS (
    SELECT "id", "account", "due_at", "attempt", "paid_at", "last_error", "amount",
        "currency" FROM "payouts_failed"
    WHERE "id" = ANY(CAST(:ids AS uuid[]))
    ORDER BY "id"
    FOR UPDATE
), moved AS (
    INSERT INTO "payouts" ("id", "account", "due_at", "attempt", "paid_at", "last_error", "amount",
        "currency")
    SELECT d."id", d."account", :now, 1, NULL, d."last_error", d."amount", COALESCE(d."currency",
        'EUR')
    FROM chosen AS d
    ON CONFLICT DO NOTHING
    RETURNING "id"
)
DELETE FROM "payouts_failed" AS d USING moved AS c
WHERE d."id" = c."id"
RETURNING d."id"\
""",
        "dead_among": """\
SELECT d."id" FROM "payouts_failed" AS d
WHERE d."id" = ANY(CAST(:ids AS uuid[]))\
""",
        "purge_oldest": """\
SELECT t."id", t."paid_at" FROM "payouts" AS t
WHERE t."paid_at" < :before
ORDER BY t."paid_at"
LIMIT :limit
FOR UPDATE SKIP LOCKED\
""",
        "purge_next": """\
SELECT t."id", t."paid_at" FROM "payouts" AS t
WHERE t."paid_at" < :before AND t."paid_at" >= :since
ORDER BY t."paid_at"
LIMIT :limit
FOR UPDATE SKIP LOCKED\
""",
        "purge": """\
DELETE FROM "payouts"
WHERE "id" = ANY(CAST(:ids AS uuid[]))\
""",
        "purge_left": """\
SELECT t."id" FROM "payouts" AS t
WHERE t."id" = ANY(CAST(:ids AS uuid[]))\
""",
        "stats_due": """\
SELECT COUNT(*) AS due_rows,
    MIN("due_at") AS oldest,
    COUNT(*) AS looked_at
FROM (
    SELECT "id", "due_at" FROM "payouts"
    WHERE "paid_at" IS NULL AND "due_at" <= :now
    ORDER BY "due_at", "id" LIMIT :most
) AS looked\
""",
        "stats_delayed": """\
SELECT COUNT(*) FROM (
    SELECT "id" FROM "payouts"
    WHERE "paid_at" IS NULL AND "due_at" > :now
    ORDER BY "due_at", "id" LIMIT :most
) AS looked\
""",
        "stats_dead": """\
SELECT COUNT(*) FROM (SELECT "id" FROM "payouts_failed" LIMIT :most) AS looked\
""",
        "row_security": """\
SELECT row_security_active('"payouts"')
    OR row_security_active('"payouts_failed"')\
""",
    },
    "mysql": {
        "claim": """\
SELECT c.candidate_id, CAST(c.candidate_key AS BINARY), c.candidate_lock,
    IF(IS_USED_LOCK(c.candidate_lock) = CONNECTION_ID(), CONNECTION_ID(), NULL)
FROM (
    SELECT k.candidate_id, k.candidate_key,
        IF(CHAR_LENGTH(k.candidate_key) > 64 OR k.candidate_key REGEXP '[^a-z0-9_.-]',
        SHA2(k.candidate_key, 256), k.candidate_key) AS candidate_lock
    FROM (
        SELECT t.`id` AS candidate_id, CONCAT(CONVERT(DATABASE() USING utf8mb4),
            _utf8mb4'.accounts-',
            CONVERT(t.`account` USING utf8mb4)) COLLATE utf8mb4_bin AS candidate_key
        FROM `payouts` AS t FORCE INDEX (`payouts_claim`)
        WHERE t.`paid_at` IS NULL AND t.`due_at` <= :now AND COALESCE(t.`id` NOT IN (:set_aside),
            TRUE)
        ORDER BY t.`due_at`, t.`id`
        LIMIT :window
    ) AS k
    WHERE IS_FREE_LOCK(IF(CHAR_LENGTH(k.candidate_key) > 64 OR k.candidate_key REGEXP '[^a-z0-9_.-]',
        SHA2(k.candidate_key, 256), k.candidate_key)) = 1
    LIMIT :window
) AS c
WHERE COALESCE(GET_LOCK(c.candidate_lock, 0), 2) > 0
LIMIT 1\
""",
        "probe": """\
SELECT t.`due_at`, t.`id`
FROM `payouts` AS t FORCE INDEX (`payouts_claim`)
WHERE t.`paid_at` IS NULL AND t.`due_at` <= :now AND COALESCE(t.`id` NOT IN (:set_aside), TRUE)
ORDER BY t.`due_at`, t.`id`
LIMIT 1 OFFSET :last\
""",
        "claim_further": """\
SELECT c.candidate_id, CAST(c.candidate_key AS BINARY), c.candidate_lock,
    IF(IS_USED_LOCK(c.candidate_lock) = CONNECTION_ID(), CONNECTION_ID(), NULL)
FROM (
    SELECT k.candidate_id, k.candidate_key,
        IF(CHAR_LENGTH(k.candidate_key) > 64 OR k.candidate_key REGEXP '[^a-z0-9_.-]',
        SHA2(k.candidate_key, 256), k.candidate_key) AS candidate_lock
    FROM (
        SELECT tied.* FROM (
            SELECT t.`id` AS candidate_id, CONCAT(CONVERT(DATABASE() USING utf8mb4),
                _utf8mb4'.accounts-',
                CONVERT(t.`account` USING utf8mb4)) COLLATE utf8mb4_bin AS candidate_key
            FROM `payouts` AS t FORCE INDEX (`payouts_claim`)
            WHERE t.`paid_at` IS NULL AND t.`due_at` <= :now
                AND COALESCE(t.`id` NOT IN (:set_aside), TRUE)
                AND t.`due_at` >= :seen_value AND t.`due_at` <= :seen_value AND t.`id` > :seen_id
            ORDER BY t.`due_at`, t.`id`
            LIMIT :window
        ) AS tied
        UNION ALL
        SELECT later.* FROM (
            SELECT t.`id` AS candidate_id, CONCAT(CONVERT(DATABASE() USING utf8mb4),
                _utf8mb4'.accounts-',
                CONVERT(t.`account` USING utf8mb4)) COLLATE utf8mb4_bin AS candidate_key
            FROM `payouts` AS t FORCE INDEX (`payouts_claim`)
            WHERE t.`paid_at` IS NULL AND t.`due_at` <= :now
                AND COALESCE(t.`id` NOT IN (:set_aside), TRUE)
                AND t.`due_at` > :seen_value
            ORDER BY t.`due_at`, t.`id`
            LIMIT :window
        ) AS later
        LIMIT :window
    ) AS k
    WHERE IS_FREE_LOCK(IF(CHAR_LENGTH(k.candidate_key) > 64 OR k.candidate_key REGEXP '[^a-z0-9_.-]',
        SHA2(k.candidate_key, 256), k.candidate_key)) = 1
    LIMIT :window
) AS c
WHERE COALESCE(GET_LOCK(c.candidate_lock, 0), 2) > 0
LIMIT 1\
""",
        "probe_further": """\
SELECT tied.* FROM (
    SELECT t.`due_at`, t.`id`
    FROM `payouts` AS t FORCE INDEX (`payouts_claim`)
    WHERE t.`paid_at` IS NULL AND t.`due_at` <= :now AND COALESCE(t.`id` NOT IN (:set_aside), TRUE)
        AND t.`due_at` >= :seen_value AND t.`due_at` <= :seen_value AND t.`id` > :seen_id
    ORDER BY t.`due_at`, t.`id`
    LIMIT :window
) AS tied
UNION ALL
SELECT later.* FROM (
    SELECT t.`due_at`, t.`id`
    FROM `payouts` AS t FORCE INDEX (`payouts_claim`)
    WHERE t.`paid_at` IS NULL AND t.`due_at` <= :now AND COALESCE(t.`id` NOT IN (:set_aside), TRUE)
        AND t.`due_at` > :seen_value
    ORDER BY t.`due_at`, t.`id`
    LIMIT :window
) AS later
LIMIT 1 OFFSET :last\
""",
        "take": """\
SELECT t.`id`, t.`account`, t.`due_at`, t.`last_error`, t.`amount`, t.`currency`, LEAST(t.`attempt`,
    2147483646) AS `attempt` FROM `payouts` AS t
WHERE t.`id` = :id AND t.`paid_at` IS NULL AND t.`due_at` <= :now
    AND CAST(CONCAT(CONVERT(DATABASE() USING utf8mb4), _utf8mb4'.accounts-',
        CONVERT(t.`account` USING utf8mb4)) COLLATE utf8mb4_bin AS BINARY) = :key_text
FOR UPDATE\
""",
        "take_write": """\
UPDATE `payouts`
SET `attempt` = LEAST(`attempt`, 2147483646) + 1
WHERE `id` = :id\
""",
        "give_back": """\
UPDATE `payouts`
SET `attempt` = `attempt` - 1
WHERE `id` = :id AND `attempt` = :attempt AND IS_USED_LOCK(:lock_name) = CONNECTION_ID()
    AND `paid_at` IS NULL\
""",
        "unlock": """\
SELECT RELEASE_LOCK(:lock_name)\
""",
        "ack": """\
UPDATE `payouts` FORCE INDEX (PRIMARY)
SET `paid_at` = :now
WHERE `id` = :id AND `attempt` = :attempt AND IS_USED_LOCK(:lock_name) = CONNECTION_ID()
    AND `paid_at` IS NULL\
""",
        "retry": """\
UPDATE `payouts` FORCE INDEX (PRIMARY)
SET `due_at` = :now, `last_error` = :error
WHERE `id` = :id AND `attempt` = :attempt AND IS_USED_LOCK(:lock_name) = CONNECTION_ID()
    AND `paid_at` IS NULL\
""",
        "retry_after": """\
UPDATE `payouts` FORCE INDEX (PRIMARY)
SET `due_at` = :due, `last_error` = :error
WHERE `id` = :id AND `attempt` = :attempt AND IS_USED_LOCK(:lock_name) = CONNECTION_ID()
    AND `paid_at` IS NULL\
""",
        "dead_letter": """\
INSERT INTO `payouts_failed` (`id`, `account`, `due_at`, `attempt`, `paid_at`, `last_error`,
    `amount`, `currency`, `reason`, `error`, `failed_at`)
SELECT `id`, `account`, `due_at`, `attempt` - 1, `paid_at`, `last_error`, `amount`, `currency`,
    :reason, :error, :now
FROM `payouts` FORCE INDEX (PRIMARY)
WHERE `id` = :id AND `attempt` = :attempt AND IS_USED_LOCK(:lock_name) = CONNECTION_ID()
    AND `paid_at` IS NULL
FOR UPDATE
ON DUPLICATE KEY UPDATE `account` = VALUES(`account`), `due_at` = VALUES(`due_at`),
    `attempt` = VALUES(`attempt`), `paid_at` = VALUES(`paid_at`),
    `last_error` = VALUES(`last_error`), `amount` = VALUES(`amount`),
    `currency` = VALUES(`currency`), `reason` = VALUES(`reason`), `error` = VALUES(`error`),
    `failed_at` = VALUES(`failed_at`)\
""",
        "dead_letter_remove": """\
DELETE settled FROM `payouts` AS settled FORCE INDEX (PRIMARY)
WHERE `id` = :id AND `attempt` = :attempt AND IS_USED_LOCK(:lock_name) = CONNECTION_ID()
    AND `paid_at` IS NULL\
""",
        "present": """\
SELECT `id` FROM `payouts`
WHERE `id` = :id AND `attempt` = :attempt AND IS_USED_LOCK(:lock_name) = CONNECTION_ID()
    AND `paid_at` IS NULL
FOR UPDATE\
""",
        "enqueue": """\
INSERT INTO `payouts` (`id`, `account`, `amount`, `currency`, `attempt`, `due_at`)
VALUES (:id, :account, :amount, :currency, 1, :due_at)
\
""",
        "redrive_oldest": """\
SELECT d.`id` FROM `payouts_failed` AS d FORCE INDEX (`payouts_failed_oldest`)
WHERE (SELECT 1 FROM `payouts` AS q WHERE q.`id` = d.`id` LIMIT 1) IS NULL
ORDER BY d.`failed_at`, d.`id`
LIMIT :limit\
""",
        "redrive_lock": """\
SELECT t.`id` FROM `payouts_failed` AS t FORCE INDEX (PRIMARY)
WHERE t.`id` IN (:ids)
ORDER BY t.`id`
FOR UPDATE\
""",
        "redrive": """\
INSERT INTO `payouts` (`id`, `account`, `due_at`, `attempt`, `paid_at`, `last_error`, `amount`,
    `currency`)
SELECT d.`id`, d.`account`, :now, 1, NULL, d.`last_error`, d.`amount`, COALESCE(d.`currency`, 'EUR')
FROM `payouts_failed` AS d
WHERE d.`id` IN (:ids)
FOR UPDATE\
""",
        "redrive_remove": """\
DELETE t FROM (
    SELECT `id` FROM `payouts_failed`
    WHERE `id` IN (:ids)
    FOR UPDATE SKIP LOCKED
) AS c
STRAIGHT_JOIN `payouts_failed` AS t FORCE INDEX (PRIMARY) ON t.`id` = c.`id`\
""",
        "purge_oldest": """\
SELECT t.`id`, t.`paid_at` FROM `payouts` AS t FORCE INDEX (`payouts_claim`)
WHERE t.`paid_at` < :before
ORDER BY t.`paid_at`
LIMIT :limit
FOR UPDATE OF t SKIP LOCKED\
""",
        "purge_next": """\
SELECT t.`id`, t.`paid_at` FROM `payouts` AS t FORCE INDEX (`payouts_claim`)
WHERE t.`paid_at` < :before AND t.`paid_at` >= :since
ORDER BY t.`paid_at`
LIMIT :limit
FOR UPDATE OF t SKIP LOCKED\
""",
        "purge": """\
DELETE t FROM (
    SELECT `id` FROM `payouts`
    WHERE `id` IN (:ids)
    FOR UPDATE SKIP LOCKED
) AS c
STRAIGHT_JOIN `payouts` AS t FORCE INDEX (PRIMARY) ON t.`id` = c.`id`\
""",
        "purge_left": """\
SELECT t.`id` FROM `payouts` AS t
WHERE t.`id` IN (:ids)\
""",
        "stats_due": """\
SELECT COUNT(*) AS due_rows,
    MIN(`due_at`) AS oldest,
    COUNT(*) AS looked_at
FROM (
    SELECT `id`, `due_at` FROM `payouts` FORCE INDEX (`payouts_claim`)
    WHERE `paid_at` IS NULL AND `due_at` <= :now
    ORDER BY `due_at`, `id` LIMIT :most
) AS looked\
""",
        "stats_delayed": """\
SELECT COUNT(*) FROM (
    SELECT `id` FROM `payouts` FORCE INDEX (`payouts_claim`)
    WHERE `paid_at` IS NULL AND `due_at` > :now
    ORDER BY `due_at`, `id` LIMIT :most
) AS looked\
""",
        "stats_dead": """\
SELECT COUNT(*) FROM (SELECT `id` FROM `payouts_failed` LIMIT :most) AS looked\
""",
    },
    "mariadb": {
        "claim": """\
SELECT c.candidate_id, CAST(c.candidate_key AS BINARY), c.candidate_lock,
    IF(IS_USED_LOCK(c.candidate_lock) = CONNECTION_ID(), CONNECTION_ID(), NULL)
FROM (
    SELECT k.candidate_id, k.candidate_key,
        IF(CHAR_LENGTH(k.candidate_key) > 64 OR k.candidate_key REGEXP '[^a-z0-9_.-]',
        SHA2(k.candidate_key, 256), k.candidate_key) AS candidate_lock
    FROM (
        SELECT t.`id` AS candidate_id, CONCAT(CONVERT(DATABASE() USING utf8mb4),
            _utf8mb4'.accounts-',
            CONVERT(t.`account` USING utf8mb4)) COLLATE utf8mb4_bin AS candidate_key
        FROM `payouts` AS t FORCE INDEX (`payouts_claim`)
        WHERE t.`paid_at` IS NULL AND t.`due_at` <= :now AND COALESCE(t.`id` NOT IN (:set_aside),
            TRUE)
        ORDER BY t.`due_at`, t.`id`
        LIMIT :window
    ) AS k
    WHERE IS_FREE_LOCK(IF(CHAR_LENGTH(k.candidate_key) > 64 OR k.candidate_key REGEXP '[^a-z0-9_.-]',
        SHA2(k.candidate_key, 256), k.candidate_key)) = 1
    LIMIT :window
) AS c
WHERE COALESCE(GET_LOCK(c.candidate_lock, 0), 2) > 0
LIMIT 1\
""",
        "probe": """\
SELECT t.`due_at`, t.`id`
FROM `payouts` AS t FORCE INDEX (`payouts_claim`)
WHERE t.`paid_at` IS NULL AND t.`due_at` <= :now AND COALESCE(t.`id` NOT IN (:set_aside), TRUE)
ORDER BY t.`due_at`, t.`id`
LIMIT 1 OFFSET :last\
""",
        "claim_further": """\
SELECT c.candidate_id, CAST(c.candidate_key AS BINARY), c.candidate_lock,
    IF(IS_USED_LOCK(c.candidate_lock) = CONNECTION_ID(), CONNECTION_ID(), NULL)
FROM (
    SELECT k.candidate_id, k.candidate_key,
        IF(CHAR_LENGTH(k.candidate_key) > 64 OR k.candidate_key REGEXP '[^a-z0-9_.-]',
        SHA2(k.candidate_key, 256), k.candidate_key) AS candidate_lock
    FROM (
        SELECT tied.* FROM (
            SELECT t.`id` AS candidate_id, CONCAT(CONVERT(DATABASE() USING utf8mb4),
                _utf8mb4'.accounts-',
                CONVERT(t.`account` USING utf8mb4)) COLLATE utf8mb4_bin AS candidate_key
            FROM `payouts` AS t FORCE INDEX (`payouts_claim`)
            WHERE t.`paid_at` IS NULL AND t.`due_at` <= :now
                AND COALESCE(t.`id` NOT IN (:set_aside), TRUE)
                AND t.`due_at` >= :seen_value AND t.`due_at` <= :seen_value AND t.`id` > :seen_id
            ORDER BY t.`due_at`, t.`id`
            LIMIT :window
        ) AS tied
        UNION ALL
        SELECT later.* FROM (
            SELECT t.`id` AS candidate_id, CONCAT(CONVERT(DATABASE() USING utf8mb4),
                _utf8mb4'.accounts-',
                CONVERT(t.`account` USING utf8mb4)) COLLATE utf8mb4_bin AS candidate_key
            FROM `payouts` AS t FORCE INDEX (`payouts_claim`)
            WHERE t.`paid_at` IS NULL AND t.`due_at` <= :now
                AND COALESCE(t.`id` NOT IN (:set_aside), TRUE)
                AND t.`due_at` > :seen_value
            ORDER BY t.`due_at`, t.`id`
            LIMIT :window
        ) AS later
        LIMIT :window
    ) AS k
    WHERE IS_FREE_LOCK(IF(CHAR_LENGTH(k.candidate_key) > 64 OR k.candidate_key REGEXP '[^a-z0-9_.-]',
        SHA2(k.candidate_key, 256), k.candidate_key)) = 1
    LIMIT :window
) AS c
WHERE COALESCE(GET_LOCK(c.candidate_lock, 0), 2) > 0
LIMIT 1\
""",
        "probe_further": """\
SELECT tied.* FROM (
    SELECT t.`due_at`, t.`id`
    FROM `payouts` AS t FORCE INDEX (`payouts_claim`)
    WHERE t.`paid_at` IS NULL AND t.`due_at` <= :now AND COALESCE(t.`id` NOT IN (:set_aside), TRUE)
        AND t.`due_at` >= :seen_value AND t.`due_at` <= :seen_value AND t.`id` > :seen_id
    ORDER BY t.`due_at`, t.`id`
    LIMIT :window
) AS tied
UNION ALL
SELECT later.* FROM (
    SELECT t.`due_at`, t.`id`
    FROM `payouts` AS t FORCE INDEX (`payouts_claim`)
    WHERE t.`paid_at` IS NULL AND t.`due_at` <= :now AND COALESCE(t.`id` NOT IN (:set_aside), TRUE)
        AND t.`due_at` > :seen_value
    ORDER BY t.`due_at`, t.`id`
    LIMIT :window
) AS later
LIMIT 1 OFFSET :last\
""",
        "take": """\
SELECT t.`id`, t.`account`, t.`due_at`, t.`last_error`, t.`amount`, t.`currency`, LEAST(t.`attempt`,
    2147483646) AS `attempt` FROM `payouts` AS t
WHERE t.`id` = :id AND t.`paid_at` IS NULL AND t.`due_at` <= :now
    AND CAST(CONCAT(CONVERT(DATABASE() USING utf8mb4), _utf8mb4'.accounts-',
        CONVERT(t.`account` USING utf8mb4)) COLLATE utf8mb4_bin AS BINARY) = :key_text
FOR UPDATE\
""",
        "take_write": """\
UPDATE `payouts`
SET `attempt` = LEAST(`attempt`, 2147483646) + 1
WHERE `id` = :id\
""",
        "give_back": """\
UPDATE `payouts`
SET `attempt` = `attempt` - 1
WHERE `id` = :id AND `attempt` = :attempt AND IS_USED_LOCK(:lock_name) = CONNECTION_ID()
    AND `paid_at` IS NULL\
""",
        "unlock": """\
SELECT RELEASE_LOCK(:lock_name)\
""",
        "ack": """\
UPDATE `payouts` FORCE INDEX (PRIMARY)
SET `paid_at` = :now
WHERE `id` = :id AND `attempt` = :attempt AND IS_USED_LOCK(:lock_name) = CONNECTION_ID()
    AND `paid_at` IS NULL\
""",
        "retry": """\
UPDATE `payouts` FORCE INDEX (PRIMARY)
SET `due_at` = :now, `last_error` = :error
WHERE `id` = :id AND `attempt` = :attempt AND IS_USED_LOCK(:lock_name) = CONNECTION_ID()
    AND `paid_at` IS NULL\
""",
        "retry_after": """\
UPDATE `payouts` FORCE INDEX (PRIMARY)
SET `due_at` = :due, `last_error` = :error
WHERE `id` = :id AND `attempt` = :attempt AND IS_USED_LOCK(:lock_name) = CONNECTION_ID()
    AND `paid_at` IS NULL\
""",
        "dead_letter": """\
INSERT INTO `payouts_failed` (`id`, `account`, `due_at`, `attempt`, `paid_at`, `last_error`,
    `amount`, `currency`, `reason`, `error`, `failed_at`)
SELECT `id`, `account`, `due_at`, `attempt` - 1, `paid_at`, `last_error`, `amount`, `currency`,
    :reason, :error, :now
FROM `payouts` FORCE INDEX (PRIMARY)
WHERE `id` = :id AND `attempt` = :attempt AND IS_USED_LOCK(:lock_name) = CONNECTION_ID()
    AND `paid_at` IS NULL
FOR UPDATE
ON DUPLICATE KEY UPDATE `account` = VALUES(`account`), `due_at` = VALUES(`due_at`),
    `attempt` = VALUES(`attempt`), `paid_at` = VALUES(`paid_at`),
    `last_error` = VALUES(`last_error`), `amount` = VALUES(`amount`),
    `currency` = VALUES(`currency`), `reason` = VALUES(`reason`), `error` = VALUES(`error`),
    `failed_at` = VALUES(`failed_at`)\
""",
        "dead_letter_remove": """\
DELETE settled FROM `payouts` AS settled FORCE INDEX (PRIMARY)
WHERE `id` = :id AND `attempt` = :attempt AND IS_USED_LOCK(:lock_name) = CONNECTION_ID()
    AND `paid_at` IS NULL\
""",
        "present": """\
SELECT `id` FROM `payouts`
WHERE `id` = :id AND `attempt` = :attempt AND IS_USED_LOCK(:lock_name) = CONNECTION_ID()
    AND `paid_at` IS NULL
FOR UPDATE\
""",
        "enqueue": """\
INSERT INTO `payouts` (`id`, `account`, `amount`, `currency`, `attempt`, `due_at`)
VALUES (:id, :account, :amount, :currency, 1, :due_at)
RETURNING `id`\
""",
        "redrive_oldest": """\
SELECT d.`id` FROM `payouts_failed` AS d FORCE INDEX (`payouts_failed_oldest`)
WHERE (SELECT 1 FROM `payouts` AS q WHERE q.`id` = d.`id` LIMIT 1) IS NULL
ORDER BY d.`failed_at`, d.`id`
LIMIT :limit\
""",
        "redrive_lock": """\
SELECT t.`id` FROM `payouts_failed` AS t FORCE INDEX (PRIMARY)
WHERE t.`id` IN (:ids)
ORDER BY t.`id`
FOR UPDATE\
""",
        "redrive": """\
INSERT INTO `payouts` (`id`, `account`, `due_at`, `attempt`, `paid_at`, `last_error`, `amount`,
    `currency`)
SELECT d.`id`, d.`account`, :now, 1, NULL, d.`last_error`, d.`amount`, COALESCE(d.`currency`, 'EUR')
FROM `payouts_failed` AS d
WHERE d.`id` IN (:ids)
FOR UPDATE\
""",
        "redrive_remove": """\
DELETE t FROM (
    SELECT `id` FROM `payouts_failed`
    WHERE `id` IN (:ids)
    FOR UPDATE SKIP LOCKED
) AS c
STRAIGHT_JOIN `payouts_failed` AS t FORCE INDEX (PRIMARY) ON t.`id` = c.`id`\
""",
        "purge_oldest": """\
SELECT t.`id`, t.`paid_at` FROM `payouts` AS t FORCE INDEX (`payouts_claim`)
WHERE t.`paid_at` < :before
ORDER BY t.`paid_at`
LIMIT :limit
FOR UPDATE SKIP LOCKED\
""",
        "purge_next": """\
SELECT t.`id`, t.`paid_at` FROM `payouts` AS t FORCE INDEX (`payouts_claim`)
WHERE t.`paid_at` < :before AND t.`paid_at` >= :since
ORDER BY t.`paid_at`
LIMIT :limit
FOR UPDATE SKIP LOCKED\
""",
        "purge": """\
DELETE t FROM (
    SELECT `id` FROM `payouts`
    WHERE `id` IN (:ids)
    FOR UPDATE SKIP LOCKED
) AS c
STRAIGHT_JOIN `payouts` AS t FORCE INDEX (PRIMARY) ON t.`id` = c.`id`\
""",
        "purge_left": """\
SELECT t.`id` FROM `payouts` AS t
WHERE t.`id` IN (:ids)\
""",
        "stats_due": """\
SELECT COUNT(*) AS due_rows,
    MIN(`due_at`) AS oldest,
    COUNT(*) AS looked_at
FROM (
    SELECT `id`, `due_at` FROM `payouts` FORCE INDEX (`payouts_claim`)
    WHERE `paid_at` IS NULL AND `due_at` <= :now
    ORDER BY `due_at`, `id` LIMIT :most
) AS looked\
""",
        "stats_delayed": """\
SELECT COUNT(*) FROM (
    SELECT `id` FROM `payouts` FORCE INDEX (`payouts_claim`)
    WHERE `paid_at` IS NULL AND `due_at` > :now
    ORDER BY `due_at`, `id` LIMIT :most
) AS looked\
""",
        "stats_dead": """\
SELECT COUNT(*) FROM (SELECT `id` FROM `payouts_failed` LIMIT :most) AS looked\
""",
    },
    "sqlite": {
        "key_space": """\
SELECT file FROM pragma_database_list
WHERE name = 'main' COLLATE NOCASE\
""",
        "claim": """\
SELECT c.candidate_id, c.candidate_key
FROM (
    SELECT t."id" AS candidate_id, ('accounts-' || CAST(t."account" AS TEXT)) AS candidate_key
    FROM "payouts" AS t
    WHERE t."paid_at" IS NULL AND t."due_at" <= :now
        AND t."id" NOT IN (SELECT value FROM json_each(:set_aside))
    ORDER BY t."due_at", t."id"
    LIMIT :window
) AS c
WHERE c.candidate_key NOT IN (SELECT value FROM json_each(:keys))
LIMIT 1\
""",
        "probe": """\
SELECT t."due_at", t."id"
FROM "payouts" AS t
WHERE t."paid_at" IS NULL AND t."due_at" <= :now
    AND t."id" NOT IN (SELECT value FROM json_each(:set_aside))
ORDER BY t."due_at", t."id"
LIMIT 1 OFFSET :last\
""",
        "claim_further": """\
SELECT c.candidate_id, c.candidate_key
FROM (
    SELECT tied.* FROM (
        SELECT t."id" AS candidate_id, ('accounts-' || CAST(t."account" AS TEXT)) AS candidate_key
        FROM "payouts" AS t INDEXED BY "payouts_claim"
        WHERE t."paid_at" IS NULL AND t."due_at" <= :now
            AND t."id" NOT IN (SELECT value FROM json_each(:set_aside))
            AND t."due_at" = :seen_value AND t."id" > :seen_id
        ORDER BY t."due_at", t."id"
        LIMIT :window
    ) AS tied
    UNION ALL
    SELECT later.* FROM (
        SELECT t."id" AS candidate_id, ('accounts-' || CAST(t."account" AS TEXT)) AS candidate_key
        FROM "payouts" AS t
        WHERE t."paid_at" IS NULL AND t."due_at" <= :now
            AND t."id" NOT IN (SELECT value FROM json_each(:set_aside))
            AND t."due_at" > :seen_value
        ORDER BY t."due_at", t."id"
        LIMIT :window
    ) AS later
    LIMIT :window
) AS c
WHERE c.candidate_key NOT IN (SELECT value FROM json_each(:keys))
LIMIT 1\
""",
        "probe_further": """\
SELECT tied.* FROM (
    SELECT t."due_at", t."id"
    FROM "payouts" AS t INDEXED BY "payouts_claim"
    WHERE t."paid_at" IS NULL AND t."due_at" <= :now
        AND t."id" NOT IN (SELECT value FROM json_each(:set_aside))
        AND t."due_at" = :seen_value AND t."id" > :seen_id
    ORDER BY t."due_at", t."id"
    LIMIT :window
) AS tied
UNION ALL
SELECT later.* FROM (
    SELECT t."due_at", t."id"
    FROM "payouts" AS t
    WHERE t."paid_at" IS NULL AND t."due_at" <= :now
        AND t."id" NOT IN (SELECT value FROM json_each(:set_aside))
        AND t."due_at" > :seen_value
    ORDER BY t."due_at", t."id"
    LIMIT :window
) AS later
LIMIT 1 OFFSET :last\
""",
        "take": """\
UPDATE "payouts" AS t
SET "attempt" = MIN(t."attempt", 9223372036854775806) + 1
WHERE t."id" = :id AND t."paid_at" IS NULL AND t."due_at" <= :now
    AND ('accounts-' || CAST(t."account" AS TEXT)) = :key_text
RETURNING "id", "account", "due_at", "last_error", "amount", "currency", "attempt" - 1 AS "attempt"\
""",
        "give_back": """\
UPDATE "payouts"
SET "attempt" = "attempt" - 1
WHERE "id" = :id AND "attempt" = :attempt AND "paid_at" IS NULL\
""",
        "ack": """\
UPDATE "payouts"
SET "paid_at" = :now
WHERE "id" = :id AND "attempt" = :attempt AND "paid_at" IS NULL\
""",
        "retry": """\
UPDATE "payouts"
SET "due_at" = :now, "last_error" = :error
WHERE "id" = :id AND "attempt" = :attempt AND "paid_at" IS NULL\
""",
        "retry_after": """\
UPDATE "payouts"
SET "due_at" = :due, "last_error" = :error
WHERE "id" = :id AND "attempt" = :attempt AND "paid_at" IS NULL\
""",
        "dead_letter": """\
INSERT INTO "payouts_failed" ("id", "account", "due_at", "attempt", "paid_at", "last_error",
    "amount", "currency", "reason", "error", "failed_at")
SELECT "id", "account", "due_at", "attempt" - 1, "paid_at", "last_error", "amount", "currency",
    :reason, :error, :now
FROM "payouts"
WHERE "id" = :id AND "attempt" = :attempt AND "paid_at" IS NULL
ON CONFLICT ("id") DO UPDATE
SET "account" = excluded."account", "due_at" = excluded."due_at", "attempt" = excluded."attempt",
    "paid_at" = excluded."paid_at", "last_error" = excluded."last_error",
    "amount" = excluded."amount", "currency" = excluded."currency", "reason" = excluded."reason",
    "error" = excluded."error", "failed_at" = excluded."failed_at"\
""",
        "dead_letter_remove": """\
DELETE FROM "payouts"
WHERE "id" = :id AND "attempt" = :attempt AND "paid_at" IS NULL\
""",
        "present": """\
SELECT "id" FROM "payouts"
WHERE "id" = :id AND "attempt" = :attempt AND "paid_at" IS NULL\
""",
        "enqueue": """\
INSERT INTO "payouts" ("id", "account", "amount", "currency", "attempt", "due_at")
VALUES (:id, :account, :amount, :currency, 1, :due_at)
RETURNING "id"\
""",
        "redrive_oldest": """\
SELECT d."id" FROM "payouts_failed" AS d
WHERE (SELECT 1 FROM "payouts" AS q WHERE q."id" = d."id" LIMIT 1) IS NULL
ORDER BY d."failed_at", d."id"
LIMIT :limit\
""",
        "redrive": """\
INSERT INTO "payouts" ("id", "account", "due_at", "attempt", "paid_at", "last_error", "amount",
    "currency")
SELECT d."id", d."account", :now, 1, NULL, d."last_error", d."amount", COALESCE(d."currency", 'EUR')
FROM "payouts_failed" AS d
WHERE d."id" IN (SELECT value FROM json_each(:ids))
ON CONFLICT DO NOTHING
RETURNING "id"\
""",
        "redrive_remove": """\
DELETE FROM "payouts_failed"
WHERE "id" IN (SELECT value FROM json_each(:ids))\
""",
        "dead_among": """\
SELECT d."id" FROM "payouts_failed" AS d
WHERE d."id" IN (SELECT value FROM json_each(:ids))\
""",
        "purge_oldest": """\
SELECT t."id", t."paid_at" FROM "payouts" AS t
WHERE t."paid_at" < :before
ORDER BY t."paid_at"
LIMIT :limit\
""",
        "purge_next": """\
SELECT t."id", t."paid_at" FROM "payouts" AS t
WHERE t."paid_at" < :before AND t."paid_at" >= :since
ORDER BY t."paid_at"
LIMIT :limit\
""",
        "purge": """\
DELETE FROM "payouts"
WHERE "id" IN (SELECT value FROM json_each(:ids))\
""",
        "purge_left": """\
SELECT t."id" FROM "payouts" AS t
WHERE t."id" IN (SELECT value FROM json_each(:ids))\
""",
        "stats_due": """\
SELECT COUNT(*) AS due_rows,
    MIN("due_at") AS oldest,
    COUNT(*) AS looked_at
FROM (
    SELECT "id", "due_at" FROM "payouts"
    WHERE "paid_at" IS NULL AND "due_at" <= :now
    ORDER BY "due_at", "id" LIMIT :most
) AS looked\
""",
        "stats_delayed": """\
SELECT COUNT(*) FROM (
    SELECT "id" FROM "payouts"
    WHERE "paid_at" IS NULL AND "due_at" > :now
    ORDER BY "due_at", "id" LIMIT :most
) AS looked\
""",
        "stats_dead": """\
SELECT COUNT(*) FROM (SELECT "id" FROM "payouts_failed" LIMIT :most) AS looked\
""",
    },
}

QUEUE: _runtime.Queue[Delivery, Outcome, New, _uuid.UUID] = _runtime.Queue(
    format=1,
    table=TABLE,
    form="advisory_lock",
    delivery=Delivery,
    outcomes=(Ack, Retry, RetryAfter, Discard, DeadLetter),
    id_type=_uuid.UUID,
    row=Row,
    new=New,
    columns=(
        _runtime.Column(
            "id",
            "uuid",
        ),
        _runtime.Column(
            "account",
            "varchar",
        ),
        _runtime.Column(
            "due_at",
            "timestamp(6)",
        ),
        _runtime.Column(
            "last_error",
            "text",
        ),
        _runtime.Column(
            "amount",
            "numeric",
        ),
        _runtime.Column(
            "currency",
            "varchar",
            _Currency,
        ),
    ),
    id_field="id",
    order=(
        "due_at",
        "id",
    ),
    enqueued=(
        _runtime.Column(
            "id",
            "uuid",
        ),
        _runtime.Column(
            "account",
            "varchar",
        ),
        _runtime.Column(
            "amount",
            "numeric",
        ),
        _runtime.Column(
            "currency",
            "varchar",
            _Currency,
        ),
    ),
    statements=_SQL,
    counts_attempts=True,
    max_attempts=10,
    retry=_runtime.RetryPolicy(
        "exponential",
        60,
        7200,
        0.0,
    ),
    retry_after=_runtime.Column(
        "due_at",
        "timestamp(6)",
    ),
    work=_runtime.Relation(
        "payouts",
        {
            "id": "uuid",
            "account": "varchar",
            "due_at": "timestamp(6)",
            "attempt": "int",
            "paid_at": "timestamp(6)",
            "last_error": "text",
            "amount": "numeric",
            "currency": "varchar",
        },
        id="id",
        times=(
            "due_at",
            "paid_at",
        ),
    ),
    dead=_runtime.Relation(
        "payouts_failed",
        {
            "id": "uuid",
            "account": "varchar",
            "due_at": "timestamp(6)",
            "attempt": "int",
            "paid_at": "timestamp(6)",
            "last_error": "text",
            "amount": "numeric",
            "currency": "varchar",
            "reason": "text",
            "error": "text",
            "failed_at": "timestamp(6)",
        },
        id="id",
    ),
)
