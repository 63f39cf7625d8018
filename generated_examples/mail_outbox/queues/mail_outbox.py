# From tables.toml: edit that and run `sqlclaimgen build`.
# format 1 · form row lock · postgres, mysql, mariadb
"""The work table mail_outbox: row lock form, PostgreSQL, MySQL and MariaDB.

It imports the types of its columns: their modules may not import it at their top.
"""

from __future__ import annotations

import dataclasses as _dataclasses
import datetime as _datetime
import typing as _t
from collections.abc import Iterable as _Iterable

from sqlclaimgen import runtime as _runtime
from sqlclaimgen.runtime import Ack, Discard, Retry, RetryAfter

__all__ = [
    "QUEUE",
    "TABLE",
    "Ack",
    "AsyncConnection",
    "Connection",
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
    "stats",
    "stats_async",
]

from mail.messages import Message as _Message

TABLE = "mail_outbox"

Connection: _t.TypeAlias = _runtime.PostgresConnection | _runtime.MySQLConnection
AsyncConnection: _t.TypeAlias = _runtime.AsyncPostgresConnection
Outcome: _t.TypeAlias = Ack | Retry | RetryAfter | Discard


@_dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class New:
    """A row to enqueue."""

    urgency: int = 0
    once: str | None = None
    recipient: str
    message: _Message


@_dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A row as the claim returned it."""

    id: int
    urgency: int
    send_after: _datetime.datetime
    last_error: str | None
    once: str | None
    recipient: str
    message: _Message


class Delivery(_runtime.RowLockDelivery[Row, int]):
    """One row in one worker's hands.

    Settling is part of the claim's transaction: leaving its block commits.
    Every settlement raises ClaimLost when the claim's transaction is gone.
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
        """Make the row due now, behind the rows of its priority that are due, or claimed at once if none are."""
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

    async def ack_async(self, conn: AsyncConnection) -> None:
        """Finish the row."""
        await _runtime.settle_async(conn, self, Ack())

    async def retry_async(
        self,
        conn: AsyncConnection,
        error: str | None = None,
    ) -> None:
        """Make the row due now, behind the rows of its priority that are due, or claimed at once if none are."""
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


def enqueue(
    conn: Connection,
    new: New,
    *,
    delay: _datetime.timedelta = _datetime.timedelta(0),
    at: _datetime.datetime | None = None,
) -> int:
    """Add a row in the transaction of ``conn``, never committing it.

    It is due after ``delay``, or at ``at``.
    Returns the row's id. Raises AlreadyQueued for a dedupe key in the table.
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
    Returns the row's id. Raises AlreadyQueued for a dedupe key in the table.
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
    dialect: _t.Literal["postgres", "mysql", "mariadb"],
    delay: _datetime.timedelta = _datetime.timedelta(0),
    at: _datetime.datetime | None = None,
) -> tuple[str, _runtime.Parameters]:
    """Return the statement of ``enqueue`` and its parameters, for another driver.

    Read all of its answer: the row's id, except on MySQL. No row: its key is queued.
    """
    return _runtime.insert(QUEUE, new, dialect, style, delay, at)


def claim(
    conn: Connection,
    *,
    limit: int = 1,
) -> _runtime.Claim[Delivery]:
    """Take up to ``limit`` due rows.

    The rows are held by a transaction open until the block is left.
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


def stats(
    conn: Connection,
) -> _runtime.Stats:
    """Count the rows that are due, delayed, in work and dead, up to 10,000."""
    return _runtime.stats(
        QUEUE,
        conn,
        _runtime.ONLY,
        _runtime.Stats,
    )


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
) -> _runtime.Stats:
    """Count the rows that are due, delayed, in work and dead, up to 10,000."""
    return await _runtime.stats_async(
        QUEUE,
        conn,
        _runtime.ONLY,
        _runtime.Stats,
    )


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
    (SELECT "urgency" FROM "mail_outbox"
     WHERE "sent_at" IS NULL
     ORDER BY "urgency" LIMIT 1)
    UNION ALL
    SELECT (SELECT t."urgency" FROM "mail_outbox" AS t
            WHERE t."sent_at" IS NULL AND t."urgency" > step.priority
            ORDER BY t."urgency" LIMIT 1)
    FROM step WHERE step.priority IS NOT NULL
)
SELECT c."id", c."urgency", c."send_after", c."last_error", c."once", c."recipient",
    CAST(c."message" AS text) AS "message", c."attempt", txid_current_if_assigned()
