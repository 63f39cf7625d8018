# From tables.toml: edit that and run `sqlclaimgen build`.
# format 1 · form lease · postgres, mariadb
"""The work table hooks.calls: lease form, PostgreSQL and MariaDB."""

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
    "redrive",
    "redrive_async",
    "release",
    "release_async",
    "stats",
    "stats_async",
]

TABLE = "hooks.calls"
LEASE = _datetime.timedelta(seconds=20)

Connection: _t.TypeAlias = _runtime.PostgresConnection | _runtime.MySQLConnection
AsyncConnection: _t.TypeAlias = _runtime.AsyncPostgresConnection
Outcome: _t.TypeAlias = Ack | Retry | RetryAfter | Discard | DeadLetter


@_dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class New:
    """A row to enqueue."""

    target: str
    headers: _t.Any = None
    body: _t.Any


@_dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A row as the claim returned it."""

    id: int
    target: str
    due: _datetime.datetime
    error: str | None
    headers: _t.Any
    body: _t.Any


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
    dialect: _t.Literal["postgres", "mariadb"],
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


_SQL: dict[str, dict[str, str]] = {
    "postgres": {
        "claim": """\
WITH candidate AS (
    SELECT "id" FROM "hooks"."calls"
    WHERE "target" = :group AND "due" <= :now AND ("held_until" IS NULL OR "held_until" <= :now)
        AND "id" <> ALL(CAST(:set_aside AS bigint[]))
    ORDER BY "due", "id"
    LIMIT :limit
    FOR NO KEY UPDATE SKIP LOCKED
)
, taken AS (
    UPDATE "hooks"."calls" AS t
    SET "held_until" = :locked_until, "attempt" = LEAST(t."attempt", 2147483646) + 1
    WHERE t."id" = ANY(ARRAY(SELECT c."id" FROM candidate AS c))
    RETURNING t."id", t."target", t."due", t."error", CAST(t."headers" AS text) AS "headers",
        CAST(t."body" AS text) AS "body", t."attempt" - 1 AS "attempt"
)
SELECT "id", "target", "due", "error", "headers", "body", "attempt"
FROM taken
ORDER BY "due", "id"\
""",
        "candidates": """\
SELECT "id" FROM "hooks"."calls"
WHERE "target" = :group AND "due" <= :now AND ("held_until" IS NULL OR "held_until" <= :now)
    AND "id" <> ALL(CAST(:set_aside AS bigint[]))
ORDER BY "due", "id"
LIMIT :limit
FOR NO KEY UPDATE SKIP LOCKED\
""",
        "candidates_take": """\
UPDATE "hooks"."calls"
SET "held_until" = :locked_until, "attempt" = LEAST("attempt", 2147483646) + 1
WHERE "id" = ANY(CAST(:ids AS bigint[]))
RETURNING "id", "target", "due", "error", CAST("headers" AS text) AS "headers",
    CAST("body" AS text) AS "body", "attempt" - 1 AS "attempt"\
""",
        "extend": """\
WITH held AS (
    SELECT * FROM unnest(CAST(:ids AS bigint[]), CAST(:tokens AS timestamptz[]),
        CAST(:sents AS timestamptz[]), CAST(:attempts AS integer[])) AS h(id, token, sent, attempt)
), locked AS (
    SELECT h.* FROM "hooks"."calls" AS t JOIN held AS h ON t."id" = h.id
    WHERE t."held_until" IN (h.token, h.sent) AND t."attempt" = h.attempt
    FOR NO KEY UPDATE OF t SKIP LOCKED
)
UPDATE "hooks"."calls" AS t
SET "held_until" = :locked_until
FROM locked AS h
WHERE t."id" = h.id AND t."held_until" IN (h.token, h.sent) AND t."attempt" = h.attempt
RETURNING t."id"\
""",
        "held": """\
