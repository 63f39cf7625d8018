-- From tables.toml: edit that and run `sqlclaimgen build`.
-- format 1 · form row lock · postgres

-- name: claim
-- Locks up to :limit due rows, in claim order, and passes over rows that others hold.
-- It steps from priority to priority, so that rows delayed at a better one are not walked by every claim.
--   :now  timestamptz, the host's clock
--   :set_aside  list of ids, the rows that are left out: none, or those that the database refused lately
--   :limit  integer, at most so many rows
-- Transaction: the claim's, open until the rows have their outcome; the first statement. Its number is the last column.
-- Locks: the rows it returns, until the commit. NO KEY: a child row's foreign-key check never waits.
-- Index: mail_outbox_claim
-- Runs: once per poll.
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
ORDER BY c."urgency", c."send_after", c."id";

-- name: holding
-- Whether the open transaction is still the one that claimed.
--   :transaction  integer, the last column of the claim's answer
-- Transaction: the claim's.
-- Locks: none.
-- Index: none.
-- Runs: when a claim's block is left, and after a settlement that found no row.
SELECT txid_current_if_assigned() = :transaction;

-- name: ack
-- Finishes the row: it stays, marked. No row: the claim is lost.
--   :now  timestamptz, the host's clock
--   :id  bigint
--   :transaction  integer, the last column of the claim's answer
-- Transaction: the claim's: leaving the claim's block, or the worker, commits it.
-- Locks: one row, until the commit.
-- Index: the primary key.
-- Runs: once per delivery.
UPDATE "mail_outbox"
SET "sent_at" = :now, "once" = NULL
WHERE "id" = :id AND txid_current_if_assigned() = :transaction AND "sent_at" IS NULL;

-- name: retry
-- Makes the row due now, behind the rows of its priority that are due, or claimed at once if none are. No row: the claim is lost.
--   :now  timestamptz, the host's clock
--   :error  text or NULL, what went wrong
--   :id  bigint
--   :transaction  integer, the last column of the claim's answer
-- Transaction: the claim's: leaving the claim's block, or the worker, commits it.
-- Locks: one row, until the commit.
-- Index: the primary key.
-- Runs: once per delivery that is retried.
UPDATE "mail_outbox"
SET "send_after" = :now, "attempt" = LEAST("attempt", 2147483646) + 1, "last_error" = :error
WHERE "id" = :id AND txid_current_if_assigned() = :transaction AND "sent_at" IS NULL;

-- name: retry_after
-- Makes the row due at :due. No row: the claim is lost.
--   :due  timestamptz, when the row is due again
--   :error  text or NULL, what went wrong
--   :id  bigint
--   :transaction  integer, the last column of the claim's answer
-- Transaction: the claim's: leaving the claim's block, or the worker, commits it.
-- Locks: one row, until the commit.
-- Index: the primary key.
-- Runs: once per delivery that is retried.
UPDATE "mail_outbox"
SET "send_after" = :due, "attempt" = LEAST("attempt", 2147483646) + 1, "last_error" = :error
WHERE "id" = :id AND txid_current_if_assigned() = :transaction AND "sent_at" IS NULL;

-- name: present
-- Whether the row is still this delivery's, and unchanged: then a trigger cancelled the write, and its holder is told so.
--   :id  bigint
--   :transaction  integer, the last column of the claim's answer
-- Transaction: the settlement's, after it.
-- Locks: none.
-- Index: the primary key.
-- Runs: after a settlement that counted no row.
SELECT "id" FROM "mail_outbox"
WHERE "id" = :id AND txid_current_if_assigned() = :transaction AND "sent_at" IS NULL;

-- name: enqueue
-- Adds one row. A row whose once is queued already is refused.
--   :urgency  smallint
--   :once  varchar(80) or NULL
--   :recipient  varchar(320)
--   :message  jsonb
--   :send_after  timestamptz(6)
-- Transaction: the producer's; it never commits.
-- Locks: the new row, which nobody else sees before the commit.
-- Index: mail_outbox_dedupe.
-- Runs: once per row.
INSERT INTO "mail_outbox" ("urgency", "once", "recipient", "message", "attempt", "send_after")
VALUES (:urgency, :once, :recipient, CAST(:message AS jsonb), 1, :send_after)
ON CONFLICT ("once") DO NOTHING
RETURNING "id";