FROM (
    SELECT one.* FROM step CROSS JOIN LATERAL (
        SELECT t."id", t."urgency", t."send_after", t."last_error", t."once", t."recipient",
            t."message", t."attempt" FROM "mail_outbox" AS t
        WHERE t."sent_at" IS NULL AND t."urgency" = step.priority AND t."send_after" <= :now
            AND t."id" <> ALL(CAST(:set_aside AS bigint[]))
        ORDER BY t."send_after", t."id"
        LIMIT :limit
        FOR NO KEY UPDATE SKIP LOCKED
    ) AS one
    LIMIT :limit
) AS c
ORDER BY c."urgency", c."send_after", c."id"\
""",
        "holding": """\
SELECT txid_current_if_assigned() = :transaction\
""",
        "ack": """\
UPDATE "mail_outbox"
SET "sent_at" = :now, "once" = NULL
WHERE "id" = :id AND txid_current_if_assigned() = :transaction AND "sent_at" IS NULL\
""",
        "retry": """\
UPDATE "mail_outbox"
SET "send_after" = :now, "attempt" = LEAST("attempt", 2147483646) + 1, "last_error" = :error
WHERE "id" = :id AND txid_current_if_assigned() = :transaction AND "sent_at" IS NULL\
""",
        "retry_after": """\
UPDATE "mail_outbox"
SET "send_after" = :due, "attempt" = LEAST("attempt", 2147483646) + 1, "last_error" = :error
WHERE "id" = :id AND txid_current_if_assigned() = :transaction AND "sent_at" IS NULL\
""",
        "present": """\
SELECT "id" FROM "mail_outbox"
WHERE "id" = :id AND txid_current_if_assigned() = :transaction AND "sent_at" IS NULL\
""",
        "enqueue": """\
INSERT INTO "mail_outbox" ("urgency", "once", "recipient", "message", "attempt", "send_after")
VALUES (:urgency, :once, :recipient, CAST(:message AS jsonb), 1, :send_after)
ON CONFLICT ("once") DO NOTHING
RETURNING "id"\
""",
        "purge_oldest": """\
SELECT t."id", t."sent_at" FROM "mail_outbox" AS t
WHERE t."sent_at" < :before
ORDER BY t."sent_at"
LIMIT :limit
FOR UPDATE SKIP LOCKED\
""",
        "purge_next": """\
SELECT t."id", t."sent_at" FROM "mail_outbox" AS t
WHERE t."sent_at" < :before AND t."sent_at" >= :since
ORDER BY t."sent_at"
LIMIT :limit
FOR UPDATE SKIP LOCKED\
""",
        "purge": """\
DELETE FROM "mail_outbox"
WHERE "id" = ANY(CAST(:ids AS bigint[]))\
""",
        "purge_left": """\
SELECT t."id" FROM "mail_outbox" AS t
WHERE t."id" = ANY(CAST(:ids AS bigint[]))\
""",
        "stats_priorities": """\
WITH RECURSIVE step(priority) AS (
    SELECT MIN(t."urgency") FROM "mail_outbox" AS t WHERE t."sent_at" IS NULL
    UNION ALL
    SELECT (SELECT MIN(t."urgency") FROM "mail_outbox" AS t
            WHERE t."sent_at" IS NULL AND t."urgency" > step.priority)
    FROM step WHERE step.priority IS NOT NULL
)
SELECT priority FROM step WHERE priority IS NOT NULL\
""",
        "stats_due": """\
SELECT COUNT(*) AS due_rows,
    MIN("send_after") AS oldest,
    COUNT(*) AS looked_at
FROM (
    SELECT "id", "send_after" FROM "mail_outbox"
    WHERE "sent_at" IS NULL AND "urgency" = :priority AND "send_after" <= :now
    ORDER BY "send_after", "id" LIMIT :most
) AS looked\
""",
        "stats_delayed": """\
