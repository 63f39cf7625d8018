-- From tables.toml: edit that and run `sqlclaimgen build`.
-- format 1 · form advisory lock · sqlite

-- name: key_space
-- Names the database file, whose keys this process keeps. Two processes on one file do not see each other's keys,
-- and a row may then be delivered twice: use one process per file, or a lease.
-- Transaction: the claim's; the first statement.
-- Locks: none.
-- Index: none.
-- Runs: once per poll.
SELECT file FROM pragma_database_list
WHERE name = 'main' COLLATE NOCASE;

-- name: claim
-- Reads the first :window due rows, in claim order, and finds the first whose key this process does not hold.
--   :now  microseconds since 1970, UTC, the host's clock
--   :set_aside  list of ids, the rows that are left out: none, or those that the database refused lately
--   :window  integer, at most so many due rows are read
--   :keys  text, a JSON list of the keys that are left out
-- Transaction: the claim's, BEGIN IMMEDIATE; before take.
-- Locks: the one writer's lock, until the commit. The process then holds the key, until the row is settled.
-- Index: payouts_claim
-- Runs: once per poll.
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
LIMIT 1;

-- name: probe
-- Tells the last row of the window of claim, which brought nothing. No row: nothing is due behind it.
--   :now  microseconds since 1970, UTC, the host's clock
--   :set_aside  list of ids, the rows that are left out: none, or those that the database refused lately
--   :last  integer, the size of the window that was looked at
-- Transaction: the claim's, after claim.
-- Locks: the one writer's lock, held already.
-- Index: payouts_claim
-- Runs: after a claim that brought nothing.
SELECT t."due_at", t."id"
FROM "payouts" AS t
WHERE t."paid_at" IS NULL AND t."due_at" <= :now
    AND t."id" NOT IN (SELECT value FROM json_each(:set_aside))
ORDER BY t."due_at", t."id"
LIMIT 1 OFFSET :last;

-- name: claim_further
-- As claim, in the next :window due rows: those behind the row that the last probe told.
--   :now  microseconds since 1970, UTC, the host's clock
--   :set_aside  list of ids, the rows that are left out: none, or those that the database refused lately
--   :seen_value  INTEGER
--   :seen_id  TEXT
--   :window  integer, at most so many due rows are read
--   :keys  text, a JSON list of the keys that are left out
-- Transaction: the claim's, BEGIN IMMEDIATE; before take.
-- Locks: the one writer's lock, until the commit. The process then holds the key, until the row is settled.
-- Index: payouts_claim
-- Runs: where all keys before it are in use, a bounded number of times. The next claim goes on behind them.
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
LIMIT 1;

-- name: probe_further
-- Tells the last row of the window of claim_further, which brought nothing. No row: nothing is due behind it.
--   :now  microseconds since 1970, UTC, the host's clock
--   :set_aside  list of ids, the rows that are left out: none, or those that the database refused lately
--   :seen_value  INTEGER
--   :seen_id  TEXT
--   :window  integer, at most so many due rows are read
--   :last  integer, the size of the window that was looked at
-- Transaction: the claim's, after claim_further.
-- Locks: the one writer's lock, held already.
-- Index: payouts_claim
-- Runs: after a claim_further that brought nothing.
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
LIMIT 1 OFFSET :last;

-- name: take
-- Reads the row again, now that its key is held, and counts the attempt. No row: it was settled meanwhile.
--   :id  TEXT
--   :now  microseconds since 1970, UTC, the host's clock
--   :key_text  text, the key that the claim found
-- Transaction: the claim's, after claim.
-- Locks: the one writer's lock, held already.
-- Index: the primary key.
-- Runs: once per key that is won.
UPDATE "payouts" AS t
SET "attempt" = MIN(t."attempt", 9223372036854775806) + 1
WHERE t."id" = :id AND t."paid_at" IS NULL AND t."due_at" <= :now
    AND ('accounts-' || CAST(t."account" AS TEXT)) = :key_text
RETURNING "id", "account", "due_at", "last_error", "amount", "currency", "attempt" - 1 AS "attempt";

-- name: give_back
-- Gives the attempt of a row back whose handler never started. No row: the claim is lost.
--   :id  TEXT
--   :attempt  integer, as the row holds it: one more than the delivery's
-- Transaction: its own, on the claim's connection, before its key is free.
-- Locks: the one writer's lock, until the commit.
-- Index: the primary key.
-- Runs: when a claim's block is left, or a worker stops, before the handler.
UPDATE "payouts"
SET "attempt" = "attempt" - 1
WHERE "id" = :id AND "attempt" = :attempt AND "paid_at" IS NULL;

-- name: ack
-- Finishes the row: it stays, marked. No row: the claim is lost.
--   :now  microseconds since 1970, UTC, the host's clock
--   :id  TEXT
--   :attempt  integer, as the row holds it: one more than the delivery's
-- Transaction: the caller's when one is open, else its own; on the claim's connection, before its key is free.
-- Locks: the one writer's lock, until the commit.
-- Index: the primary key.
-- Runs: once per delivery.
UPDATE "payouts"
SET "paid_at" = :now
WHERE "id" = :id AND "attempt" = :attempt AND "paid_at" IS NULL;