SELECT t."id", t."held_until"
FROM "hooks"."calls" AS t JOIN unnest(CAST(:ids AS bigint[]), CAST(:tokens AS timestamptz[]),
    CAST(:sents AS timestamptz[]), CAST(:attempts AS integer[])) AS h(id, token, sent, attempt)
    ON t."id" = h.id AND t."held_until" IN (h.token, h.sent) AND t."attempt" = h.attempt\
""",
        "release": """\
UPDATE "hooks"."calls" AS t
SET "held_until" = NULL
FROM unnest(CAST(:ids AS bigint[]), CAST(:tokens AS timestamptz[]), CAST(:sents AS timestamptz[]),
    CAST(:attempts AS integer[])) AS h(id, token, sent, attempt)
WHERE t."id" = h.id AND t."held_until" IN (h.token, h.sent) AND t."attempt" = h.attempt
RETURNING t."id"\
""",
        "give_back": """\
UPDATE "hooks"."calls" AS t
SET "held_until" = NULL, "attempt" = t."attempt" - 1
FROM unnest(CAST(:ids AS bigint[]), CAST(:tokens AS timestamptz[]), CAST(:sents AS timestamptz[]),
    CAST(:attempts AS integer[])) AS h(id, token, sent, attempt)
WHERE t."id" = h.id AND t."held_until" IN (h.token, h.sent) AND t."attempt" = h.attempt
RETURNING t."id"\
""",
        "shorten": """\
WITH held AS (
    SELECT * FROM unnest(CAST(:ids AS bigint[]), CAST(:tokens AS timestamptz[]),
        CAST(:sents AS timestamptz[]), CAST(:attempts AS integer[])) AS h(id, token, sent, attempt)
), locked AS (
    SELECT h.* FROM "hooks"."calls" AS t JOIN held AS h ON t."id" = h.id
    WHERE t."held_until" IN (h.token, h.sent) AND t."attempt" = h.attempt
    FOR NO KEY UPDATE OF t SKIP LOCKED
)
UPDATE "hooks"."calls" AS t
SET "held_until" = :soon, "attempt" = t."attempt" - 1
FROM locked AS h
WHERE t."id" = h.id AND t."held_until" IN (h.token, h.sent) AND t."attempt" = h.attempt
RETURNING t."id"\
""",
        "ack": """\
DELETE FROM "hooks"."calls"
WHERE "id" = :id AND "held_until" IN (:token, :sent) AND "attempt" = :attempt\
""",
        "retry": """\
UPDATE "hooks"."calls"
SET "due" = :now, "held_until" = NULL, "error" = :error
WHERE "id" = :id AND "held_until" IN (:token, :sent) AND "attempt" = :attempt\
""",
        "retry_after": """\
UPDATE "hooks"."calls"
SET "due" = :due, "held_until" = NULL, "error" = :error
WHERE "id" = :id AND "held_until" IN (:token, :sent) AND "attempt" = :attempt\
""",
        "dead_letter": """\
UPDATE "hooks"."calls"
SET "origin" = "target", "target" = 'escalated', "attempt" = 1, "due" = :now, "held_until" = NULL,
    "error" = COALESCE(CAST(:error AS text), CAST(:reason AS text))
WHERE "id" = :id AND "held_until" IN (:token, :sent) AND "attempt" = :attempt\
""",
        "present": """\
SELECT "id" FROM "hooks"."calls"
WHERE "id" = :id AND "held_until" IN (:token, :sent) AND "attempt" = :attempt\
""",
        "enqueue": """\
INSERT INTO "hooks"."calls" ("target", "headers", "body", "attempt", "due")
VALUES (:target, CAST(:headers AS jsonb), CAST(:body AS json), 1, :due)
RETURNING "id"\
""",
        "redrive_oldest": """\
SELECT "id" FROM "hooks"."calls"
WHERE "target" >= 'escalated' AND "target" <= 'escalated' AND "origin" IS NOT NULL
    AND ("held_until" IS NULL OR "held_until" <= :now)