SELECT COUNT(*) FROM (
    SELECT "id" FROM "mail_outbox"
    WHERE "sent_at" IS NULL AND "urgency" = :priority AND "send_after" > :now
    ORDER BY "send_after", "id" LIMIT :most
) AS looked\
""",
        "row_security": """\
SELECT row_security_active('"mail_outbox"')\
""",
    },
    "mysql": {
        "due_priorities": """\
SELECT `urgency` FROM `mail_outbox` FORCE INDEX (`mail_outbox_claim`)
WHERE `sent_at` IS NULL
GROUP BY `sent_at`, `urgency`
HAVING MIN(`send_after`) <= :now
ORDER BY `urgency`\
""",
        "claim": """\
SELECT t.`id`, t.`urgency`, t.`send_after`, t.`last_error`, t.`once`, t.`recipient`, t.`message`,
    t.`attempt`
FROM (
    SELECT `id` AS candidate_id, `urgency` AS candidate_1,
        `send_after` AS candidate_2 FROM `mail_outbox` FORCE INDEX (`mail_outbox_claim`)
    WHERE `sent_at` IS NULL AND `urgency` = :priority AND `send_after` <= :now
        AND COALESCE(`id` NOT IN (:set_aside), TRUE)
    ORDER BY `send_after`, `id` LIMIT :window
) AS c
STRAIGHT_JOIN `mail_outbox` AS t FORCE INDEX (PRIMARY) ON t.`id` = c.candidate_id
WHERE t.`sent_at` IS NULL AND t.`urgency` = :priority AND t.`send_after` <= :now
ORDER BY c.candidate_1, c.candidate_2, c.candidate_id
LIMIT :limit
FOR UPDATE OF t SKIP LOCKED\
""",
        "probe": """\
SELECT 1 FROM `mail_outbox` FORCE INDEX (`mail_outbox_claim`)
WHERE `sent_at` IS NULL AND `urgency` = :priority AND `send_after` <= :now
    AND COALESCE(`id` NOT IN (:set_aside), TRUE)
ORDER BY `send_after`, `id`
LIMIT 1 OFFSET :last\
""",
        "ack": """\
UPDATE `mail_outbox` FORCE INDEX (PRIMARY)
SET `sent_at` = :now, `once` = NULL
WHERE `id` = :id AND `sent_at` IS NULL\
""",
        "retry": """\
UPDATE `mail_outbox` FORCE INDEX (PRIMARY)
SET `send_after` = :now, `attempt` = LEAST(`attempt`, 2147483646) + 1, `last_error` = :error
WHERE `id` = :id AND `sent_at` IS NULL\
""",
        "retry_after": """\
UPDATE `mail_outbox` FORCE INDEX (PRIMARY)
SET `send_after` = :due, `attempt` = LEAST(`attempt`, 2147483646) + 1, `last_error` = :error
WHERE `id` = :id AND `sent_at` IS NULL\
""",
        "present": """\
SELECT `id` FROM `mail_outbox`
WHERE `id` = :id AND `sent_at` IS NULL
FOR UPDATE\
""",
        "enqueue": """\
INSERT INTO `mail_outbox` (`urgency`, `once`, `recipient`, `message`, `attempt`, `send_after`)
VALUES (:urgency, :once, :recipient, :message, 1, :send_after)
\
""",
        "purge_oldest": """\
SELECT t.`id`, t.`sent_at` FROM `mail_outbox` AS t FORCE INDEX (`mail_outbox_claim`)
WHERE t.`sent_at` < :before
ORDER BY t.`sent_at`
LIMIT :limit
FOR UPDATE OF t SKIP LOCKED\
""",
        "purge_next": """\
SELECT t.`id`, t.`sent_at` FROM `mail_outbox` AS t FORCE INDEX (`mail_outbox_claim`)
WHERE t.`sent_at` < :before AND t.`sent_at` >= :since
ORDER BY t.`sent_at`
LIMIT :limit
FOR UPDATE OF t SKIP LOCKED\
""",
        "purge": """\
DELETE t FROM (
    SELECT `id` FROM `mail_outbox`
    WHERE `id` IN (:ids)
    FOR UPDATE SKIP LOCKED
) AS c
STRAIGHT_JOIN `mail_outbox` AS t FORCE INDEX (PRIMARY) ON t.`id` = c.`id`\
""",
        "purge_left": """\
