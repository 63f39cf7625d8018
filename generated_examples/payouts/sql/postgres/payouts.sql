-- From tables.toml: edit that and run `sqlclaimgen build`.
-- format 1 · form advisory lock · postgres

-- name: claim
-- Reads the first :window due rows, in claim order, finds the first whose key nobody holds, and locks the key.
-- The inner LIMIT is a fence: no key is tried in other rows, keys are tried one after another, and the first that
-- is won ends the statement with one lock held.
--   :now  timestamptz, the host's clock
--   :set_aside  list of ids, the rows that are left out: none, or those that the database refused lately
--   :window  integer, at most so many due rows are read
--   :locks  list of integers, the locks that are left out
-- Transaction: the claim's, at READ COMMITTED; before take.
-- Locks: one key, of the session: until unlock, whatever becomes of the transaction.
-- Index: payouts_claim
-- Runs: once per poll, and again for each row that was settled meanwhile.
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
LIMIT 1;

-- name: probe
-- Tells the last row of the window of claim, which brought nothing. No row: nothing is due behind it.
--   :now  timestamptz, the host's clock
--   :set_aside  list of ids, the rows that are left out: none, or those that the database refused lately
--   :last  integer, the size of the window that was looked at
-- Transaction: the claim's, after claim.
-- Locks: none.
-- Index: payouts_claim
-- Runs: after a claim that brought nothing.
SELECT t."due_at", t."id"
FROM "payouts" AS t
WHERE t."paid_at" IS NULL AND t."due_at" <= :now AND t."id" <> ALL(CAST(:set_aside AS uuid[]))
ORDER BY t."due_at", t."id"
LIMIT 1 OFFSET :last;

-- name: by_index
-- Has the claim's index read from a row on: where few rows are expected the planner reads all of them, and sorts.
-- Transaction: the claim's, before claim_further. The settings end with it.
-- Locks: none.
-- Index: none.
-- Runs: where all keys of the first window are in use.
SELECT set_config('enable_sort', 'off', TRUE), set_config('enable_bitmapscan', 'off', TRUE),
    set_config('enable_seqscan', 'off', TRUE);

-- name: claim_further
-- As claim, in the next :window due rows: those behind the row that the last probe told.
-- The inner LIMIT is a fence: no key is tried in other rows, keys are tried one after another, and the first that
-- is won ends the statement with one lock held.
--   :now  timestamptz, the host's clock
--   :set_aside  list of ids, the rows that are left out: none, or those that the database refused lately
--   :seen_value  timestamptz(6)
--   :seen_id  uuid
--   :window  integer, at most so many due rows are read
--   :locks  list of integers, the locks that are left out
-- Transaction: the claim's, at READ COMMITTED; before take.
-- Locks: one key, of the session: until unlock, whatever becomes of the transaction.
-- Index: payouts_claim
-- Runs: where all keys before it are in use, a bounded number of times. The next claim goes on behind them.
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
LIMIT 1;

-- name: probe_further
-- Tells the last row of the window of claim_further, which brought nothing. No row: nothing is due behind it.
--   :now  timestamptz, the host's clock
--   :set_aside  list of ids, the rows that are left out: none, or those that the database refused lately
--   :seen_value  timestamptz(6)
--   :seen_id  uuid
--   :last  integer, the size of the window that was looked at
-- Transaction: the claim's, after claim_further.
-- Locks: none.
-- Index: payouts_claim
-- Runs: after a claim_further that brought nothing.
SELECT t."due_at", t."id"
FROM "payouts" AS t
WHERE t."paid_at" IS NULL AND t."due_at" <= :now AND t."id" <> ALL(CAST(:set_aside AS uuid[]))
    AND (t."due_at", t."id") > (CAST(:seen_value AS timestamptz(6)), CAST(:seen_id AS uuid))
ORDER BY t."due_at", t."id"
LIMIT 1 OFFSET :last;

-- name: take
-- Reads the row again, now that its key is held, and counts the attempt. No row: it was settled meanwhile.
--   :id  uuid
--   :now  timestamptz, the host's clock
--   :lock  integer, what the claim locked: the third column of its answer
-- Transaction: the claim's, after claim. A statement of its own: it sees what the key's last holder committed.
-- Locks: the row, until the commit.
-- Index: the primary key.
-- Runs: once per key that is won.
UPDATE "payouts" AS t
SET "attempt" = LEAST(t."attempt", 2147483646) + 1
WHERE t."id" = :id AND t."paid_at" IS NULL AND t."due_at" <= :now
    AND hashtextextended(('accounts-' || CAST(t."account" AS text)) COLLATE "C", 0) = :lock
