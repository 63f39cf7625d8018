# From tables.toml: edit that and run `sqlclaimgen build`.
# format 1 · form lease · postgres, mysql, mariadb, sqlite
"""The work table ledger: lease form, PostgreSQL, MySQL, MariaDB and SQLite."""

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

TABLE = "ledger"
LEASE = _datetime.timedelta(seconds=30)

Connection: _t.TypeAlias = (
    _runtime.PostgresConnection | _runtime.MySQLConnection | _runtime.SQLiteConnection
)
AsyncConnection: _t.TypeAlias = _runtime.AsyncPostgresConnection
Outcome: _t.TypeAlias = Ack | Retry | RetryAfter | Discard | DeadLetter


@_dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class New:
    """A row to enqueue."""

    account: int
    cents: int
    text: str = ""


@_dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A row as the claim returned it."""

    entry: int
    account: int
    book_after: _datetime.datetime
    cents: int
    text: str


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
        """Make the row due now, in its place: the next claim of its group takes it again."""
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
        """Make the row due now, in its place: the next claim of its group takes it again."""
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
    group: int,
) -> _runtime.Claim[Delivery]:
    """Take the head of one group.

    The claim commits at once; the rows are held by the expiry in them.
    FIFO: nothing of a group while a row of it is in work, and a head that is not
    due holds its group.
    Raises TransactionOpen when ``conn`` has a transaction open.
    """
    return _runtime.claim(QUEUE, conn, _runtime.group(group), 1)


def claim_async(
    conn: AsyncConnection,
    *,
    group: int,
) -> _runtime.AsyncClaim[Delivery]:
    """Take the head of one group.

    ``async with`` claims when its block is entered, and gives back when it is left.
    Raises TransactionOpen when ``conn`` has a transaction open.
    """
    return _runtime.claim_async(QUEUE, conn, _runtime.group(group), 1)


def claim_table(
    conn: Connection,
    *,
    limit: int = 1,
    resume: _runtime.Turn | None = None,
) -> _runtime.Claim[Delivery]:
    """Take the heads of up to ``limit`` groups.

    The claim commits at once; the rows are held by the expiry in them.
    FIFO: nothing of a group while a row of it is in work, and a head that is not
    due holds its group.
    Groups are served in turn when ``resume`` is that of the last claim.
    Raises TransactionOpen when ``conn`` has a transaction open.
    """
    return _runtime.claim(QUEUE, conn, _runtime.TABLE.resuming(resume), limit)


def claim_table_async(
    conn: AsyncConnection,
    *,
    limit: int = 1,
    resume: _runtime.Turn | None = None,
) -> _runtime.AsyncClaim[Delivery]:
    """Take the heads of up to ``limit`` groups.

    ``async with`` claims when its block is entered, and gives back when it is left.
    Groups are served in turn when ``resume`` is that of the last claim.
    Raises TransactionOpen when ``conn`` has a transaction open.
    """
    return _runtime.claim_async(QUEUE, conn, _runtime.TABLE.resuming(resume), limit)


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
    group: int,
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
    group: int,
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
        "walk_first": """\
WITH RECURSIVE step(candidate_group) AS (
    SELECT (SELECT t."account" FROM "ledger" AS t
            WHERE t."booked_at" IS NULL
            ORDER BY t."account" LIMIT 1)
    UNION ALL
    SELECT (SELECT t."account" FROM "ledger" AS t
            WHERE t."booked_at" IS NULL AND t."account" > step.candidate_group
            ORDER BY t."account" LIMIT 1)
    FROM step WHERE step.candidate_group IS NOT NULL
), seen AS (
    SELECT candidate_group FROM step WHERE candidate_group IS NOT NULL LIMIT :window
)
SELECT seen.candidate_group,
    COALESCE((SELECT y."book_after" <= :now
        AND y."entry" <> ALL(CAST(:set_aside AS bigint[])) FROM "ledger" AS y
        WHERE y."booked_at" IS NULL AND y."account" = seen.candidate_group
        ORDER BY y."account", y."entry" LIMIT 1), FALSE)
    AND NOT EXISTS (
        SELECT 1 FROM "ledger" AS b
        WHERE b."booked_at" IS NULL AND b."account" = seen.candidate_group
            AND b."locked_until" > :now
    ) AS ready,
    COALESCE(seen.candidate_group > CAST(:until AS bigint), FALSE) AS beyond
FROM seen AS seen
ORDER BY seen.candidate_group\
""",
        "walk": """\
WITH RECURSIVE step(candidate_group) AS (
    SELECT (SELECT t."account" FROM "ledger" AS t
            WHERE t."booked_at" IS NULL AND t."account" > CAST(:after AS bigint)
            ORDER BY t."account" LIMIT 1)
    UNION ALL
    SELECT (SELECT t."account" FROM "ledger" AS t
            WHERE t."booked_at" IS NULL AND t."account" > step.candidate_group
            ORDER BY t."account" LIMIT 1)
    FROM step WHERE step.candidate_group IS NOT NULL
), seen AS (
    SELECT candidate_group FROM step WHERE candidate_group IS NOT NULL LIMIT :window
)
SELECT seen.candidate_group,
    COALESCE((SELECT y."book_after" <= :now
        AND y."entry" <> ALL(CAST(:set_aside AS bigint[])) FROM "ledger" AS y
        WHERE y."booked_at" IS NULL AND y."account" = seen.candidate_group
        ORDER BY y."account", y."entry" LIMIT 1), FALSE)
    AND NOT EXISTS (
        SELECT 1 FROM "ledger" AS b
        WHERE b."booked_at" IS NULL AND b."account" = seen.candidate_group
            AND b."locked_until" > :now
    ) AS ready,
    COALESCE(seen.candidate_group > CAST(:until AS bigint), FALSE) AS beyond
FROM seen AS seen
ORDER BY seen.candidate_group\
""",
        "guard": """\
SELECT g.place
FROM unnest(CAST(:groups AS bigint[])) WITH ORDINALITY AS g(candidate_group, place)
WHERE pg_try_advisory_xact_lock(
    hash_array_extended(ARRAY[g.candidate_group], hashtextextended('ledger', 0)))
LIMIT :limit\
""",
        "claim": """\
WITH head(candidate_id) AS (
    SELECT (SELECT y."entry" FROM "ledger" AS y
        WHERE y."booked_at" IS NULL AND y."account" = :group
        ORDER BY y."entry" LIMIT 1)
    WHERE NOT EXISTS (
        SELECT 1 FROM "ledger" AS b
        WHERE b."booked_at" IS NULL AND b."account" = :group AND b."locked_until" > :now
    )
), candidate AS (
    SELECT t."entry"
    FROM head AS h JOIN "ledger" AS t ON t."entry" = h.candidate_id
    WHERE t."booked_at" IS NULL AND t."book_after" <= :now
        AND t."entry" <> ALL(CAST(:set_aside AS bigint[]))
        AND (t."locked_until" IS NULL OR t."locked_until" <= :now)
    FOR NO KEY UPDATE OF t SKIP LOCKED
)
, taken AS (
    UPDATE "ledger" AS t
    SET "locked_until" = :locked_until, "attempt" = LEAST(t."attempt", 2147483646) + 1
    WHERE t."entry" = ANY(ARRAY(SELECT c."entry" FROM candidate AS c))
    RETURNING t."entry", t."account", t."book_after", t."cents", t."text",
        t."attempt" - 1 AS "attempt"
)
SELECT "entry", "account", "book_after", "cents", "text", "attempt"
FROM taken
ORDER BY "book_after", "entry"\
""",
        "candidates": """\
WITH head(candidate_id) AS (
    SELECT (SELECT y."entry" FROM "ledger" AS y
        WHERE y."booked_at" IS NULL AND y."account" = :group
        ORDER BY y."entry" LIMIT 1)
    WHERE NOT EXISTS (
        SELECT 1 FROM "ledger" AS b
        WHERE b."booked_at" IS NULL AND b."account" = :group AND b."locked_until" > :now
    )
)
SELECT t."entry", t."account", t."book_after", t."cents", t."text", t."attempt"
FROM head AS h JOIN "ledger" AS t ON t."entry" = h.candidate_id
WHERE t."booked_at" IS NULL AND t."book_after" <= :now
    AND t."entry" <> ALL(CAST(:set_aside AS bigint[]))
    AND (t."locked_until" IS NULL OR t."locked_until" <= :now)
FOR NO KEY UPDATE OF t SKIP LOCKED\
""",
        "claim_table": """\