-- name: retry
-- Makes the row due now, behind the rows that are due, or claimed at once if none are. No row: the claim is lost.
--   :now  microseconds since 1970, UTC, the host's clock
--   :error  text or NULL, what went wrong
--   :id  TEXT
--   :attempt  integer, as the row holds it: one more than the delivery's
-- Transaction: the caller's when one is open, else its own; on the claim's connection, before its key is free.
-- Locks: the one writer's lock, until the commit.
-- Index: the primary key.
-- Runs: once per delivery that is retried.
UPDATE "payouts"
SET "due_at" = :now, "last_error" = :error
WHERE "id" = :id AND "attempt" = :attempt AND "paid_at" IS NULL;

-- name: retry_after
-- Makes the row due at :due. No row: the claim is lost.
--   :due  microseconds since 1970, UTC, when the row is due again
--   :error  text or NULL, what went wrong
--   :id  TEXT
--   :attempt  integer, as the row holds it: one more than the delivery's
-- Transaction: the caller's when one is open, else its own; on the claim's connection, before its key is free.
-- Locks: the one writer's lock, until the commit.
-- Index: the primary key.
-- Runs: once per delivery that is retried.
UPDATE "payouts"
SET "due_at" = :due, "last_error" = :error
WHERE "id" = :id AND "attempt" = :attempt AND "paid_at" IS NULL;

-- name: dead_letter
-- Copies the row into the dead-letter table. An older one of the same id is replaced. No row: the claim is lost.
--   :reason  text, why the row is given up
--   :error  text or NULL, what went wrong
--   :now  microseconds since 1970, UTC, the host's clock
--   :id  TEXT
--   :attempt  integer, as the row holds it: one more than the delivery's
-- Transaction: the caller's when one is open, else its own; on the claim's connection, before its key is free. First of two statements; dead_letter_remove is the second.
-- Locks: the one writer's lock, until the commit.
-- Index: the primary key.
-- Runs: once per dead letter.
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
    "error" = excluded."error", "failed_at" = excluded."failed_at";

-- name: dead_letter_remove
-- Removes the row that dead_letter copied.
--   :id  TEXT
--   :attempt  integer, as the row holds it: one more than the delivery's
-- Transaction: the same. Second of two statements.
-- Locks: the one writer's lock, held already.
-- Index: the primary key.
-- Runs: once per dead letter.
DELETE FROM "payouts"
WHERE "id" = :id AND "attempt" = :attempt AND "paid_at" IS NULL;

-- name: present
-- Whether the row is still this delivery's, and unchanged: then a trigger cancelled the write, and its holder is told so.
--   :id  TEXT
--   :attempt  integer, as the row holds it: one more than the delivery's
-- Transaction: the settlement's, after it.
-- Locks: none.
-- Index: the primary key.
-- Runs: after a settlement that counted no row.
SELECT "id" FROM "payouts"
WHERE "id" = :id AND "attempt" = :attempt AND "paid_at" IS NULL;

-- name: enqueue
-- Adds one row.
--   :id  TEXT
--   :account  TEXT
--   :amount  TEXT
--   :currency  TEXT
--   :due_at  INTEGER
-- Transaction: the producer's; it never commits.
-- Locks: the one writer's lock, until the commit.
-- Index: none.
-- Runs: once per row.
INSERT INTO "payouts" ("id", "account", "amount", "currency", "attempt", "due_at")
VALUES (:id, :account, :amount, :currency, 1, :due_at)
RETURNING "id";

-- name: redrive_oldest
-- Lists up to :limit dead letters that can be brought back, the oldest first, for redrive.
-- A subselect per row, not NOT EXISTS: that may become a join that reads both tables through.
--   :limit  integer, at most so many rows
-- Transaction: that of redrive, before it.
-- Locks: none.
-- Index: payouts_failed_oldest
-- Runs: when an operator brings dead letters back.
SELECT d."id" FROM "payouts_failed" AS d
WHERE (SELECT 1 FROM "payouts" AS q WHERE q."id" = d."id" LIMIT 1) IS NULL
ORDER BY d."failed_at", d."id"
LIMIT :limit;

-- name: redrive
-- Brings dead letters back: due now, from their first attempt, under their old id.
-- One whose id is in the work table is passed over, and stays a dead letter.
--   :now  microseconds since 1970, UTC, the host's clock
--   :ids  list of ids
-- Transaction: the caller's when one is open, else its own. Before redrive_remove.
-- Locks: the one writer's lock, until the commit.
-- Index: the primary keys of both tables.
-- Runs: when an operator brings dead letters back; where it is refused, again for each half.
INSERT INTO "payouts" ("id", "account", "due_at", "attempt", "paid_at", "last_error", "amount",
    "currency")