SELECT t.`id` FROM `mail_outbox` AS t
WHERE t.`id` IN (:ids)\
""",
        "stats_priorities": """\
SELECT `urgency` FROM `mail_outbox` FORCE INDEX (`mail_outbox_claim`)
WHERE `sent_at` IS NULL
GROUP BY `sent_at`, `urgency`\
""",
        "stats_due": """\
SELECT COUNT(*) AS due_rows,
    MIN(`send_after`) AS oldest,
    COUNT(*) AS looked_at
FROM (
    SELECT `id`, `send_after` FROM `mail_outbox` FORCE INDEX (`mail_outbox_claim`)
    WHERE `sent_at` IS NULL AND `urgency` = :priority AND `send_after` <= :now
    ORDER BY `send_after`, `id` LIMIT :most
) AS looked\
""",
        "stats_delayed": """\
SELECT COUNT(*) FROM (
    SELECT `id` FROM `mail_outbox` FORCE INDEX (`mail_outbox_claim`)
    WHERE `sent_at` IS NULL AND `urgency` = :priority AND `send_after` > :now
    ORDER BY `send_after`, `id` LIMIT :most
) AS looked\
""",
    },
    "mariadb": {
        "due_priorities": """\
SELECT `urgency` FROM `mail_outbox` FORCE INDEX (`mail_outbox_claim`)
WHERE `sent_at` IS NULL
GROUP BY `sent_at`, `urgency`
HAVING MIN(`send_after`) <= :now
ORDER BY `urgency`\
""",
        "claim": """\
SELECT t.`id`, t.`urgency`, t.`send_after`, t.`last_error`, t.`once`, t.`recipient`, t.`message`,
    t.`attempt`
FROM (
    SELECT `id` AS candidate_id, `urgency` AS candidate_1,
        `send_after` AS candidate_2 FROM `mail_outbox` FORCE INDEX (`mail_outbox_claim`)
    WHERE `sent_at` IS NULL AND `urgency` = :priority AND `send_after` <= :now
        AND COALESCE(`id` NOT IN (:set_aside), TRUE)
    ORDER BY `send_after`, `id` LIMIT :window
) AS c
STRAIGHT_JOIN `mail_outbox` AS t FORCE INDEX (PRIMARY) ON t.`id` = c.candidate_id
WHERE t.`sent_at` IS NULL AND t.`urgency` = :priority AND t.`send_after` <= :now
ORDER BY c.candidate_1, c.candidate_2, c.candidate_id
LIMIT :limit
FOR UPDATE SKIP LOCKED\
""",
        "probe": """\
SELECT 1 FROM `mail_outbox` FORCE INDEX (`mail_outbox_claim`)
WHERE `sent_at` IS NULL AND `urgency` = :priority AND `send_after` <= :now
    AND COALESCE(`id` NOT IN (:set_aside), TRUE)
ORDER BY `send_after`, `id`
LIMIT 1 OFFSET :last\
""",
        "ack": """\
UPDATE `mail_outbox` FORCE INDEX (PRIMARY)
SET `sent_at` = :now, `once` = NULL
WHERE `id` = :id AND `sent_at` IS NULL\
""",
        "retry": """\
UPDATE `mail_outbox` FORCE INDEX (PRIMARY)
SET `send_after` = :now, `attempt` = LEAST(`attempt`, 2147483646) + 1, `last_error` = :error
WHERE `id` = :id AND `sent_at` IS NULL\
""",
        "retry_after": """\
UPDATE `mail_outbox` FORCE INDEX (PRIMARY)
SET `send_after` = :due, `attempt` = LEAST(`attempt`, 2147483646) + 1, `last_error` = :error
WHERE `id` = :id AND `sent_at` IS NULL\
""",
        "present": """\
SELECT `id` FROM `mail_outbox`
WHERE `id` = :id AND `sent_at` IS NULL
FOR UPDATE\
""",
        "enqueue": """\
INSERT INTO `mail_outbox` (`urgency`, `once`, `recipient`, `message`, `attempt`, `send_after`)
VALUES (:urgency, :once, :recipient, :message, 1, :send_after)
RETURNING `id`\
""",
        "purge_oldest": """\