WITH head(candidate_id) AS (
    SELECT (SELECT y."entry" FROM "ledger" AS y
        WHERE y."booked_at" IS NULL AND y."account" = g.candidate_group
        ORDER BY y."account", y."entry" LIMIT 1)
    FROM unnest(CAST(:groups AS bigint[])) AS g(candidate_group)
    WHERE NOT EXISTS (
        SELECT 1 FROM "ledger" AS b
        WHERE b."booked_at" IS NULL AND b."account" = g.candidate_group AND b."locked_until" > :now
    )
), candidate AS (
    SELECT t."entry"
    FROM head AS h JOIN "ledger" AS t ON t."entry" = h.candidate_id
    WHERE t."booked_at" IS NULL AND t."book_after" <= :now
        AND t."entry" <> ALL(CAST(:set_aside AS bigint[]))
        AND (t."locked_until" IS NULL OR t."locked_until" <= :now)
    FOR NO KEY UPDATE OF t SKIP LOCKED
)
, taken AS (
    UPDATE "ledger" AS t
    SET "locked_until" = :locked_until, "attempt" = LEAST(t."attempt", 2147483646) + 1
    WHERE t."entry" = ANY(ARRAY(SELECT c."entry" FROM candidate AS c))
    RETURNING t."entry", t."account", t."book_after", t."cents", t."text",
        t."attempt" - 1 AS "attempt"
)
SELECT "entry", "account", "book_after", "cents", "text", "attempt"
FROM taken
ORDER BY "book_after", "entry"\
""",
        "candidates_table": """\
WITH head(candidate_id) AS (
    SELECT (SELECT y."entry" FROM "ledger" AS y
        WHERE y."booked_at" IS NULL AND y."account" = g.candidate_group
        ORDER BY y."account", y."entry" LIMIT 1)
    FROM unnest(CAST(:groups AS bigint[])) AS g(candidate_group)
    WHERE NOT EXISTS (
        SELECT 1 FROM "ledger" AS b
        WHERE b."booked_at" IS NULL AND b."account" = g.candidate_group AND b."locked_until" > :now
    )
)
SELECT t."entry", t."account", t."book_after", t."cents", t."text", t."attempt"
FROM head AS h JOIN "ledger" AS t ON t."entry" = h.candidate_id
WHERE t."booked_at" IS NULL AND t."book_after" <= :now
    AND t."entry" <> ALL(CAST(:set_aside AS bigint[]))
    AND (t."locked_until" IS NULL OR t."locked_until" <= :now)
FOR NO KEY UPDATE OF t SKIP LOCKED\
""",
        "candidates_take": """\
UPDATE "ledger"
SET "locked_until" = :locked_until, "attempt" = LEAST("attempt", 2147483646) + 1
WHERE "entry" = ANY(CAST(:ids AS bigint[]))
RETURNING "entry", "account", "book_after", "cents", "text", "attempt" - 1 AS "attempt"\
""",
        "extend": """\
WITH held AS (
    SELECT * FROM unnest(CAST(:ids AS bigint[]), CAST(:tokens AS timestamptz[]),
        CAST(:sents AS timestamptz[]), CAST(:attempts AS integer[])) AS h(id, token, sent, attempt)
), locked AS (
    SELECT h.* FROM "ledger" AS t JOIN held AS h ON t."entry" = h.id
    WHERE t."locked_until" IN (h.token, h.sent) AND t."attempt" = h.attempt
        AND t."booked_at" IS NULL
    FOR NO KEY UPDATE OF t SKIP LOCKED
)
UPDATE "ledger" AS t
SET "locked_until" = :locked_until
FROM locked AS h
WHERE t."entry" = h.id AND t."locked_until" IN (h.token, h.sent) AND t."attempt" = h.attempt
    AND t."booked_at" IS NULL
RETURNING t."entry"\
""",
        "held": """\
SELECT t."entry", t."locked_until"
FROM "ledger" AS t JOIN unnest(CAST(:ids AS bigint[]), CAST(:tokens AS timestamptz[]),
    CAST(:sents AS timestamptz[]), CAST(:attempts AS integer[])) AS h(id, token, sent, attempt)
    ON t."entry" = h.id AND t."locked_until" IN (h.token, h.sent) AND t."attempt" = h.attempt
        AND t."booked_at" IS NULL\
""",
        "release": """\
UPDATE "ledger" AS t
SET "locked_until" = NULL
FROM unnest(CAST(:ids AS bigint[]), CAST(:tokens AS timestamptz[]), CAST(:sents AS timestamptz[]),
    CAST(:attempts AS integer[])) AS h(id, token, sent, attempt)
WHERE t."entry" = h.id AND t."locked_until" IN (h.token, h.sent) AND t."attempt" = h.attempt
    AND t."booked_at" IS NULL
RETURNING t."entry"\
""",
        "give_back": """\
UPDATE "ledger" AS t
SET "locked_until" = NULL, "attempt" = t."attempt" - 1
FROM unnest(CAST(:ids AS bigint[]), CAST(:tokens AS timestamptz[]), CAST(:sents AS timestamptz[]),
    CAST(:attempts AS integer[])) AS h(id, token, sent, attempt)
WHERE t."entry" = h.id AND t."locked_until" IN (h.token, h.sent) AND t."attempt" = h.attempt
    AND t."booked_at" IS NULL
RETURNING t."entry"\
""",
        "shorten": """\
WITH held AS (
    SELECT * FROM unnest(CAST(:ids AS bigint[]), CAST(:tokens AS timestamptz[]),
        CAST(:sents AS timestamptz[]), CAST(:attempts AS integer[])) AS h(id, token, sent, attempt)
), locked AS (
    SELECT h.* FROM "ledger" AS t JOIN held AS h ON t."entry" = h.id
    WHERE t."locked_until" IN (h.token, h.sent) AND t."attempt" = h.attempt
        AND t."booked_at" IS NULL
    FOR NO KEY UPDATE OF t SKIP LOCKED
)
UPDATE "ledger" AS t
SET "locked_until" = :soon, "attempt" = t."attempt" - 1
FROM locked AS h
WHERE t."entry" = h.id AND t."locked_until" IN (h.token, h.sent) AND t."attempt" = h.attempt
    AND t."booked_at" IS NULL
RETURNING t."entry"\
""",
        "ack": """\
UPDATE "ledger"
SET "booked_at" = :now, "locked_until" = NULL
WHERE "entry" = :id AND "locked_until" IN (:token, :sent) AND "attempt" = :attempt
    AND "booked_at" IS NULL\
""",
        "retry": """\
UPDATE "ledger"
SET "book_after" = :now, "locked_until" = NULL
WHERE "entry" = :id AND "locked_until" IN (:token, :sent) AND "attempt" = :attempt
    AND "booked_at" IS NULL\
""",
        "retry_after": """\
UPDATE "ledger"
SET "book_after" = :due, "locked_until" = NULL
WHERE "entry" = :id AND "locked_until" IN (:token, :sent) AND "attempt" = :attempt
    AND "booked_at" IS NULL\
""",
        "dead_letter": """\
WITH moved AS (
    DELETE FROM "ledger"
    WHERE "entry" = :id AND "locked_until" IN (:token, :sent) AND "attempt" = :attempt
        AND "booked_at" IS NULL
    RETURNING "entry", "account", "book_after", "attempt", "locked_until", "booked_at", "cents",
        "text"
)
INSERT INTO "ledger_rejected" ("entry", "account", "book_after", "attempt", "locked_until",
    "booked_at", "cents", "text", "reason", "error", "died_at")
SELECT "entry", "account", "book_after", "attempt" - 1, NULL, "booked_at", "cents", "text",
    CAST(:reason AS text), CAST(:error AS text), :now
FROM moved
ON CONFLICT ("entry") DO UPDATE
SET "account" = excluded."account", "book_after" = excluded."book_after",
    "attempt" = excluded."attempt", "locked_until" = excluded."locked_until",
    "booked_at" = excluded."booked_at", "cents" = excluded."cents", "text" = excluded."text",
    "reason" = excluded."reason", "error" = excluded."error", "died_at" = excluded."died_at"\
""",
        "present": """\
SELECT "entry" FROM "ledger"
WHERE "entry" = :id AND "locked_until" IN (:token, :sent) AND "attempt" = :attempt
    AND "booked_at" IS NULL\
""",
        "enqueue": """\
INSERT INTO "ledger" ("account", "cents", "text", "attempt", "book_after")
VALUES (:account, :cents, :text, 1, :book_after)
RETURNING "entry"\
""",
        "redrive_oldest": """\
SELECT d."entry" FROM "ledger_rejected" AS d
WHERE (SELECT 1 FROM "ledger" AS q WHERE q."entry" = d."entry" LIMIT 1) IS NULL
ORDER BY d."died_at", d."entry"
LIMIT :limit\
""",
        "redrive": """\