ORDER BY "target", "due", "id"
LIMIT :limit\
""",
        "redrive": """\
WITH chosen AS (
    SELECT "id" FROM "hooks"."calls"
    WHERE "id" = ANY(CAST(:ids AS bigint[])) AND "target" = 'escalated' AND "origin" IS NOT NULL
        AND ("held_until" IS NULL OR "held_until" <= :now)
    FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE "hooks"."calls" AS t
SET "target" = t."origin", "origin" = NULL, "attempt" = 1, "due" = :now, "held_until" = NULL
FROM chosen AS c
WHERE t."id" = c."id"
RETURNING t."id"\
""",
        "stats_due": """\
SELECT COUNT(CASE WHEN ("held_until" IS NULL OR "held_until" <= :now) THEN 1 END) AS due_rows,
    COUNT(CASE WHEN "held_until" > :now THEN 1 END) AS rows_in_work,
    MIN(CASE WHEN ("held_until" IS NULL OR "held_until" <= :now) THEN "due" END) AS oldest,
    COUNT(*) AS looked_at
FROM (
    SELECT "id", "due", "held_until" FROM "hooks"."calls"
    WHERE "target" = :group AND "due" <= :now
    ORDER BY "due", "id" LIMIT :most
) AS looked\
""",
        "stats_delayed": """\
SELECT COUNT(*) FROM (
    SELECT "id" FROM "hooks"."calls"
    WHERE "target" = :group AND "due" > :now
    ORDER BY "due", "id" LIMIT :most
) AS looked\
""",
        "stats_dead": """\
SELECT COUNT(*) FROM (
    SELECT "id" FROM "hooks"."calls"
    WHERE "target" >= 'escalated' AND "target" <= 'escalated'
    ORDER BY "target", "due", "id"
    LIMIT :most
) AS looked\
""",
        "row_security": """\
SELECT row_security_active('"hooks"."calls"')\
""",
    },
    "mariadb": {
        "claim": """\
SELECT t.`id`, t.`target`, t.`due`, t.`error`, t.`headers`, t.`body`, LEAST(t.`attempt`,
    2147483646) AS `attempt`
FROM (
        (SELECT `id` AS candidate_id,
            `due` AS candidate_1 FROM `hooks`.`calls` FORCE INDEX (`calls_claim`)
         WHERE `target` = :group AND `due` <= :now AND `held_until` IS NULL
             AND COALESCE(`id` NOT IN (:set_aside), TRUE)
         ORDER BY `due`, `id` LIMIT :window)
        UNION ALL
        (SELECT `id` AS candidate_id,
            `due` AS candidate_1 FROM `hooks`.`calls` FORCE INDEX (`calls_claim`)
         WHERE `target` = :group AND `due` <= :now AND `held_until` <= :now
             AND COALESCE(`id` NOT IN (:set_aside), TRUE)
         ORDER BY `due`, `id` LIMIT :window)
        ORDER BY candidate_1, candidate_id LIMIT :window
    ) AS c
STRAIGHT_JOIN `hooks`.`calls` AS t FORCE INDEX (PRIMARY) ON t.`id` = c.candidate_id
WHERE t.`target` = :group AND t.`due` <= :now AND (t.`held_until` IS NULL OR t.`held_until` <= :now)
ORDER BY c.candidate_1, c.candidate_id
LIMIT :limit
FOR UPDATE SKIP LOCKED\
""",
        "probe": """\
SELECT 1 FROM (
        (SELECT `id` AS candidate_id,
            `due` AS candidate_1 FROM `hooks`.`calls` FORCE INDEX (`calls_claim`)
         WHERE `target` = :group AND `due` <= :now AND `held_until` IS NULL
             AND COALESCE(`id` NOT IN (:set_aside), TRUE)
         ORDER BY `due`, `id` LIMIT :window)
        UNION ALL
        (SELECT `id` AS candidate_id,
            `due` AS candidate_1 FROM `hooks`.`calls` FORCE INDEX (`calls_claim`)
         WHERE `target` = :group AND `due` <= :now AND `held_until` <= :now
             AND COALESCE(`id` NOT IN (:set_aside), TRUE)
         ORDER BY `due`, `id` LIMIT :window)
        ORDER BY candidate_1, candidate_id LIMIT :window
    ) AS c
LIMIT 1 OFFSET :last\
""",
        "claim_write": """\
UPDATE `hooks`.`calls`
SET `held_until` = :locked_until, `attempt` = LEAST(`attempt`, 2147483646) + 1
WHERE `id` IN (:ids)\
""",
        "extend": """\
SELECT `id` FROM `hooks`.`calls` FORCE INDEX (PRIMARY)
WHERE `id` IN (:ids) AND (`id`, `held_until`, `attempt`) IN (:held)
FOR UPDATE SKIP LOCKED\
""",
        "extend_write": """\
UPDATE `hooks`.`calls` FORCE INDEX (PRIMARY)
SET `held_until` = :locked_until
WHERE `id` IN (:ids) AND (`id`, `held_until`, `attempt`) IN (:held)\
""",
        "held": """\
SELECT `id`, `held_until` FROM `hooks`.`calls` FORCE INDEX (PRIMARY)
WHERE `id` IN (:ids) AND (`id`, `held_until`, `attempt`) IN (:held)\
""",
        "release": """\
UPDATE `hooks`.`calls` FORCE INDEX (PRIMARY)
SET `held_until` = NULL
WHERE `id` IN (:ids) AND (`id`, `held_until`, `attempt`) IN (:held)\
""",
        "give_back": """\
UPDATE `hooks`.`calls` FORCE INDEX (PRIMARY)
SET `held_until` = NULL, `attempt` = `attempt` - 1
WHERE `id` IN (:ids) AND (`id`, `held_until`, `attempt`) IN (:held)\
""",
        "shorten": """\
UPDATE `hooks`.`calls` FORCE INDEX (PRIMARY)
SET `held_until` = :soon, `attempt` = `attempt` - 1
WHERE `id` IN (:ids) AND (`id`, `held_until`, `attempt`) IN (:held)\
""",
        "ack": """\
DELETE settled FROM `hooks`.`calls` AS settled FORCE INDEX (PRIMARY)
WHERE `id` = :id AND `held_until` IN (:token, :sent) AND `attempt` = :attempt\
""",
        "retry": """\
UPDATE `hooks`.`calls` FORCE INDEX (PRIMARY)
SET `due` = :now, `held_until` = NULL, `error` = :error
WHERE `id` = :id AND `held_until` IN (:token, :sent) AND `attempt` = :attempt\
""",
        "retry_after": """\
UPDATE `hooks`.`calls` FORCE INDEX (PRIMARY)
SET `due` = :due, `held_until` = NULL, `error` = :error
WHERE `id` = :id AND `held_until` IN (:token, :sent) AND `attempt` = :attempt\
""",
        "dead_letter": """\
UPDATE `hooks`.`calls` FORCE INDEX (PRIMARY)
SET `origin` = `target`, `target` = 'escalated', `attempt` = 1, `due` = :now, `held_until` = NULL,
    `error` = COALESCE(:error, :reason)
WHERE `id` = :id AND `held_until` IN (:token, :sent) AND `attempt` = :attempt\
""",
        "enqueue": """\
INSERT INTO `hooks`.`calls` (`target`, `headers`, `body`, `attempt`, `due`)
VALUES (:target, :headers, :body, 1, :due)
RETURNING `id`\
""",
        "redrive_oldest": """\
SELECT `id` FROM `hooks`.`calls` FORCE INDEX (`calls_claim`)
WHERE `target` = 'escalated' AND `origin` IS NOT NULL
    AND (`held_until` IS NULL OR `held_until` <= :now)
ORDER BY `due`, `id`
LIMIT :limit\
""",
        "redrive_lock": """\
SELECT t.`id` FROM `hooks`.`calls` AS t FORCE INDEX (PRIMARY)
WHERE t.`id` IN (:ids) AND t.`target` = 'escalated' AND t.`origin` IS NOT NULL
    AND (t.`held_until` IS NULL OR t.`held_until` <= :now)
ORDER BY t.`id`
FOR UPDATE SKIP LOCKED\
""",
        "redrive": """\
UPDATE `hooks`.`calls`
SET `target` = `origin`, `origin` = NULL, `attempt` = 1, `due` = :now, `held_until` = NULL
WHERE `id` IN (:ids)\
""",
        "stats_due": """\
SELECT COUNT(*) AS due_rows,
    MIN(`due`) AS oldest,
    COUNT(*) AS looked_at
FROM (
    SELECT `due` FROM `hooks`.`calls` FORCE INDEX (`calls_claim`)
    WHERE `target` = :group AND `held_until` IS NULL AND `due` <= :now
    ORDER BY `due`, `id` LIMIT :most
) AS looked\
""",
        "stats_delayed": """\
SELECT COUNT(*) FROM (
    SELECT `id` FROM `hooks`.`calls` FORCE INDEX (`calls_claim`)
    WHERE `target` = :group AND `held_until` IS NULL AND `due` > :now
    ORDER BY `due`, `id` LIMIT :most
) AS looked\
""",
        "stats_leased": """\
SELECT COUNT(CASE WHEN `held_until` <= :now THEN 1 END) AS due_rows,
    COUNT(CASE WHEN `held_until` > :now THEN 1 END) AS rows_in_work,
    MIN(CASE WHEN `held_until` <= :now THEN `due` END) AS oldest,
    COUNT(*) AS looked_at
FROM (
    SELECT `held_until`, `due` FROM `hooks`.`calls` FORCE INDEX (`calls_claim`)
    WHERE `target` = :group AND `held_until` IS NOT NULL
    LIMIT :most
) AS looked\
""",
        "stats_dead": """\
SELECT COUNT(*) FROM (
    SELECT `id` FROM `hooks`.`calls` FORCE INDEX (`calls_claim`)
    WHERE `target` = 'escalated'
    LIMIT :most
) AS looked\
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
            "id",
            "bigint",
        ),
        _runtime.Column(
            "target",
            "varchar",
        ),
        _runtime.Column(
            "due",
            "timestamp(6)",
        ),
        _runtime.Column(
            "error",
            "text",
        ),
        _runtime.Column(
            "headers",
            "json",
        ),
        _runtime.Column(
            "body",
            "json",
        ),
    ),
    id_field="id",
    order=(
        "due",
        "id",
    ),
    enqueued=(
        _runtime.Column(
            "target",
            "varchar",
        ),
        _runtime.Column(
            "headers",
            "json",
        ),
        _runtime.Column(
            "body",
            "json",
        ),
    ),
    statements=_SQL,
    lease=LEASE,
    counts_attempts=True,
    max_attempts=6,
    retry=_runtime.RetryPolicy(
        "linear",
        60,
        1800,
        0.2,
    ),
    retry_after=_runtime.Column(
        "due",
        "timestamp(6)",
    ),
    group=_runtime.Column(
        "target",
        "varchar",
    ),
    work=_runtime.Relation(
        "calls",
        {
            "id": "bigint",
            "target": "varchar",
            "origin": "varchar",
            "due": "timestamp(6)",
            "attempt": "int",
            "held_until": "timestamp(6)",
            "error": "text",
            "headers": "json",
            "body": "json",
        },
        schema="hooks",
        id="id",
        times=(
            "due",
            "held_until",
        ),
    ),
    dead_group="escalated",
)