SELECT d."id", d."account", :now, 1, NULL, d."last_error", d."amount", COALESCE(d."currency", 'EUR')
FROM "payouts_failed" AS d
WHERE d."id" IN (SELECT value FROM json_each(:ids))
ON CONFLICT DO NOTHING
RETURNING "id";

-- name: redrive_remove
-- Removes the dead letters that redrive brought back.
--   :ids  list of ids
-- Transaction: the same, after redrive.
-- Locks: the one writer's lock, until the commit.
-- Index: the primary key of the dead-letter table.
-- Runs: when an operator brings dead letters back.
DELETE FROM "payouts_failed"
WHERE "id" IN (SELECT value FROM json_each(:ids));

-- name: dead_among
-- Which of these rows are dead letters still: after a redrive that brought back fewer than it was given.
--   :ids  list of ids
-- Transaction: that of redrive, after it.
-- Locks: none.
-- Index: the primary key of the dead-letter table.
-- Runs: when redrive left rows behind.
SELECT d."id" FROM "payouts_failed" AS d
WHERE d."id" IN (SELECT value FROM json_each(:ids));

-- name: purge_oldest
-- Lists up to :limit rows that were finished before :before, the oldest first.
--   :before  microseconds since 1970, UTC, rows that were finished earlier
--   :limit  integer, at most so many rows
-- Transaction: its own, BEGIN IMMEDIATE; committed before the next page. Before purge.
-- Locks: the one writer's lock, until the commit.
-- Index: payouts_purge
-- Runs: first, when an operator or a timer purges.
SELECT t."id", t."paid_at" FROM "payouts" AS t
WHERE t."paid_at" < :before
ORDER BY t."paid_at"
LIMIT :limit;

-- name: purge_next
-- Lists the next ones, from :since on. So a row that cannot be deleted does not hold up those after it.
--   :before  microseconds since 1970, UTC, rows that were finished earlier
--   :since  microseconds since 1970, UTC, when the last row of the page before was finished
--   :limit  integer, at most so many rows
-- Transaction: its own, BEGIN IMMEDIATE; committed before the next page. Before purge.
-- Locks: the one writer's lock, until the commit.
-- Index: payouts_purge
-- Runs: for each further page.
SELECT t."id", t."paid_at" FROM "payouts" AS t
WHERE t."paid_at" < :before AND t."paid_at" >= :since
ORDER BY t."paid_at"
LIMIT :limit;

-- name: purge
-- Deletes rows that were listed.
--   :ids  list of ids
-- Transaction: the same, after the list.
-- Locks: the one writer's lock; and what foreign keys and triggers need.
-- Index: the primary key.
-- Runs: once per page; where the database refuses it, again for each half, down to the rows that it refuses.
DELETE FROM "payouts"
WHERE "id" IN (SELECT value FROM json_each(:ids));

-- name: purge_left
-- Which of the rows are there still: a trigger can cancel a DELETE without an error.
--   :ids  list of ids
-- Transaction: the same, after purge.
-- Locks: none.
-- Index: the primary key.
-- Runs: when purge deleted fewer rows than it was given.
SELECT t."id" FROM "payouts" AS t
WHERE t."id" IN (SELECT value FROM json_each(:ids));

-- name: stats_due
-- Counts the rows that are due, and finds the oldest due time.
-- A row in work counts as due: nothing is written into it that tells.
-- It looks at the first :most rows whose time has come only; the last column says at how many.
--   :now  microseconds since 1970, UTC, the host's clock
--   :most  integer, where counting stops
-- Transaction: any, or none.
-- Locks: none.
-- Index: payouts_claim
-- Runs: once per look at the table.
SELECT COUNT(*) AS due_rows,
    MIN("due_at") AS oldest,
    COUNT(*) AS looked_at
FROM (
    SELECT "id", "due_at" FROM "payouts"
    WHERE "paid_at" IS NULL AND "due_at" <= :now
    ORDER BY "due_at", "id" LIMIT :most
) AS looked;

-- name: stats_delayed
-- Counts the rows that are not due yet, as far as :most.
--   :now  microseconds since 1970, UTC, the host's clock
--   :most  integer, where counting stops
-- Transaction: any, or none.
-- Locks: none.
-- Index: payouts_claim
-- Runs: once per look at the table.
SELECT COUNT(*) FROM (
    SELECT "id" FROM "payouts"
    WHERE "paid_at" IS NULL AND "due_at" > :now
    ORDER BY "due_at", "id" LIMIT :most
) AS looked;

-- name: stats_dead
-- Counts the dead letters, as far as :most.
--   :most  integer, where counting stops
-- Transaction: any, or none.
-- Locks: none.
-- Index: any of the dead-letter table, or none: it stops at :most rows
-- Runs: once per look at the table.
SELECT COUNT(*) FROM (SELECT "id" FROM "payouts_failed" LIMIT :most) AS looked;