WITH chosen AS (
    SELECT "entry", "account", "book_after", "attempt", "locked_until", "booked_at", "cents",
        "text" FROM "ledger_rejected"
    WHERE "entry" = ANY(CAST(:ids AS bigint[]))
    ORDER BY "entry"
    FOR UPDATE
), moved AS (
    INSERT INTO "ledger" ("entry", "account", "book_after", "attempt", "locked_until", "booked_at",
        "cents", "text") OVERRIDING SYSTEM VALUE
    SELECT d."entry", d."account", :now, 1, NULL, NULL, d."cents", COALESCE(d."text", '')
    FROM chosen AS d
    ON CONFLICT DO NOTHING
    RETURNING "entry"
)
DELETE FROM "ledger_rejected" AS d USING moved AS c
WHERE d."entry" = c."entry"
RETURNING d."entry"\
""",
        "redrive_number": """\
SELECT setval(s.numbers, :id) FROM (SELECT CAST(pg_get_serial_sequence('"ledger"',
    'entry') AS regclass) AS numbers) AS s
WHERE CASE WHEN has_sequence_privilege(s.numbers, 'USAGE') AND has_sequence_privilege(s.numbers,
    'UPDATE')
    THEN COALESCE(pg_sequence_last_value(s.numbers), 0) < :id ELSE FALSE END\
""",
        "dead_among": """\
SELECT d."entry" FROM "ledger_rejected" AS d
WHERE d."entry" = ANY(CAST(:ids AS bigint[]))\
""",
        "purge_oldest": """\
SELECT t."entry", t."booked_at" FROM "ledger" AS t
WHERE t."booked_at" < :before
ORDER BY t."booked_at"
LIMIT :limit
FOR UPDATE SKIP LOCKED\
""",
        "purge_next": """\
SELECT t."entry", t."booked_at" FROM "ledger" AS t
WHERE t."booked_at" < :before AND t."booked_at" >= :since
ORDER BY t."booked_at"
LIMIT :limit
FOR UPDATE SKIP LOCKED\
""",
        "purge": """\
DELETE FROM "ledger"
WHERE "entry" = ANY(CAST(:ids AS bigint[]))\
""",
        "purge_left": """\
SELECT t."entry" FROM "ledger" AS t
WHERE t."entry" = ANY(CAST(:ids AS bigint[]))\
""",
        "stats_due": """\
SELECT COUNT(CASE WHEN "book_after" <= :now
    AND ("locked_until" IS NULL OR "locked_until" <= :now) THEN 1 END) AS due_rows,
    COUNT(CASE WHEN "book_after" > :now THEN 1 END) AS delayed_rows,
    COUNT(CASE WHEN "locked_until" > :now THEN 1 END) AS rows_in_work,
    MIN(CASE WHEN "book_after" <= :now
        AND ("locked_until" IS NULL OR "locked_until" <= :now) THEN "book_after" END) AS oldest,
    COUNT(*) AS looked_at
FROM (
    SELECT "entry", "book_after", "locked_until" FROM "ledger"
    WHERE "account" = :group AND "booked_at" IS NULL
    ORDER BY "entry" LIMIT :most
) AS looked\
""",
        "stats_due_table": """\
SELECT COUNT(CASE WHEN "book_after" <= :now
    AND ("locked_until" IS NULL OR "locked_until" <= :now) THEN 1 END) AS due_rows,
    COUNT(CASE WHEN "book_after" > :now THEN 1 END) AS delayed_rows,
    COUNT(CASE WHEN "locked_until" > :now THEN 1 END) AS rows_in_work,
    MIN(CASE WHEN "book_after" <= :now
        AND ("locked_until" IS NULL OR "locked_until" <= :now) THEN "book_after" END) AS oldest,
    COUNT(*) AS looked_at
FROM (
    SELECT "entry", "book_after", "locked_until" FROM "ledger"
    WHERE "booked_at" IS NULL
    ORDER BY "account", "entry" LIMIT :most
) AS looked\
""",
        "stats_dead": """\
SELECT COUNT(*) FROM (SELECT "entry" FROM "ledger_rejected" LIMIT :most) AS looked\
""",
        "row_security": """\
SELECT row_security_active('"ledger"')
    OR row_security_active('"ledger_rejected"')\
""",
    },
    "mysql": {
        "walk_first": """\
SELECT seen.candidate_group,
    COALESCE((SELECT y.`book_after` <= :now AND COALESCE(y.`entry` NOT IN (:set_aside),
        TRUE) FROM `ledger` AS y FORCE INDEX (`ledger_claim`)
        WHERE y.`booked_at` IS NULL AND y.`account` = seen.candidate_group
        ORDER BY y.`account`, y.`entry` LIMIT 1), FALSE)
    AND NOT COALESCE((
        SELECT b.`locked_until` > :now FROM `ledger` AS b FORCE INDEX (`ledger_work`)
        WHERE b.`booked_at` IS NULL AND b.`account` = seen.candidate_group
        ORDER BY b.`account` DESC, b.`locked_until` DESC LIMIT 1
    ), FALSE) AS ready,
    COALESCE(seen.candidate_group > :until, FALSE) AS beyond
FROM (
    SELECT DISTINCT `booked_at`,
        `account` AS candidate_group FROM `ledger` FORCE INDEX (`ledger_claim`)
    WHERE `booked_at` IS NULL
    ORDER BY `booked_at`, `account` LIMIT :window
) AS seen
ORDER BY seen.candidate_group\
""",
        "walk": """\
SELECT seen.candidate_group,
    COALESCE((SELECT y.`book_after` <= :now AND COALESCE(y.`entry` NOT IN (:set_aside),
        TRUE) FROM `ledger` AS y FORCE INDEX (`ledger_claim`)
        WHERE y.`booked_at` IS NULL AND y.`account` = seen.candidate_group
        ORDER BY y.`account`, y.`entry` LIMIT 1), FALSE)
    AND NOT COALESCE((
        SELECT b.`locked_until` > :now FROM `ledger` AS b FORCE INDEX (`ledger_work`)
        WHERE b.`booked_at` IS NULL AND b.`account` = seen.candidate_group
        ORDER BY b.`account` DESC, b.`locked_until` DESC LIMIT 1
    ), FALSE) AS ready,
    COALESCE(seen.candidate_group > :until, FALSE) AS beyond
FROM (
    SELECT DISTINCT `booked_at`,
        `account` AS candidate_group FROM `ledger` FORCE INDEX (`ledger_claim`)
    WHERE `booked_at` IS NULL AND `account` > :after
    ORDER BY `booked_at`, `account` LIMIT :window
) AS seen
ORDER BY seen.candidate_group\
""",
        "guard": """\
SELECT g.place, IS_USED_LOCK(g.name) = CONNECTION_ID() AS held
FROM (
    SELECT place, SHA2(CONVERT(
        CONCAT(DATABASE(), '.ledger:', RTRIM(candidate_group))
        USING utf8mb4), 256) AS name
    FROM JSON_TABLE(:group_list, '$[*]' COLUMNS (
        place FOR ORDINALITY,
        candidate_group varchar(1000) CHARACTER SET utf8mb4 PATH '$' ERROR ON ERROR
    )) AS listed
) AS g
WHERE COALESCE(GET_LOCK(g.name, 0), -1) <> 0
LIMIT :limit\
""",
        "guard_release": """\
SELECT g.place, RELEASE_LOCK(g.name) AS released
FROM (
    SELECT place, SHA2(CONVERT(
        CONCAT(DATABASE(), '.ledger:', RTRIM(candidate_group))
        USING utf8mb4), 256) AS name
    FROM JSON_TABLE(:group_list, '$[*]' COLUMNS (
        place FOR ORDINALITY,
        candidate_group varchar(1000) CHARACTER SET utf8mb4 PATH '$' ERROR ON ERROR
    )) AS listed
) AS g\
""",
        "claim": """\
SELECT t.`entry`, t.`account`, t.`book_after`, t.`cents`, t.`text`, LEAST(t.`attempt`,
    2147483646) AS `attempt`
FROM (
        SELECT y.`entry` AS candidate_id FROM `ledger` AS y FORCE INDEX (`ledger_claim`)
        WHERE y.`booked_at` IS NULL AND y.`account` = :group
        ORDER BY y.`entry` LIMIT 1
) AS head
STRAIGHT_JOIN `ledger` AS t FORCE INDEX (PRIMARY) ON t.`entry` = head.candidate_id
WHERE t.`booked_at` IS NULL AND t.`book_after` <= :now AND COALESCE(t.`entry` NOT IN (:set_aside),
    TRUE) AND (t.`locked_until` IS NULL OR t.`locked_until` <= :now)
    AND NOT COALESCE((
        SELECT b.`locked_until` > :now FROM `ledger` AS b FORCE INDEX (`ledger_work`)
        WHERE b.`booked_at` IS NULL AND b.`account` = :group
        ORDER BY b.`locked_until` DESC LIMIT 1
    ), FALSE)