SELECT t.`id`, t.`sent_at` FROM `mail_outbox` AS t FORCE INDEX (`mail_outbox_claim`)
WHERE t.`sent_at` < :before
ORDER BY t.`sent_at`
LIMIT :limit
FOR UPDATE SKIP LOCKED\
""",
        "purge_next": """\
SELECT t.`id`, t.`sent_at` FROM `mail_outbox` AS t FORCE INDEX (`mail_outbox_claim`)
WHERE t.`sent_at` < :before AND t.`sent_at` >= :since
ORDER BY t.`sent_at`
LIMIT :limit
FOR UPDATE SKIP LOCKED\
""",
        "purge": """\
DELETE t FROM (
    SELECT `id` FROM `mail_outbox`
    WHERE `id` IN (:ids)
    FOR UPDATE SKIP LOCKED
) AS c
STRAIGHT_JOIN `mail_outbox` AS t FORCE INDEX (PRIMARY) ON t.`id` = c.`id`\
""",
        "purge_left": """\
SELECT t.`id` FROM `mail_outbox` AS t
WHERE t.`id` IN (:ids)\
""",
        "stats_priorities": """\
SELECT `urgency` FROM `mail_outbox` FORCE INDEX (`mail_outbox_claim`)
WHERE `sent_at` IS NULL
GROUP BY `sent_at`, `urgency`\
""",
        "stats_due": """\
SELECT COUNT(*) AS due_rows,
    MIN(`send_after`) AS oldest,
    COUNT(*) AS looked_at
FROM (
    SELECT `id`, `send_after` FROM `mail_outbox` FORCE INDEX (`mail_outbox_claim`)
    WHERE `sent_at` IS NULL AND `urgency` = :priority AND `send_after` <= :now
    ORDER BY `send_after`, `id` LIMIT :most
) AS looked\
""",
        "stats_delayed": """\
SELECT COUNT(*) FROM (
    SELECT `id` FROM `mail_outbox` FORCE INDEX (`mail_outbox_claim`)
    WHERE `sent_at` IS NULL AND `urgency` = :priority AND `send_after` > :now
    ORDER BY `send_after`, `id` LIMIT :most
) AS looked\
""",
    },
}

QUEUE: _runtime.Queue[Delivery, Outcome, New, int] = _runtime.Queue(
    format=1,
    table=TABLE,
    form="row_lock",
    delivery=Delivery,
    outcomes=(Ack, Retry, RetryAfter, Discard),
    id_type=int,
    row=Row,
    new=New,
    columns=(
        _runtime.Column(
            "id",
            "bigint",
        ),
        _runtime.Column(
            "urgency",
            "smallint",
        ),
        _runtime.Column(
            "send_after",
            "timestamp(6)",
        ),
        _runtime.Column(
            "last_error",
            "text",
        ),
        _runtime.Column(
            "once",
            "varchar",
        ),
        _runtime.Column(
            "recipient",
            "varchar",
        ),
        _runtime.Column(
            "message",
            "json",
            _Message,
        ),
    ),
    id_field="id",
    order=(
        "urgency",
        "send_after",
        "id",
    ),
    enqueued=(
        _runtime.Column(
            "urgency",
            "smallint",
        ),
        _runtime.Column(
            "once",
            "varchar",
        ),
        _runtime.Column(
            "recipient",
            "varchar",
        ),
        _runtime.Column(
            "message",
            "json",
            _Message,
        ),
    ),
    statements=_SQL,
    counts_attempts=True,
    retry=_runtime.RetryPolicy(
        "exponential",
        30,
        7200,
        0.0,
    ),
    retry_after=_runtime.Column(
        "send_after",
        "timestamp(6)",
    ),
    work=_runtime.Relation(
        "mail_outbox",
        {
            "id": "bigint",
            "urgency": "smallint",
            "send_after": "timestamp(6)",
            "attempt": "int",
            "sent_at": "timestamp(6)",
            "last_error": "text",
            "once": "varchar",
            "recipient": "varchar",
            "message": "json",
        },
        id="id",
        times=(
            "send_after",
            "sent_at",
        ),
    ),
    dedupe_field="once",
    dedupe_index="mail_outbox_dedupe",
)
