# From tables.toml: edit that and run `sqlclaimgen build`.
# format 1 · form row lock · postgres, mysql, mariadb
"""The work table minimal: row lock form, PostgreSQL, MySQL and MariaDB."""

from __future__ import annotations

import dataclasses as _dataclasses
import typing as _t
from collections.abc import Iterable as _Iterable

from sqlclaimgen import runtime as _runtime
from sqlclaimgen.runtime import Ack, Discard, Retry

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
    "Row",
    "claim",
    "claim_async",
    "enqueue",
    "enqueue_async",
    "enqueue_many",
    "enqueue_many_async",
    "insert",
    "stats",
    "stats_async",
]

TABLE = "minimal"

Connection: _t.TypeAlias = _runtime.PostgresConnection | _runtime.MySQLConnection
AsyncConnection: _t.TypeAlias = _runtime.AsyncPostgresConnection
Outcome: _t.TypeAlias = Ack | Retry | Discard


@_dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class New:
    """A row to enqueue."""

    payload: _t.Any


@_dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A row as the claim returned it."""

    id: int
    payload: _t.Any


class Delivery(_runtime.RowLockDelivery[Row, int]):
    """One row in one worker's hands.

    Settling is part of the claim's transaction: leaving its block commits.
    Every settlement raises ClaimLost when the claim's transaction is gone.
    """

    __slots__ = ()

    def ack(self, conn: Connection) -> None:
        """Finish the row."""
        _runtime.settle(conn, self, Ack())

    def retry(self, conn: Connection) -> None:
        """Make the row due now, in its place: it is claimed again at once."""
        _runtime.settle(conn, self, Retry())

    def discard(self, conn: Connection) -> None:
        """Finish the row like ack, counted apart."""
        _runtime.settle(conn, self, Discard())

    async def ack_async(self, conn: AsyncConnection) -> None:
        """Finish the row."""
        await _runtime.settle_async(conn, self, Ack())

    async def retry_async(self, conn: AsyncConnection) -> None:
        """Make the row due now, in its place: it is claimed again at once."""
        await _runtime.settle_async(conn, self, Retry())

    async def discard_async(self, conn: AsyncConnection) -> None:
        """Finish the row like ack, counted apart."""
        await _runtime.settle_async(conn, self, Discard())


def enqueue(
    conn: Connection,
    new: New,
) -> int:
    """Add a row in the transaction of ``conn``, never committing it.

    Returns the row's id.
    """
    return _runtime.enqueue(QUEUE, conn, new)


def enqueue_many(
    conn: Connection,
    rows: _Iterable[New],
) -> list[int]:
    """Add rows in the transaction of ``conn``. Returns their ids, in order."""
    return _runtime.enqueue_many(QUEUE, conn, rows)


async def enqueue_async(
    conn: AsyncConnection,
    new: New,
) -> int:
    """Add a row in the transaction of ``conn``, never committing it.

    Returns the row's id.
    """
    return await _runtime.enqueue_async(QUEUE, conn, new)


async def enqueue_many_async(
    conn: AsyncConnection,
    rows: _Iterable[New],
) -> list[int]:
    """Add rows in the transaction of ``conn``. Returns their ids, in order."""
    return await _runtime.enqueue_many_async(QUEUE, conn, rows)


def insert(
    new: New,
    style: _runtime.Style[_runtime.Parameters],
    *,
    dialect: _t.Literal["postgres", "mysql", "mariadb"],
) -> tuple[str, _runtime.Parameters]:
    """Return the statement of ``enqueue`` and its parameters, for another driver.

    Read all of its answer: the row's id, except on MySQL.
    """
    return _runtime.insert(QUEUE, new, dialect, style)


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


_SQL: dict[str, dict[str, str]] = {
    "postgres": {
        "claim": """\
SELECT c."id", CAST(c."payload" AS text) AS "payload", txid_current_if_assigned()
FROM (
    SELECT "id", "payload" FROM "minimal"
    WHERE "id" <> ALL(CAST(:set_aside AS bigint[]))
    ORDER BY "id"
    LIMIT :limit
    FOR NO KEY UPDATE SKIP LOCKED
) AS c
ORDER BY c."id"\
""",
        "holding": """\
SELECT txid_current_if_assigned() = :transaction\
""",
        "ack": """\
DELETE FROM "minimal"
WHERE "id" = :id AND txid_current_if_assigned() = :transaction\
""",
        "retry": """\