FOR UPDATE OF t SKIP LOCKED\
""",
        "claim_table": """\
SELECT t.`entry`, t.`account`, t.`book_after`, t.`cents`, t.`text`, LEAST(t.`attempt`,
    2147483646) AS `attempt`
FROM (
    SELECT (SELECT y.`entry` FROM `ledger` AS y FORCE INDEX (`ledger_claim`)
        WHERE y.`booked_at` IS NULL AND y.`account` = g.candidate_group
        ORDER BY y.`account`, y.`entry` LIMIT 1) AS candidate_id
    FROM (
        SELECT DISTINCT `booked_at`,
            `account` AS candidate_group FROM `ledger` FORCE INDEX (`ledger_claim`)
        WHERE `booked_at` IS NULL AND `account` IN (:groups)
    ) AS g
    WHERE NOT COALESCE((
        SELECT b.`locked_until` > :now FROM `ledger` AS b FORCE INDEX (`ledger_work`)
        WHERE b.`booked_at` IS NULL AND b.`account` = g.candidate_group
        ORDER BY b.`account` DESC, b.`locked_until` DESC LIMIT 1
    ), FALSE)
) AS head
STRAIGHT_JOIN `ledger` AS t FORCE INDEX (PRIMARY) ON t.`entry` = head.candidate_id
WHERE t.`booked_at` IS NULL AND t.`book_after` <= :now AND COALESCE(t.`entry` NOT IN (:set_aside),
    TRUE) AND (t.`locked_until` IS NULL OR t.`locked_until` <= :now)
FOR UPDATE OF t SKIP LOCKED\
""",
        "claim_write": """\
UPDATE `ledger`
SET `locked_until` = :locked_until, `attempt` = LEAST(`attempt`, 2147483646) + 1
WHERE `entry` IN (:ids)\
""",
        "extend": """\
SELECT `entry` FROM `ledger` FORCE INDEX (PRIMARY)
WHERE `entry` IN (:ids) AND (`entry`, `locked_until`, `attempt`) IN (:held) AND `booked_at` IS NULL
FOR UPDATE SKIP LOCKED\
""",
        "extend_write": """\
UPDATE `ledger` FORCE INDEX (PRIMARY)
SET `locked_until` = :locked_until
WHERE `entry` IN (:ids) AND (`entry`, `locked_until`, `attempt`) IN (:held) AND `booked_at` IS NULL\
""",
        "held": """\
SELECT `entry`, `locked_until` FROM `ledger` FORCE INDEX (PRIMARY)
WHERE `entry` IN (:ids) AND (`entry`, `locked_until`, `attempt`) IN (:held) AND `booked_at` IS NULL\
""",
        "release": """\
UPDATE `ledger` FORCE INDEX (PRIMARY)
SET `locked_until` = NULL
WHERE `entry` IN (:ids) AND (`entry`, `locked_until`, `attempt`) IN (:held) AND `booked_at` IS NULL\
""",
        "give_back": """\
UPDATE `ledger` FORCE INDEX (PRIMARY)
SET `locked_until` = NULL, `attempt` = `attempt` - 1
WHERE `entry` IN (:ids) AND (`entry`, `locked_until`, `attempt`) IN (:held) AND `booked_at` IS NULL\
""",
        "shorten": """\
UPDATE `ledger` FORCE INDEX (PRIMARY)
SET `locked_until` = :soon, `attempt` = `attempt` - 1
WHERE `entry` IN (:ids) AND (`entry`, `locked_until`, `attempt`) IN (:held) AND `booked_at` IS NULL\
""",
        "ack": """\
UPDATE `ledger` FORCE INDEX (PRIMARY)
SET `booked_at` = :now, `locked_until` = NULL
WHERE `entry` = :id AND `locked_until` IN (:token, :sent) AND `attempt` = :attempt
    AND `booked_at` IS NULL\
""",
        "retry": """\
UPDATE `ledger` FORCE INDEX (PRIMARY)
SET `book_after` = :now, `locked_until` = NULL
WHERE `entry` = :id AND `locked_until` IN (:token, :sent) AND `attempt` = :attempt
    AND `booked_at` IS NULL\
""",
        "retry_after": """\
UPDATE `ledger` FORCE INDEX (PRIMARY)
SET `book_after` = :due, `locked_until` = NULL
WHERE `entry` = :id AND `locked_until` IN (:token, :sent) AND `attempt` = :attempt
    AND `booked_at` IS NULL\
""",
        "dead_letter": """\
INSERT INTO `ledger_rejected` (`entry`, `account`, `book_after`, `attempt`, `locked_until`,
    `booked_at`, `cents`, `text`, `reason`, `error`, `died_at`)
SELECT `entry`, `account`, `book_after`, `attempt` - 1, NULL, `booked_at`, `cents`, `text`, :reason,
    :error, :now
FROM `ledger` FORCE INDEX (PRIMARY)
WHERE `entry` = :id AND `locked_until` IN (:token, :sent) AND `attempt` = :attempt
    AND `booked_at` IS NULL
FOR UPDATE
ON DUPLICATE KEY UPDATE `account` = VALUES(`account`), `book_after` = VALUES(`book_after`),
    `attempt` = VALUES(`attempt`), `locked_until` = VALUES(`locked_until`),
    `booked_at` = VALUES(`booked_at`), `cents` = VALUES(`cents`), `text` = VALUES(`text`),
    `reason` = VALUES(`reason`), `error` = VALUES(`error`), `died_at` = VALUES(`died_at`)\
""",
        "dead_letter_remove": """\
DELETE settled FROM `ledger` AS settled FORCE INDEX (PRIMARY)
WHERE `entry` = :id AND `locked_until` IN (:token, :sent) AND `attempt` = :attempt
    AND `booked_at` IS NULL\
""",
        "enqueue": """\
INSERT INTO `ledger` (`account`, `cents`, `text`, `attempt`, `book_after`)
VALUES (:account, :cents, :text, 1, :book_after)
\
""",
        "redrive_oldest": """\
SELECT d.`entry` FROM `ledger_rejected` AS d FORCE INDEX (`ledger_rejected_oldest`)
WHERE (SELECT 1 FROM `ledger` AS q WHERE q.`entry` = d.`entry` LIMIT 1) IS NULL
ORDER BY d.`died_at`, d.`entry`
LIMIT :limit\
""",
        "redrive_lock": """\
SELECT t.`entry` FROM `ledger_rejected` AS t FORCE INDEX (PRIMARY)
WHERE t.`entry` IN (:ids)
ORDER BY t.`entry`
FOR UPDATE\
""",
        "redrive": """\
INSERT INTO `ledger` (`entry`, `account`, `book_after`, `attempt`, `locked_until`, `booked_at`,
    `cents`, `text`)
SELECT d.`entry`, d.`account`, :now, 1, NULL, NULL, d.`cents`, COALESCE(d.`text`, '')
FROM `ledger_rejected` AS d
WHERE d.`entry` IN (:ids)
FOR UPDATE\
""",
        "redrive_remove": """\
DELETE t FROM (
    SELECT `entry` FROM `ledger_rejected`
    WHERE `entry` IN (:ids)
    FOR UPDATE SKIP LOCKED
) AS c
STRAIGHT_JOIN `ledger_rejected` AS t FORCE INDEX (PRIMARY) ON t.`entry` = c.`entry`\
""",
        "purge_oldest": """\
SELECT t.`entry`, t.`booked_at` FROM `ledger` AS t FORCE INDEX (`ledger_claim`)
WHERE t.`booked_at` < :before
ORDER BY t.`booked_at`
LIMIT :limit
FOR UPDATE OF t SKIP LOCKED\
""",
        "purge_next": """\
SELECT t.`entry`, t.`booked_at` FROM `ledger` AS t FORCE INDEX (`ledger_claim`)
WHERE t.`booked_at` < :before AND t.`booked_at` >= :since
ORDER BY t.`booked_at`
LIMIT :limit
FOR UPDATE OF t SKIP LOCKED\
""",
        "purge": """\
DELETE t FROM (
    SELECT `entry` FROM `ledger`
    WHERE `entry` IN (:ids)
    FOR UPDATE SKIP LOCKED
) AS c
STRAIGHT_JOIN `ledger` AS t FORCE INDEX (PRIMARY) ON t.`entry` = c.`entry`\
""",
        "purge_left": """\