RETURNING t."id", t."account", t."due_at", t."last_error", t."amount", t."currency",
    t."attempt" - 1 AS "attempt";

-- name: give_back
-- Gives the attempt of a row back whose handler never started. No row: the claim is lost.
--   :id  uuid
--   :attempt  integer, as the row holds it: one more than the delivery's
--   :session  integer, the session that holds the lock: the last column of the claim's answer
-- Transaction: its own, on the claim's connection, before its key is free.
-- Locks: one row, until the commit.
-- Index: the primary key.
-- Runs: when a claim's block is left, or a worker stops, before the handler.
UPDATE "payouts"
SET "attempt" = "attempt" - 1
WHERE "id" = :id AND "attempt" = :attempt AND pg_backend_pid() = :session AND "paid_at" IS NULL;

-- name: unlock
-- Gives the key back. Anything but true: the lock is not this session's, and the connection is closed.
--   :lock  integer, what the claim locked: the third column of its answer
-- Transaction: its own, after the settlement's COMMIT; or the claim's, for a row that was settled meanwhile.
-- Locks: none; it ends the key's.
-- Index: none.
-- Runs: once per key that was won.
SELECT pg_advisory_unlock(CAST(:lock AS bigint));

-- name: ack
-- Finishes the row: it stays, marked. No row: the claim is lost.
--   :now  timestamptz, the host's clock
--   :id  uuid
--   :attempt  integer, as the row holds it: one more than the delivery's
--   :session  integer, the session that holds the lock: the last column of the claim's answer
-- Transaction: the caller's when one is open, else its own; on the claim's connection, before its key is free.
-- Locks: one row, until the commit.
-- Index: the primary key.
-- Runs: once per delivery.
UPDATE "payouts"
SET "paid_at" = :now
WHERE "id" = :id AND "attempt" = :attempt AND pg_backend_pid() = :session AND "paid_at" IS NULL;

-- name: retry
-- Makes the row due now, behind the rows that are due, or claimed at once if none are. No row: the claim is lost.
--   :now  timestamptz, the host's clock
--   :error  text or NULL, what went wrong
--   :id  uuid
--   :attempt  integer, as the row holds it: one more than the delivery's
--   :session  integer, the session that holds the lock: the last column of the claim's answer
-- Transaction: the caller's when one is open, else its own; on the claim's connection, before its key is free.
-- Locks: one row, until the commit.
-- Index: the primary key.
-- Runs: once per delivery that is retried.
UPDATE "payouts"
SET "due_at" = :now, "last_error" = :error
WHERE "id" = :id AND "attempt" = :attempt AND pg_backend_pid() = :session AND "paid_at" IS NULL;

-- name: retry_after
-- Makes the row due at :due. No row: the claim is lost.
--   :due  timestamptz, when the row is due again
--   :error  text or NULL, what went wrong
--   :id  uuid
--   :attempt  integer, as the row holds it: one more than the delivery's
--   :session  integer, the session that holds the lock: the last column of the claim's answer
-- Transaction: the caller's when one is open, else its own; on the claim's connection, before its key is free.
-- Locks: one row, until the commit.
-- Index: the primary key.
-- Runs: once per delivery that is retried.
UPDATE "payouts"
SET "due_at" = :due, "last_error" = :error
WHERE "id" = :id AND "attempt" = :attempt AND pg_backend_pid() = :session AND "paid_at" IS NULL;

-- name: dead_letter
-- Moves the row into the dead-letter table, in one statement. An older one of the same id is replaced. No row: the claim is lost.
--   :id  uuid
--   :attempt  integer, as the row holds it: one more than the delivery's
--   :session  integer, the session that holds the lock: the last column of the claim's answer
--   :reason  text, why the row is given up
--   :error  text or NULL, what went wrong
--   :now  timestamptz, the host's clock
-- Transaction: the caller's when one is open, else its own; on the claim's connection, before its key is free.
-- Locks: one row, until the commit.
-- Index: the primary key.
-- Runs: once per dead letter.
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
    "error" = excluded."error", "failed_at" = excluded."failed_at";

