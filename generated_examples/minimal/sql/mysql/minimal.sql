-- From tables.toml: edit that and run `sqlclaimgen build`.
-- format 1 · form row lock · mysql

-- name: claim
-- Locks up to :limit due rows, in claim order, and passes over rows that others hold.
-- A locking read of the index itself would lock more: every row of the table when the optimizer sorts, as it does
-- on small tables, and rows that it only passes over. So a window of candidates is read without locks first, and
-- locked by the primary key, which MariaDB has to be told.
--   :set_aside  list of ids, the rows that are left out: none, or those that the database refused lately
--   :window  integer, at most so many due rows are read
--   :limit  integer, at most so many rows
-- Transaction: the claim's, at READ COMMITTED unless the table says otherwise; open until the rows have their outcome.
-- Locks: the rows it returns, until the commit.
-- Index: the primary key, and the primary key.
-- Runs: once per poll.
SELECT t.`id`, t.`payload`
FROM (
    SELECT `id` AS candidate_id FROM `minimal` FORCE INDEX (PRIMARY)
    WHERE COALESCE(`id` NOT IN (:set_aside), TRUE)
    ORDER BY `id` LIMIT :window
) AS c
STRAIGHT_JOIN `minimal` AS t FORCE INDEX (PRIMARY) ON t.`id` = c.candidate_id
ORDER BY c.candidate_id
LIMIT :limit
FOR UPDATE OF t SKIP LOCKED;

-- name: probe
-- Whether anything is due beyond the window of claim.
--   :set_aside  list of ids, the rows that are left out: none, or those that the database refused lately
--   :last  integer, the size of the window that was looked at
-- Transaction: the claim's, after claim.
-- Locks: none.
-- Index: the primary key
-- Runs: after a claim that brought nothing.
SELECT 1 FROM `minimal` FORCE INDEX (PRIMARY)
WHERE COALESCE(`id` NOT IN (:set_aside), TRUE)
ORDER BY `id`
LIMIT 1 OFFSET :last;

-- name: ack
-- Finishes the row: it is deleted. No row: the claim is lost.
--   :id  bigint
-- Transaction: the claim's: leaving the claim's block, or the worker, commits it.
-- Locks: one row, until the commit.
-- Index: the primary key.
-- Runs: once per delivery.
DELETE settled FROM `minimal` AS settled FORCE INDEX (PRIMARY)
WHERE `id` = :id;

-- name: retry
-- Makes the row due now, in its place: it is claimed again at once. No row: the claim is lost.
-- There is nothing to write: the row is due once the lock on it is gone. This tells whether it is there.
--   :id  bigint
-- Transaction: the claim's: leaving the claim's block, or the worker, commits it.
-- Locks: one row, until the commit.
-- Index: the primary key.
-- Runs: once per delivery that is retried.
SELECT `id` FROM `minimal`
WHERE `id` = :id;

-- name: enqueue
-- Adds one row.
--   :payload  json
-- Transaction: the producer's; it never commits.
-- Locks: the new row, which nobody else sees before the commit.
-- Index: none.
-- Runs: once per row.
INSERT INTO `minimal` (`payload`)
VALUES (:payload)
;

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
    SELECT `id` FROM `minimal` FORCE INDEX (PRIMARY)
    ORDER BY `id` LIMIT :most
) AS looked;