SELECT t.`entry` FROM `ledger` AS t
WHERE t.`entry` IN (:ids)\
""",
        "stats_due": """\
SELECT COUNT(CASE WHEN `book_after` <= :now
    AND (`locked_until` IS NULL OR `locked_until` <= :now) THEN 1 END) AS due_rows,
    COUNT(CASE WHEN `book_after` > :now THEN 1 END) AS delayed_rows,
    COUNT(CASE WHEN `locked_until` > :now THEN 1 END) AS rows_in_work,
    MIN(CASE WHEN `book_after` <= :now
        AND (`locked_until` IS NULL OR `locked_until` <= :now) THEN `book_after` END) AS oldest,
    COUNT(*) AS looked_at
FROM (
    SELECT `entry`, `book_after`, `locked_until` FROM `ledger` FORCE INDEX (`ledger_claim`)
    WHERE `account` = :group AND `booked_at` IS NULL
    ORDER BY `entry` LIMIT :most
) AS looked\
""",
        "stats_due_table": """\
SELECT COUNT(CASE WHEN `book_after` <= :now
    AND (`locked_until` IS NULL OR `locked_until` <= :now) THEN 1 END) AS due_rows,
    COUNT(CASE WHEN `book_after` > :now THEN 1 END) AS delayed_rows,
    COUNT(CASE WHEN `locked_until` > :now THEN 1 END) AS rows_in_work,
    MIN(CASE WHEN `book_after` <= :now
        AND (`locked_until` IS NULL OR `locked_until` <= :now) THEN `book_after` END) AS oldest,
    COUNT(*) AS looked_at
FROM (
    SELECT `entry`, `book_after`, `locked_until` FROM `ledger` FORCE INDEX (`ledger_claim`)
    WHERE `booked_at` IS NULL
    ORDER BY `account`, `entry` LIMIT :most
) AS looked\
""",
        "stats_dead": """\
SELECT COUNT(*) FROM (SELECT `entry` FROM `ledger_rejected` LIMIT :most) AS looked\
""",
    },
    "mariadb": {
        "walk_first": """\
SELECT seen.candidate_group,
    COALESCE((SELECT y.`book_after` <= :now AND COALESCE(y.`entry` NOT IN (:set_aside),
        TRUE) FROM `ledger` AS y FORCE INDEX (`ledger_claim`)
        WHERE y.`booked_at` IS NULL AND y.`account` = seen.candidate_group
        ORDER BY y.`account`, y.`entry` LIMIT 1), FALSE)
    AND NOT COALESCE((
        SELECT b.`locked_until` > :now FROM `ledger` AS b FORCE INDEX (`ledger_work`)
        WHERE b.`booked_at` IS NULL AND b.`account` = seen.candidate_group
        ORDER BY b.`account` DESC, b.`locked_until` DESC LIMIT 1
    ), FALSE) AS ready,
    COALESCE(seen.candidate_group > :until, FALSE) AS beyond
FROM (
    SELECT DISTINCT `booked_at`,
        `account` AS candidate_group FROM `ledger` FORCE INDEX (`ledger_claim`)
    WHERE `booked_at` IS NULL
    LIMIT :window
) AS seen
ORDER BY seen.candidate_group\
""",
        "walk": """\
SELECT seen.candidate_group,
    COALESCE((SELECT y.`book_after` <= :now AND COALESCE(y.`entry` NOT IN (:set_aside),
        TRUE) FROM `ledger` AS y FORCE INDEX (`ledger_claim`)
        WHERE y.`booked_at` IS NULL AND y.`account` = seen.candidate_group
        ORDER BY y.`account`, y.`entry` LIMIT 1), FALSE)
    AND NOT COALESCE((
        SELECT b.`locked_until` > :now FROM `ledger` AS b FORCE INDEX (`ledger_work`)
        WHERE b.`booked_at` IS NULL AND b.`account` = seen.candidate_group
        ORDER BY b.`account` DESC, b.`locked_until` DESC LIMIT 1
    ), FALSE) AS ready,
    COALESCE(seen.candidate_group > :until, FALSE) AS beyond
FROM (
    SELECT DISTINCT `booked_at`,
        `account` AS candidate_group FROM `ledger` FORCE INDEX (`ledger_claim`)
    WHERE `booked_at` IS NULL AND `account` > :after
    LIMIT :window
) AS seen
ORDER BY seen.candidate_group\
""",
        "guard": """\
SELECT g.place, IS_USED_LOCK(g.name) = CONNECTION_ID() AS held
FROM (
    SELECT place, SHA2(CONVERT(
        CONCAT(DATABASE(), '.ledger:', RTRIM(candidate_group))
        USING utf8mb4), 256) AS name
    FROM JSON_TABLE(:group_list, '$[*]' COLUMNS (
        place FOR ORDINALITY,
        candidate_group varchar(1000) CHARACTER SET utf8mb4 PATH '$' ERROR ON ERROR
    )) AS listed
) AS g
WHERE COALESCE(GET_LOCK(g.name, 0), -1) <> 0
LIMIT :limit\
""",
        "guard_release": """\
SELECT g.place, RELEASE_LOCK(g.name) AS released
FROM (
    SELECT place, SHA2(CONVERT(
        CONCAT(DATABASE(), '.ledger:', RTRIM(candidate_group))
        USING utf8mb4), 256) AS name
    FROM JSON_TABLE(:group_list, '$[*]' COLUMNS (
        place FOR ORDINALITY,
        candidate_group varchar(1000) CHARACTER SET utf8mb4 PATH '$' ERROR ON ERROR
    )) AS listed
) AS g\
""",
        "claim": """\
SELECT t.`entry`, t.`account`, t.`book_after`, t.`cents`, t.`text`, LEAST(t.`attempt`,
    2147483646) AS `attempt`
FROM (
        SELECT y.`entry` AS candidate_id FROM `ledger` AS y FORCE INDEX (`ledger_claim`)
        WHERE y.`booked_at` IS NULL AND y.`account` = :group
        ORDER BY y.`entry` LIMIT 1
) AS head
STRAIGHT_JOIN `ledger` AS t FORCE INDEX (PRIMARY) ON t.`entry` = head.candidate_id
WHERE t.`booked_at` IS NULL AND t.`book_after` <= :now AND COALESCE(t.`entry` NOT IN (:set_aside),
    TRUE) AND (t.`locked_until` IS NULL OR t.`locked_until` <= :now)
    AND NOT COALESCE((
        SELECT b.`locked_until` > :now FROM `ledger` AS b FORCE INDEX (`ledger_work`)
        WHERE b.`booked_at` IS NULL AND b.`account` = :group
        ORDER BY b.`locked_until` DESC LIMIT 1
    ), FALSE)
FOR UPDATE SKIP LOCKED\
""",
        "claim_table": """\
SELECT t.`entry`, t.`account`, t.`book_after`, t.`cents`, t.`text`, LEAST(t.`attempt`,
    2147483646) AS `attempt`
FROM (
    SELECT (SELECT y.`entry` FROM `ledger` AS y FORCE INDEX (`ledger_claim`)
        WHERE y.`booked_at` IS NULL AND y.`account` = g.candidate_group
        ORDER BY y.`account`, y.`entry` LIMIT 1) AS candidate_id
    FROM (
        SELECT DISTINCT `booked_at`,
            `account` AS candidate_group FROM `ledger` FORCE INDEX (`ledger_claim`)
        WHERE `booked_at` IS NULL AND `account` IN (:groups)
    ) AS g
    WHERE NOT COALESCE((
        SELECT b.`locked_until` > :now FROM `ledger` AS b FORCE INDEX (`ledger_work`)
        WHERE b.`booked_at` IS NULL AND b.`account` = g.candidate_group
        ORDER BY b.`account` DESC, b.`locked_until` DESC LIMIT 1
    ), FALSE)
) AS head
STRAIGHT_JOIN `ledger` AS t FORCE INDEX (PRIMARY) ON t.`entry` = head.candidate_id
WHERE t.`booked_at` IS NULL AND t.`book_after` <= :now AND COALESCE(t.`entry` NOT IN (:set_aside),
    TRUE) AND (t.`locked_until` IS NULL OR t.`locked_until` <= :now)
FOR UPDATE SKIP LOCKED\
""",
        "claim_write": """\
UPDATE `ledger`
SET `locked_until` = :locked_until, `attempt` = LEAST(`attempt`, 2147483646) + 1
WHERE `entry` IN (:ids)\
""",
        "extend": """\
SELECT `entry` FROM `ledger` FORCE INDEX (PRIMARY)
WHERE `entry` IN (:ids) AND (`entry`, `locked_until`, `attempt`) IN (:held) AND `booked_at` IS NULL
FOR UPDATE SKIP LOCKED\
""",
        "extend_write": """\
