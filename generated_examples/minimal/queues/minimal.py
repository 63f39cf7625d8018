# From tables.toml: edit that and run `sqlclaimgen build`.
# format 1 · form row lock · postgres, mysql, mariadb
"""The work table minimal: row lock form, PostgreSQL, MySQL and MariaDB."""

from __future__ import annotations

import dataclasses as _dataclasses
import datetime as _datetime
import typing as _t
from collections.abc import Iterable as _Iterable

from sqlclaimgen import runtime as _runtime
from sqlclaimgen.runtime import Ack, Discard, Retry

__all__ = [
    "QUEUE",
    "TABLE",
    "Ack",
    "Connection",
    "Delivery",
    "Discard",
    "New",
    "Outcome",
    "Retry",
    "Row",
    "claim",
    "enqueue",
    "enqueue_many",
    "stats",
]

TABLE = "minimal"

Connection: _t.TypeAlias = _runtime.PostgresConnection | _runtime.MySQLConnection
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
        """Make the row due now, behind what waits."""
        _runtime.settle(conn, self, Retry())

    def discard(self, conn: Connection) -> None:
        """Finish the row as ack does. Only a worker's events tell the two apart."""
        _runtime.settle(conn, self, Discard())


def enqueue(
    conn: Connection,
    new: New,
) -> int:
    """Add a row in the transaction of ``conn``, never committing it.

    Returns the row's id.
    """
    return _runtime.enqueue(QUEUE, conn, new, _datetime.timedelta(0))


def enqueue_many(
    conn: Connection,
    rows: _Iterable[New],
) -> list[int]:
    """Add rows in the transaction of ``conn``. Returns their ids, in order."""
    return _runtime.enqueue_many(QUEUE, conn, rows, _datetime.timedelta(0))


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


def stats(
    conn: Connection,
) -> _runtime.Stats:
    """Count the rows that are due, delayed, in work and dead, up to 10,000."""
    return _runtime.stats(QUEUE, conn, _runtime.ONLY)


_SQL: dict[str, dict[str, str]] = {
    "postgres": {
        "claim": """\
SELECT c."id", CAST(c."payload" AS text) AS "payload", txid_current_if_assigned()
FROM (
    SELECT "id", "payload" FROM "minimal"
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
    SELECT `id` AS candidate_id FROM `minimal`
    ORDER BY `id` LIMIT :window
) AS c
STRAIGHT_JOIN `minimal` AS t FORCE INDEX (PRIMARY) ON t.`id` = c.candidate_id
ORDER BY c.candidate_id
LIMIT :limit
FOR UPDATE OF t SKIP LOCKED\
""",
        "probe": """\
SELECT 1 FROM `minimal`
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
    SELECT `id` FROM `minimal`
    ORDER BY `id` LIMIT :most
) AS looked\
""",
    },
    "mariadb": {
        "claim": """\
SELECT t.`id`, t.`payload`
FROM (
    SELECT `id` AS candidate_id FROM `minimal`
    ORDER BY `id` LIMIT :window
) AS c
STRAIGHT_JOIN `minimal` AS t FORCE INDEX (PRIMARY) ON t.`id` = c.candidate_id
ORDER BY c.candidate_id
LIMIT :limit
FOR UPDATE SKIP LOCKED\
""",
        "probe": """\
SELECT 1 FROM `minimal`
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
    SELECT `id` FROM `minimal`
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