-- name: present
-- Whether the row is still this delivery's, and unchanged: then a trigger cancelled the write, and its holder is told so.
--   :id  uuid
--   :attempt  integer, as the row holds it: one more than the delivery's
--   :session  integer, the session that holds the lock: the last column of the claim's answer
-- Transaction: the settlement's, after it.
-- Locks: none.
-- Index: the primary key.
-- Runs: after a settlement that counted no row.
SELECT "id" FROM "payouts"
WHERE "id" = :id AND "attempt" = :attempt AND pg_backend_pid() = :session AND "paid_at" IS NULL;

-- name: enqueue
-- Adds one row.
--   :id  uuid
--   :account  varchar(34)
--   :amount  numeric(12,2)
--   :currency  varchar(3)
--   :due_at  timestamptz(6)
-- Transaction: the producer's; it never commits.
-- Locks: the new row, which nobody else sees before the commit; another insert of the same id waits for the commit.
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
--   :ids  list of ids
--   :now  timestamptz, the host's clock
-- Transaction: the caller's when one is open, else its own.
-- Locks: the rows, in both tables, until the commit; in order of their ids.
-- Index: the primary keys of both tables.
-- Runs: when an operator brings dead letters back; where it is refused, again for each half.
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
RETURNING d."id";

-- name: dead_among
-- Which of these rows are dead letters still: after a redrive that brought back fewer than it was given.
--   :ids  list of ids
-- Transaction: that of redrive, after it.
-- Locks: none.
-- Index: the primary key of the dead-letter table.
-- Runs: when redrive left rows behind.
SELECT d."id" FROM "payouts_failed" AS d
WHERE d."id" = ANY(CAST(:ids AS uuid[]));

-- name: purge_oldest
-- Lists and locks up to :limit rows that were finished before :before, the oldest first.
--   :before  timestamptz, rows that were finished earlier
--   :limit  integer, at most so many rows
-- Transaction: its own; committed before the next page. Before purge.
-- Locks: the rows it returns, until the commit. A row that is locked is passed over.
-- Index: payouts_purge
-- Runs: first, when an operator or a timer purges.
SELECT t."id", t."paid_at" FROM "payouts" AS t
WHERE t."paid_at" < :before
ORDER BY t."paid_at"
LIMIT :limit
FOR UPDATE SKIP LOCKED;

-- name: purge_next
-- Lists the next ones, from :since on. So a row that cannot be deleted does not hold up those after it.
--   :before  timestamptz, rows that were finished earlier
--   :since  timestamptz, when the last row of the page before was finished
--   :limit  integer, at most so many rows
-- Transaction: its own; committed before the next page. Before purge.
-- Locks: the rows it returns, until the commit. A row that is locked is passed over.
-- Index: payouts_purge
-- Runs: for each further page.
SELECT t."id", t."paid_at" FROM "payouts" AS t
WHERE t."paid_at" < :before AND t."paid_at" >= :since
ORDER BY t."paid_at"
LIMIT :limit
FOR UPDATE SKIP LOCKED;

-- name: purge
-- Deletes rows that were listed.
--   :ids  list of ids
-- Transaction: the same, after the list.
-- Locks: rows that are locked already; and what foreign keys and triggers need.
-- Index: the primary key.
-- Runs: once per page; where the database refuses it, again for each half, down to the rows that it refuses.
DELETE FROM "payouts"
WHERE "id" = ANY(CAST(:ids AS uuid[]));

-- name: purge_left
-- Which of the rows are there still: a trigger can cancel a DELETE without an error.
--   :ids  list of ids
-- Transaction: the same, after purge.
-- Locks: none.
-- Index: the primary key.
-- Runs: when purge deleted fewer rows than it was given.
SELECT t."id" FROM "payouts" AS t
WHERE t."id" = ANY(CAST(:ids AS uuid[]));

-- name: stats_due
-- Counts the rows that are due, and finds the oldest due time.
-- A row in work counts as due: nothing is written into it that tells.
-- It looks at the first :most rows whose time has come only; the last column says at how many.
--   :now  timestamptz, the host's clock
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
--   :now  timestamptz, the host's clock
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

-- name: row_security
-- Whether row level security decides which rows this login sees, of the table or of its dead letters.
-- Transaction: any, or none.
-- Locks: none.
-- Index: none.
-- Runs: once per look at the table.
SELECT row_security_active('"payouts"')
    OR row_security_active('"payouts_failed"');