UPDATE `ledger` FORCE INDEX (PRIMARY)
SET `locked_until` = :locked_until
WHERE `entry` IN (:ids) AND (`entry`, `locked_until`, `attempt`) IN (:held) AND `booked_at` IS NULL\
""",
        "held": """\
SELECT `entry`, `locked_until` FROM `ledger` FORCE INDEX (PRIMARY)
WHERE `entry` IN (:ids) AND (`entry`, `locked_until`, `attempt`) IN (:held) AND `booked_at` IS NULL\
""",
        "release": """\
UPDATE `ledger` FORCE INDEX (PRIMARY)
SET `locked_until` = NULL
WHERE `entry` IN (:ids) AND (`entry`, `locked_until`, `attempt`) IN (:held) AND `booked_at` IS NULL\
""",
        "give_back": """\
UPDATE `ledger` FORCE INDEX (PRIMARY)
SET `locked_until` = NULL, `attempt` = `attempt` - 1
WHERE `entry` IN (:ids) AND (`entry`, `locked_until`, `attempt`) IN (:held) AND `booked_at` IS NULL\
""",
        "shorten": """\
UPDATE `ledger` FORCE INDEX (PRIMARY)
SET `locked_until` = :soon, `attempt` = `attempt` - 1
WHERE `entry` IN (:ids) AND (`entry`, `locked_until`, `attempt`) IN (:held) AND `booked_at` IS NULL\
""",
        "ack": """\
UPDATE `ledger` FORCE INDEX (PRIMARY)
SET `booked_at` = :now, `locked_until` = NULL
WHERE `entry` = :id AND `locked_until` IN (:token, :sent) AND `attempt` = :attempt
    AND `booked_at` IS NULL\
""",
        "retry": """\
UPDATE `ledger` FORCE INDEX (PRIMARY)
SET `book_after` = :now, `locked_until` = NULL
WHERE `entry` = :id AND `locked_until` IN (:token, :sent) AND `attempt` = :attempt
    AND `booked_at` IS NULL\
""",
        "retry_after": """\
UPDATE `ledger` FORCE INDEX (PRIMARY)
SET `book_after` = :due, `locked_until` = NULL
WHERE `entry` = :id AND `locked_until` IN (:token, :sent) AND `attempt` = :attempt
    AND `booked_at` IS NULL\
""",
        "dead_letter": """\
INSERT INTO `ledger_rejected` (`entry`, `account`, `book_after`, `attempt`, `locked_until`,
    `booked_at`, `cents`, `text`, `reason`, `error`, `died_at`)
SELECT `entry`, `account`, `book_after`, `attempt` - 1, NULL, `booked_at`, `cents`, `text`, :reason,
    :error, :now
FROM `ledger` FORCE INDEX (PRIMARY)
WHERE `entry` = :id AND `locked_until` IN (:token, :sent) AND `attempt` = :attempt
    AND `booked_at` IS NULL
FOR UPDATE
ON DUPLICATE KEY UPDATE `account` = VALUES(`account`), `book_after` = VALUES(`book_after`),
    `attempt` = VALUES(`attempt`), `locked_until` = VALUES(`locked_until`),
    `booked_at` = VALUES(`booked_at`), `cents` = VALUES(`cents`), `text` = VALUES(`text`),
    `reason` = VALUES(`reason`), `error` = VALUES(`error`), `died_at` = VALUES(`died_at`)\
""",
        "dead_letter_remove": """\
DELETE settled FROM `ledger` AS settled FORCE INDEX (PRIMARY)
WHERE `entry` = :id AND `locked_until` IN (:token, :sent) AND `attempt` = :attempt
    AND `booked_at` IS NULL\
""",
        "enqueue": """\
INSERT INTO `ledger` (`account`, `cents`, `text`, `attempt`, `book_after`)
VALUES (:account, :cents, :text, 1, :book_after)
RETURNING `entry`\
""",
        "redrive_oldest": """\
SELECT d.`entry` FROM `ledger_rejected` AS d FORCE INDEX (`ledger_rejected_oldest`)
WHERE (SELECT 1 FROM `ledger` AS q WHERE q.`entry` = d.`entry` LIMIT 1) IS NULL
ORDER BY d.`died_at`, d.`entry`
LIMIT :limit\
""",
        "redrive_lock": """\
SELECT t.`entry` FROM `ledger_rejected` AS t FORCE INDEX (PRIMARY)
WHERE t.`entry` IN (:ids)
ORDER BY t.`entry`
FOR UPDATE\
""",
        "redrive": """\
INSERT INTO `ledger` (`entry`, `account`, `book_after`, `attempt`, `locked_until`, `booked_at`,
    `cents`, `text`)
SELECT d.`entry`, d.`account`, :now, 1, NULL, NULL, d.`cents`, COALESCE(d.`text`, '')
FROM `ledger_rejected` AS d
WHERE d.`entry` IN (:ids)
FOR UPDATE\
""",
        "redrive_remove": """\
DELETE t FROM (
    SELECT `entry` FROM `ledger_rejected`
    WHERE `entry` IN (:ids)
    FOR UPDATE SKIP LOCKED
) AS c
STRAIGHT_JOIN `ledger_rejected` AS t FORCE INDEX (PRIMARY) ON t.`entry` = c.`entry`\
""",
        "purge_oldest": """\
SELECT t.`entry`, t.`booked_at` FROM `ledger` AS t FORCE INDEX (`ledger_claim`)
WHERE t.`booked_at` < :before
ORDER BY t.`booked_at`
LIMIT :limit
FOR UPDATE SKIP LOCKED\
""",
        "purge_next": """\
SELECT t.`entry`, t.`booked_at` FROM `ledger` AS t FORCE INDEX (`ledger_claim`)
WHERE t.`booked_at` < :before AND t.`booked_at` >= :since
ORDER BY t.`booked_at`
LIMIT :limit
FOR UPDATE SKIP LOCKED\
""",
        "purge": """\
DELETE t FROM (
    SELECT `entry` FROM `ledger`
    WHERE `entry` IN (:ids)
    FOR UPDATE SKIP LOCKED
) AS c
STRAIGHT_JOIN `ledger` AS t FORCE INDEX (PRIMARY) ON t.`entry` = c.`entry`\
""",
        "purge_left": """\
SELECT t.`entry` FROM `ledger` AS t
WHERE t.`entry` IN (:ids)\
""",
        "stats_due": """\
SELECT COUNT(CASE WHEN `book_after` <= :now
    AND (`locked_until` IS NULL OR `locked_until` <= :now) THEN 1 END) AS due_rows,
    COUNT(CASE WHEN `book_after` > :now THEN 1 END) AS delayed_rows,
    COUNT(CASE WHEN `locked_until` > :now THEN 1 END) AS rows_in_work,
    MIN(CASE WHEN `book_after` <= :now
        AND (`locked_until` IS NULL OR `locked_until` <= :now) THEN `book_after` END) AS oldest,
    COUNT(*) AS looked_at
FROM (
    SELECT `entry`, `book_after`, `locked_until` FROM `ledger` FORCE INDEX (`ledger_claim`)
    WHERE `account` = :group AND `booked_at` IS NULL
    ORDER BY `entry` LIMIT :most
) AS looked\
""",
        "stats_due_table": """\
SELECT COUNT(CASE WHEN `book_after` <= :now
    AND (`locked_until` IS NULL OR `locked_until` <= :now) THEN 1 END) AS due_rows,
    COUNT(CASE WHEN `book_after` > :now THEN 1 END) AS delayed_rows,
    COUNT(CASE WHEN `locked_until` > :now THEN 1 END) AS rows_in_work,
    MIN(CASE WHEN `book_after` <= :now
        AND (`locked_until` IS NULL OR `locked_until` <= :now) THEN `book_after` END) AS oldest,
    COUNT(*) AS looked_at
FROM (
    SELECT `entry`, `book_after`, `locked_until` FROM `ledger` FORCE INDEX (`ledger_claim`)
    WHERE `booked_at` IS NULL
    ORDER BY `account`, `entry` LIMIT :most
) AS looked\
""",
        "stats_dead": """\
SELECT COUNT(*) FROM (SELECT `entry` FROM `ledger_rejected` LIMIT :most) AS looked\
""",
    },
    "sqlite": {
        "walk_first": """\