SELECT "id" FROM "minimal"
WHERE "id" = :id AND txid_current_if_assigned() = :transaction\
""",
        "present": """\
SELECT "id" FROM "minimal"
WHERE "id" = :id AND txid_current_if_assigned() = :transaction\
""",
        "enqueue": """\
INSERT INTO "minimal" ("payload")
VALUES (CAST(:payload AS jsonb))
RETURNING "id"\
""",
        "stats_due": """\
SELECT COUNT(*) AS due_rows,
    COUNT(*) AS looked_at
FROM (
    SELECT "id" FROM "minimal"
    ORDER BY "id" LIMIT :most
) AS looked\
""",
        "row_security": """\
SELECT row_security_active('"minimal"')\
""",
    },
    "mysql": {
        "claim": """\
SELECT t.`id`, t.`payload`
FROM (
    SELECT `id` AS candidate_id FROM `minimal` FORCE INDEX (PRIMARY)
    WHERE COALESCE(`id` NOT IN (:set_aside), TRUE)
    ORDER BY `id` LIMIT :window
) AS c
STRAIGHT_JOIN `minimal` AS t FORCE INDEX (PRIMARY) ON t.`id` = c.candidate_id
ORDER BY c.candidate_id
LIMIT :limit
FOR UPDATE OF t SKIP LOCKED\
""",
        "probe": """\
SELECT 1 FROM `minimal` FORCE INDEX (PRIMARY)
WHERE COALESCE(`id` NOT IN (:set_aside), TRUE)
ORDER BY `id`
LIMIT 1 OFFSET :last\
""",
        "ack": """\
DELETE settled FROM `minimal` AS settled FORCE INDEX (PRIMARY)
WHERE `id` = :id\
""",
        "retry": """\
SELECT `id` FROM `minimal`
WHERE `id` = :id\
""",
        "enqueue": """\
INSERT INTO `minimal` (`payload`)
VALUES (:payload)
\
""",
        "stats_due": """\
SELECT COUNT(*) AS due_rows,
    COUNT(*) AS looked_at
FROM (
    SELECT `id` FROM `minimal` FORCE INDEX (PRIMARY)
    ORDER BY `id` LIMIT :most
) AS looked\
""",
    },
    "mariadb": {
        "claim": """\
SELECT t.`id`, t.`payload`
FROM (
    SELECT `id` AS candidate_id FROM `minimal` FORCE INDEX (PRIMARY)
    WHERE COALESCE(`id` NOT IN (:set_aside), TRUE)
    ORDER BY `id` LIMIT :window
) AS c
STRAIGHT_JOIN `minimal` AS t FORCE INDEX (PRIMARY) ON t.`id` = c.candidate_id
ORDER BY c.candidate_id
LIMIT :limit
FOR UPDATE SKIP LOCKED\
""",
        "probe": """\
SELECT 1 FROM `minimal` FORCE INDEX (PRIMARY)
WHERE COALESCE(`id` NOT IN (:set_aside), TRUE)
ORDER BY `id`
LIMIT 1 OFFSET :last\
""",
        "ack": """\
DELETE settled FROM `minimal` AS settled FORCE INDEX (PRIMARY)
WHERE `id` = :id\
""",
        "retry": """\
SELECT `id` FROM `minimal`
WHERE `id` = :id\
""",
        "enqueue": """\
INSERT INTO `minimal` (`payload`)
VALUES (:payload)
RETURNING `id`\
""",
        "stats_due": """\
SELECT COUNT(*) AS due_rows,
    COUNT(*) AS looked_at
FROM (
    SELECT `id` FROM `minimal` FORCE INDEX (PRIMARY)
    ORDER BY `id` LIMIT :most
) AS looked\
""",
    },
}

QUEUE: _runtime.Queue[Delivery, Outcome, New, int] = _runtime.Queue(
    format=1,
    table=TABLE,
    form="row_lock",
    delivery=Delivery,
    outcomes=(Ack, Retry, Discard),
    id_type=int,
    row=Row,
    new=New,
    columns=(
        _runtime.Column(
            "id",
            "bigint",
        ),
        _runtime.Column(
            "payload",
            "json",
        ),
    ),
    id_field="id",
    order=("id",),
    enqueued=(
        _runtime.Column(
            "payload",
            "json",
        ),
    ),
    statements=_SQL,
    work=_runtime.Relation(
        "minimal",
        {
            "id": "bigint",
            "payload": "json",
        },
        id="id",
    ),
)
