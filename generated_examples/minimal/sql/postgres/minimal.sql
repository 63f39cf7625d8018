-- From tables.toml: edit that and run `sqlclaimgen build`.
-- format 1 · form row lock · postgres

-- name: claim
-- Locks up to :limit due rows, in claim order, and passes over rows that others hold.
--   :set_aside  list of ids, the rows that are left out: none, or those that the database refused lately
--   :limit  integer, at most so many rows
-- Transaction: the claim's, open until the rows have their outcome; the first statement. Its number is the last column.
-- Locks: the rows it returns, until the commit. NO KEY: a child row's foreign-key check never waits.
-- Index: the primary key
-- Runs: once per poll.
SELECT c."id", CAST(c."payload" AS text) AS "payload", txid_current_if_assigned()
FROM (
    SELECT "id", "payload" FROM "minimal"
    WHERE "id" <> ALL(CAST(:set_aside AS bigint[]))
    ORDER BY "id"
    LIMIT :limit
    FOR NO KEY UPDATE SKIP LOCKED
) AS c
ORDER BY c."id";

-- name: holding
-- Whether the open transaction is still the one that claimed.
--   :transaction  integer, the last column of the claim's answer
-- Transaction: the claim's.
-- Locks: none.
-- Index: none.
-- Runs: when a claim's block is left, and after a settlement that found no row.
SELECT txid_current_if_assigned() = :transaction;

-- name: ack
-- Finishes the row: it is deleted. No row: the claim is lost.
--   :id  bigint
--   :transaction  integer, the last column of the claim's answer
-- Transaction: the claim's: leaving the claim's block, or the worker, commits it.
-- Locks: one row, until the commit.
-- Index: the primary key.
-- Runs: once per delivery.
DELETE FROM "minimal"
WHERE "id" = :id AND txid_current_if_assigned() = :transaction;

-- name: retry
-- Makes the row due now, in its place: it is claimed again at once. No row: the claim is lost.
-- There is nothing to write: the row is due once the lock on it is gone. This tells whether it is there.
--   :id  bigint
--   :transaction  integer, the last column of the claim's answer
-- Transaction: the claim's: leaving the claim's block, or the worker, commits it.
-- Locks: one row, until the commit.
-- Index: the primary key.
-- Runs: once per delivery that is retried.
SELECT "id" FROM "minimal"
WHERE "id" = :id AND txid_current_if_assigned() = :transaction;

-- name: present
-- Whether the row is still this delivery's, and unchanged: then a trigger cancelled the write, and its holder is told so.
--   :id  bigint
--   :transaction  integer, the last column of the claim's answer
-- Transaction: the settlement's, after it.
-- Locks: none.
-- Index: the primary key.
-- Runs: after a settlement that counted no row.
SELECT "id" FROM "minimal"
WHERE "id" = :id AND txid_current_if_assigned() = :transaction;

-- name: enqueue
-- Adds one row.
--   :payload  jsonb
-- Transaction: the producer's; it never commits.
-- Locks: the new row, which nobody else sees before the commit.
-- Index: none.
-- Runs: once per row.
INSERT INTO "minimal" ("payload")
VALUES (CAST(:payload AS jsonb))
RETURNING "id";

-- name: stats_due
-- Counts the rows that are due.
-- A row in work counts as due: nothing is written into it that tells.
-- It looks at the first :most unfinished rows only; the last column says at how many.
--   :most  integer, where counting stops
-- Transaction: any, or none.
-- Locks: none.
-- Index: the primary key
-- Runs: once per look at the table.
SELECT COUNT(*) AS due_rows,
    COUNT(*) AS looked_at
FROM (
    SELECT "id" FROM "minimal"
    ORDER BY "id" LIMIT :most
) AS looked;

-- name: row_security
-- Whether row level security decides which rows this login sees.
-- Transaction: any, or none.
-- Locks: none.
-- Index: none.
-- Runs: once per look at the table.
SELECT row_security_active('"minimal"');