WITH RECURSIVE step(candidate_group) AS (
    SELECT (SELECT t."account" FROM "ledger" AS t
            WHERE t."booked_at" IS NULL
            ORDER BY t."account" LIMIT 1)
    UNION ALL
    SELECT (SELECT t."account" FROM "ledger" AS t
            WHERE t."booked_at" IS NULL AND t."account" > step.candidate_group
            ORDER BY t."account" LIMIT 1)
    FROM step WHERE step.candidate_group IS NOT NULL
), seen AS (
    SELECT candidate_group FROM step WHERE candidate_group IS NOT NULL LIMIT :window
)
SELECT seen.candidate_group,
    COALESCE((SELECT y."book_after" <= :now
        AND y."entry" NOT IN (SELECT value FROM json_each(:set_aside)) FROM "ledger" AS y
        WHERE y."booked_at" IS NULL AND y."account" = seen.candidate_group
        ORDER BY y."account", y."entry" LIMIT 1), 0)
    AND NOT EXISTS (
        SELECT 1 FROM "ledger" AS b
        WHERE b."booked_at" IS NULL AND b."account" = seen.candidate_group
            AND b."locked_until" > :now
    ) AS ready,
    COALESCE(seen.candidate_group > :until, 0) AS beyond
FROM seen AS seen
ORDER BY seen.candidate_group\
""",
        "walk": """\
WITH RECURSIVE step(candidate_group) AS (
    SELECT (SELECT t."account" FROM "ledger" AS t
            WHERE t."booked_at" IS NULL AND t."account" > :after
            ORDER BY t."account" LIMIT 1)
    UNION ALL
    SELECT (SELECT t."account" FROM "ledger" AS t
            WHERE t."booked_at" IS NULL AND t."account" > step.candidate_group
            ORDER BY t."account" LIMIT 1)
    FROM step WHERE step.candidate_group IS NOT NULL
), seen AS (
    SELECT candidate_group FROM step WHERE candidate_group IS NOT NULL LIMIT :window
)
SELECT seen.candidate_group,
    COALESCE((SELECT y."book_after" <= :now
        AND y."entry" NOT IN (SELECT value FROM json_each(:set_aside)) FROM "ledger" AS y
        WHERE y."booked_at" IS NULL AND y."account" = seen.candidate_group
        ORDER BY y."account", y."entry" LIMIT 1), 0)
    AND NOT EXISTS (
        SELECT 1 FROM "ledger" AS b
        WHERE b."booked_at" IS NULL AND b."account" = seen.candidate_group
            AND b."locked_until" > :now
    ) AS ready,
    COALESCE(seen.candidate_group > :until, 0) AS beyond
FROM seen AS seen
ORDER BY seen.candidate_group\
""",
        "claim": """\
UPDATE "ledger"
SET "locked_until" = :locked_until, "attempt" = MIN("attempt", 9223372036854775806) + 1
WHERE "entry" = (
        SELECT y."entry" FROM "ledger" AS y
        WHERE y."booked_at" IS NULL AND y."account" = :group
        ORDER BY y."entry" LIMIT 1
    )
    AND "booked_at" IS NULL AND "book_after" <= :now
        AND "entry" NOT IN (SELECT value FROM json_each(:set_aside))
        AND ("locked_until" IS NULL OR "locked_until" <= :now)
    AND NOT EXISTS (
        SELECT 1 FROM "ledger" AS b
        WHERE b."booked_at" IS NULL AND b."account" = :group AND b."locked_until" > :now
    )
RETURNING +"entry", +"account", "book_after", +"cents", "text", "attempt" - 1 AS "attempt"\
""",
        "candidates": """\
SELECT +t."entry", +t."account", t."book_after", +t."cents", t."text", t."attempt"
FROM "ledger" AS t
WHERE t."entry" = (
        SELECT y."entry" FROM "ledger" AS y
        WHERE y."booked_at" IS NULL AND y."account" = :group
        ORDER BY y."entry" LIMIT 1
    )
    AND t."booked_at" IS NULL AND t."book_after" <= :now
        AND t."entry" NOT IN (SELECT value FROM json_each(:set_aside))
        AND (t."locked_until" IS NULL OR t."locked_until" <= :now)
    AND NOT EXISTS (
        SELECT 1 FROM "ledger" AS b
        WHERE b."booked_at" IS NULL AND b."account" = :group AND b."locked_until" > :now
    )\
""",
        "claim_table": """\
UPDATE "ledger"
SET "locked_until" = :locked_until, "attempt" = MIN("attempt", 9223372036854775806) + 1
WHERE "entry" IN (
    SELECT (SELECT y."entry" FROM "ledger" AS y
        WHERE y."booked_at" IS NULL AND y."account" = g.candidate_group
        ORDER BY y."account", y."entry" LIMIT 1)
    FROM (SELECT value AS candidate_group FROM json_each(:groups)) AS g
    WHERE NOT EXISTS (
        SELECT 1 FROM "ledger" AS b
        WHERE b."booked_at" IS NULL AND b."account" = g.candidate_group AND b."locked_until" > :now
    )
)
    AND "booked_at" IS NULL AND "book_after" <= :now
        AND "entry" NOT IN (SELECT value FROM json_each(:set_aside))
        AND ("locked_until" IS NULL OR "locked_until" <= :now)
RETURNING +"entry", +"account", "book_after", +"cents", "text", "attempt" - 1 AS "attempt"\
""",
        "candidates_table": """\
SELECT +t."entry", +t."account", t."book_after", +t."cents", t."text", t."attempt"
FROM "ledger" AS t
WHERE t."entry" IN (
    SELECT (SELECT y."entry" FROM "ledger" AS y
        WHERE y."booked_at" IS NULL AND y."account" = g.candidate_group
        ORDER BY y."account", y."entry" LIMIT 1)
    FROM (SELECT value AS candidate_group FROM json_each(:groups)) AS g
    WHERE NOT EXISTS (
        SELECT 1 FROM "ledger" AS b
        WHERE b."booked_at" IS NULL AND b."account" = g.candidate_group AND b."locked_until" > :now
    )
)
    AND t."booked_at" IS NULL AND t."book_after" <= :now
        AND t."entry" NOT IN (SELECT value FROM json_each(:set_aside))
        AND (t."locked_until" IS NULL OR t."locked_until" <= :now)\
""",
        "candidates_take": """\
UPDATE "ledger"
SET "locked_until" = :locked_until, "attempt" = MIN("attempt", 9223372036854775806) + 1
WHERE "entry" IN (SELECT value FROM json_each(:ids))
RETURNING +"entry", +"account", "book_after", +"cents", "text", "attempt" - 1 AS "attempt"\
""",
        "extend": """\
UPDATE "ledger" AS t
SET "locked_until" = :locked_until
WHERE t."entry" IN (    SELECT r."entry" FROM (
    SELECT json_extract(value, '$[0]') AS id, json_extract(value, '$[1]') AS token,
        json_extract(value, '$[2]') AS sent, json_extract(value, '$[3]') AS attempt
    FROM json_each(:held)
) AS h CROSS JOIN "ledger" AS r
    ON r."entry" = h.id AND r."locked_until" IN (h.token, h.sent) AND r."attempt" = h.attempt
        AND r."booked_at" IS NULL
)
RETURNING +"entry"\
""",
        "held": """\
SELECT t."entry", t."locked_until"
FROM (
    SELECT json_extract(value, '$[0]') AS id, json_extract(value, '$[1]') AS token,
        json_extract(value, '$[2]') AS sent, json_extract(value, '$[3]') AS attempt
    FROM json_each(:held)
) AS h
CROSS JOIN "ledger" AS t ON t."entry" = h.id AND t."locked_until" IN (h.token, h.sent)
    AND t."attempt" = h.attempt AND t."booked_at" IS NULL\
""",
        "release": """\
UPDATE "ledger" AS t
SET "locked_until" = NULL
WHERE t."entry" IN (    SELECT r."entry" FROM (
    SELECT json_extract(value, '$[0]') AS id, json_extract(value, '$[1]') AS token,
        json_extract(value, '$[2]') AS sent, json_extract(value, '$[3]') AS attempt
    FROM json_each(:held)
) AS h CROSS JOIN "ledger" AS r
    ON r."entry" = h.id AND r."locked_until" IN (h.token, h.sent) AND r."attempt" = h.attempt
        AND r."booked_at" IS NULL
)
RETURNING +"entry"\
""",
        "give_back": """\
UPDATE "ledger" AS t
SET "locked_until" = NULL, "attempt" = t."attempt" - 1
WHERE t."entry" IN (    SELECT r."entry" FROM (
    SELECT json_extract(value, '$[0]') AS id, json_extract(value, '$[1]') AS token,
        json_extract(value, '$[2]') AS sent, json_extract(value, '$[3]') AS attempt
    FROM json_each(:held)
) AS h CROSS JOIN "ledger" AS r
    ON r."entry" = h.id AND r."locked_until" IN (h.token, h.sent) AND r."attempt" = h.attempt
        AND r."booked_at" IS NULL
)
RETURNING +"entry"\
""",
        "shorten": """\