-- name: purge_oldest
-- Lists and locks up to :limit rows that were finished before :before, the oldest first.
--   :before  timestamptz, rows that were finished earlier
--   :limit  integer, at most so many rows
-- Transaction: its own; committed before the next page. Before purge.
-- Locks: the rows it returns, until the commit. A row that is locked is passed over.
-- Index: mail_outbox_purge
-- Runs: first, when an operator or a timer purges.
SELECT t."id", t."sent_at" FROM "mail_outbox" AS t
WHERE t."sent_at" < :before
ORDER BY t."sent_at"
LIMIT :limit
FOR UPDATE SKIP LOCKED;

-- name: purge_next
-- Lists the next ones, from :since on. So a row that cannot be deleted does not hold up those after it.
--   :before  timestamptz, rows that were finished earlier
--   :since  timestamptz, when the last row of the page before was finished
--   :limit  integer, at most so many rows
-- Transaction: its own; committed before the next page. Before purge.
-- Locks: the rows it returns, until the commit. A row that is locked is passed over.
-- Index: mail_outbox_purge
-- Runs: for each further page.
SELECT t."id", t."sent_at" FROM "mail_outbox" AS t
WHERE t."sent_at" < :before AND t."sent_at" >= :since
ORDER BY t."sent_at"
LIMIT :limit
FOR UPDATE SKIP LOCKED;

-- name: purge
-- Deletes rows that were listed.
--   :ids  list of ids
-- Transaction: the same, after the list.
-- Locks: rows that are locked already; and what foreign keys and triggers need.
-- Index: the primary key.
-- Runs: once per page; where the database refuses it, again for each half, down to the rows that it refuses.
DELETE FROM "mail_outbox"
WHERE "id" = ANY(CAST(:ids AS bigint[]));

-- name: purge_left
-- Which of the rows are there still: a trigger can cancel a DELETE without an error.
--   :ids  list of ids
-- Transaction: the same, after purge.
-- Locks: none.
-- Index: the primary key.
-- Runs: when purge deleted fewer rows than it was given.
SELECT t."id" FROM "mail_outbox" AS t
WHERE t."id" = ANY(CAST(:ids AS bigint[]));

-- name: stats_priorities
-- Lists the priorities that unfinished rows have, by steps through the index.
-- Transaction: any, or none.
-- Locks: none.
-- Index: mail_outbox_claim
-- Runs: once per look at the table.
WITH RECURSIVE step(priority) AS (
    SELECT MIN(t."urgency") FROM "mail_outbox" AS t WHERE t."sent_at" IS NULL
    UNION ALL
    SELECT (SELECT MIN(t."urgency") FROM "mail_outbox" AS t
            WHERE t."sent_at" IS NULL AND t."urgency" > step.priority)
    FROM step WHERE step.priority IS NOT NULL
)
SELECT priority FROM step WHERE priority IS NOT NULL;

-- name: stats_due
-- Counts the rows that are due, of one priority, and finds the oldest due time.
-- A row in work counts as due: nothing is written into it that tells.
-- It looks at the first :most rows whose time has come only; the last column says at how many.
--   :priority  smallint
--   :now  timestamptz, the host's clock
--   :most  integer, where counting stops
-- Transaction: any, or none.
-- Locks: none.
-- Index: mail_outbox_claim
-- Runs: once per look at the table and priority.
SELECT COUNT(*) AS due_rows,
    MIN("send_after") AS oldest,
    COUNT(*) AS looked_at
FROM (
    SELECT "id", "send_after" FROM "mail_outbox"
    WHERE "sent_at" IS NULL AND "urgency" = :priority AND "send_after" <= :now
    ORDER BY "send_after", "id" LIMIT :most
) AS looked;

-- name: stats_delayed
-- Counts the rows that are not due yet, of one priority, as far as :most.
--   :priority  smallint
--   :now  timestamptz, the host's clock
--   :most  integer, where counting stops
-- Transaction: any, or none.
-- Locks: none.
-- Index: mail_outbox_claim
-- Runs: once per look at the table and priority.
SELECT COUNT(*) FROM (
    SELECT "id" FROM "mail_outbox"
    WHERE "sent_at" IS NULL AND "urgency" = :priority AND "send_after" > :now
    ORDER BY "send_after", "id" LIMIT :most
) AS looked;

-- name: row_security
-- Whether row level security decides which rows this login sees.
-- Transaction: any, or none.
-- Locks: none.
-- Index: none.
-- Runs: once per look at the table.
SELECT row_security_active('"mail_outbox"');