UPDATE "ledger" AS t
SET "locked_until" = :soon, "attempt" = t."attempt" - 1
WHERE t."entry" IN (    SELECT r."entry" FROM (
    SELECT json_extract(value, '$[0]') AS id, json_extract(value, '$[1]') AS token,
        json_extract(value, '$[2]') AS sent, json_extract(value, '$[3]') AS attempt
    FROM json_each(:held)
) AS h CROSS JOIN "ledger" AS r
    ON r."entry" = h.id AND r."locked_until" IN (h.token, h.sent) AND r."attempt" = h.attempt
        AND r."booked_at" IS NULL
)
RETURNING +"entry"\
""",
        "ack": """\
UPDATE "ledger"
SET "booked_at" = :now, "locked_until" = NULL
WHERE "entry" = :id AND "locked_until" IN (:token, :sent) AND "attempt" = :attempt
    AND "booked_at" IS NULL\
""",
        "retry": """\
UPDATE "ledger"
SET "book_after" = :now, "locked_until" = NULL
WHERE "entry" = :id AND "locked_until" IN (:token, :sent) AND "attempt" = :attempt
    AND "booked_at" IS NULL\
""",
        "retry_after": """\
UPDATE "ledger"
SET "book_after" = :due, "locked_until" = NULL
WHERE "entry" = :id AND "locked_until" IN (:token, :sent) AND "attempt" = :attempt
    AND "booked_at" IS NULL\
""",
        "dead_letter": """\
INSERT INTO "ledger_rejected" ("entry", "account", "book_after", "attempt", "locked_until",
    "booked_at", "cents", "text", "reason", "error", "died_at")
SELECT "entry", "account", "book_after", "attempt" - 1, NULL, "booked_at", "cents", "text", :reason,
    :error, :now
FROM "ledger"
WHERE "entry" = :id AND "locked_until" IN (:token, :sent) AND "attempt" = :attempt
    AND "booked_at" IS NULL
ON CONFLICT ("entry") DO UPDATE
SET "account" = excluded."account", "book_after" = excluded."book_after",
    "attempt" = excluded."attempt", "locked_until" = excluded."locked_until",
    "booked_at" = excluded."booked_at", "cents" = excluded."cents", "text" = excluded."text",
    "reason" = excluded."reason", "error" = excluded."error", "died_at" = excluded."died_at"\
""",
        "dead_letter_remove": """\
DELETE FROM "ledger"
WHERE "entry" = :id AND "locked_until" IN (:token, :sent) AND "attempt" = :attempt
    AND "booked_at" IS NULL\
""",
        "present": """\
SELECT "entry" FROM "ledger"
WHERE "entry" = :id AND "locked_until" IN (:token, :sent) AND "attempt" = :attempt
    AND "booked_at" IS NULL\
""",
        "enqueue": """\
INSERT INTO "ledger" ("account", "cents", "text", "attempt", "book_after")
VALUES (:account, :cents, :text, 1, :book_after)
RETURNING +"entry"\
""",
        "redrive_oldest": """\
SELECT d."entry" FROM "ledger_rejected" AS d
WHERE (SELECT 1 FROM "ledger" AS q WHERE q."entry" = d."entry" LIMIT 1) IS NULL
ORDER BY d."died_at", d."entry"
LIMIT :limit\
""",
        "redrive": """\
INSERT INTO "ledger" ("entry", "account", "book_after", "attempt", "locked_until", "booked_at",
    "cents", "text")
SELECT d."entry", d."account", :now, 1, NULL, NULL, d."cents", COALESCE(d."text", '')
FROM "ledger_rejected" AS d
WHERE d."entry" IN (SELECT value FROM json_each(:ids))
ON CONFLICT DO NOTHING
RETURNING +"entry"\
""",
        "redrive_remove": """\
DELETE FROM "ledger_rejected"
WHERE "entry" IN (SELECT value FROM json_each(:ids))\
""",
        "dead_among": """\
SELECT d."entry" FROM "ledger_rejected" AS d
WHERE d."entry" IN (SELECT value FROM json_each(:ids))\
""",
        "purge_oldest": """\
SELECT t."entry", t."booked_at" FROM "ledger" AS t
WHERE t."booked_at" < :before
ORDER BY t."booked_at"
LIMIT :limit\
""",
        "purge_next": """\
SELECT t."entry", t."booked_at" FROM "ledger" AS t
WHERE t."booked_at" < :before AND t."booked_at" >= :since
ORDER BY t."booked_at"
LIMIT :limit\
""",
        "purge": """\
DELETE FROM "ledger"
WHERE "entry" IN (SELECT value FROM json_each(:ids))\
""",
        "purge_left": """\
SELECT t."entry" FROM "ledger" AS t
WHERE t."entry" IN (SELECT value FROM json_each(:ids))\
""",
        "stats_due": """\
SELECT COUNT(CASE WHEN "book_after" <= :now
    AND ("locked_until" IS NULL OR "locked_until" <= :now) THEN 1 END) AS due_rows,
    COUNT(CASE WHEN "book_after" > :now THEN 1 END) AS delayed_rows,
    COUNT(CASE WHEN "locked_until" > :now THEN 1 END) AS rows_in_work,
    MIN(CASE WHEN "book_after" <= :now
        AND ("locked_until" IS NULL OR "locked_until" <= :now) THEN "book_after" END) AS oldest,
    COUNT(*) AS looked_at
FROM (
    SELECT "entry", "book_after", "locked_until" FROM "ledger"
    WHERE "account" = :group AND "booked_at" IS NULL
    ORDER BY "entry" LIMIT :most
) AS looked\
""",
        "stats_due_table": """\
SELECT COUNT(CASE WHEN "book_after" <= :now
    AND ("locked_until" IS NULL OR "locked_until" <= :now) THEN 1 END) AS due_rows,
    COUNT(CASE WHEN "book_after" > :now THEN 1 END) AS delayed_rows,
    COUNT(CASE WHEN "locked_until" > :now THEN 1 END) AS rows_in_work,
    MIN(CASE WHEN "book_after" <= :now
        AND ("locked_until" IS NULL OR "locked_until" <= :now) THEN "book_after" END) AS oldest,
    COUNT(*) AS looked_at
FROM (
    SELECT "entry", "book_after", "locked_until" FROM "ledger"
    WHERE "booked_at" IS NULL
    ORDER BY "account", "entry" LIMIT :most
) AS looked\
""",
        "stats_dead": """\
SELECT COUNT(*) FROM (SELECT "entry" FROM "ledger_rejected" LIMIT :most) AS looked\
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
            "entry",
            "bigint",
        ),
        _runtime.Column(
            "account",
            "bigint",
        ),
        _runtime.Column(
            "book_after",
            "timestamp(6)",
        ),
        _runtime.Column(
            "cents",
            "bigint",
        ),
        _runtime.Column(
            "text",
            "varchar",
        ),
    ),
    id_field="entry",
    order=(
        "book_after",
        "entry",
    ),
    enqueued=(
        _runtime.Column(
            "account",
            "bigint",
        ),
        _runtime.Column(
            "cents",
            "bigint",
        ),
        _runtime.Column(
            "text",
            "varchar",
        ),
    ),
    statements=_SQL,
    lease=LEASE,
    counts_attempts=True,
    max_attempts=20,
    retry=_runtime.RetryPolicy(
        "exponential",
        1,
        60,
        0.0,
    ),
    retry_after=_runtime.Column(
        "book_after",
        "timestamp(6)",
    ),
    group=_runtime.Column(
        "account",
        "bigint",
    ),
    work=_runtime.Relation(
        "ledger",
        {
            "entry": "bigint",
            "account": "bigint",
            "book_after": "timestamp(6)",
            "attempt": "int",
            "locked_until": "timestamp(6)",
            "booked_at": "timestamp(6)",
            "cents": "bigint",
            "text": "varchar",
        },
        id="entry",
        times=(
            "book_after",
            "locked_until",
            "booked_at",
        ),
    ),
    dead=_runtime.Relation(
        "ledger_rejected",
        {
            "entry": "bigint",
            "account": "bigint",
            "book_after": "timestamp(6)",
            "attempt": "int",
            "locked_until": "timestamp(6)",
            "booked_at": "timestamp(6)",
            "cents": "bigint",
            "text": "varchar",
            "reason": "text",
            "error": "text",
            "died_at": "timestamp(6)",
        },
        id="entry",
    ),
    fifo="strict",
)
