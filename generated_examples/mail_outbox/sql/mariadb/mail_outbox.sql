-- From tables.toml: edit that and run `sqlclaimgen build`.
-- format 1 · form row lock · mariadb

-- name: due_priorities
-- Lists the priorities that have due rows, most urgent first, so that rows delayed at a better
-- one are not walked. The GROUP BY names the index's leading columns: only so is it read by steps.
--   :now  datetime(6), UTC, the host's clock
-- Transaction: the claim's; the first statement.
-- Locks: none.
-- Index: mail_outbox_claim
-- Runs: once per poll.
SELECT `urgency` FROM `mail_outbox` FORCE INDEX (`mail_outbox_claim`)
WHERE `sent_at` IS NULL
GROUP BY `sent_at`, `urgency`
HAVING MIN(`send_after`) <= :now
ORDER BY `urgency`;

-- name: claim
-- Locks up to :limit due rows, of one priority, in claim order, and passes over rows that others hold.
-- A locking read of the index itself would lock more: every row of the table when the optimizer sorts, as it does
-- on small tables, and rows that it only passes over. So a window of candidates is read without locks first, and
-- locked by the primary key, which MariaDB has to be told.
--   :priority  smallint
--   :now  datetime(6), UTC, the host's clock
--   :set_aside  list of ids, the rows that are left out: none, or those that the database refused lately
--   :window  integer, at most so many due rows are read
--   :limit  integer, at most so many rows
-- Transaction: the claim's, at READ COMMITTED unless the table says otherwise; open until the rows have their outcome.
-- Locks: the rows it returns, until the commit.
-- Index: mail_outbox_claim, and the primary key.
-- Runs: once per poll and priority.
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
FOR UPDATE SKIP LOCKED;

-- name: probe
-- Whether anything is due beyond the window of claim.
--   :priority  smallint
--   :now  datetime(6), UTC, the host's clock
--   :set_aside  list of ids, the rows that are left out: none, or those that the database refused lately
--   :last  integer, the size of the window that was looked at
-- Transaction: the claim's, after claim.
-- Locks: none.
-- Index: mail_outbox_claim
-- Runs: after a claim that brought nothing.
SELECT 1 FROM `mail_outbox` FORCE INDEX (`mail_outbox_claim`)
WHERE `sent_at` IS NULL AND `urgency` = :priority AND `send_after` <= :now
    AND COALESCE(`id` NOT IN (:set_aside), TRUE)
ORDER BY `send_after`, `id`
LIMIT 1 OFFSET :last;

-- name: ack
-- Finishes the row: it stays, marked. No row: the claim is lost.
--   :now  datetime(6), UTC, the host's clock
--   :id  bigint
-- Transaction: the claim's: leaving the claim's block, or the worker, commits it.
-- Locks: one row, until the commit.
-- Index: the primary key.
-- Runs: once per delivery.
UPDATE `mail_outbox` FORCE INDEX (PRIMARY)
SET `sent_at` = :now, `once` = NULL
WHERE `id` = :id AND `sent_at` IS NULL;

-- name: retry
-- Makes the row due now, behind the rows of its priority that are due, or claimed at once if none are. No row: the claim is lost.
--   :now  datetime(6), UTC, the host's clock
--   :error  text or NULL, what went wrong
--   :id  bigint
-- Transaction: the claim's: leaving the claim's block, or the worker, commits it.
-- Locks: one row, until the commit.
-- Index: the primary key.
-- Runs: once per delivery that is retried.
UPDATE `mail_outbox` FORCE INDEX (PRIMARY)
SET `send_after` = :now, `attempt` = LEAST(`attempt`, 2147483646) + 1, `last_error` = :error
WHERE `id` = :id AND `sent_at` IS NULL;

-- name: retry_after
-- Makes the row due at :due. No row: the claim is lost.
--   :due  datetime(6), UTC, when the row is due again
--   :error  text or NULL, what went wrong
--   :id  bigint
-- Transaction: the claim's: leaving the claim's block, or the worker, commits it.
-- Locks: one row, until the commit.
-- Index: the primary key.
-- Runs: once per delivery that is retried.
UPDATE `mail_outbox` FORCE INDEX (PRIMARY)
SET `send_after` = :due, `attempt` = LEAST(`attempt`, 2147483646) + 1, `last_error` = :error
WHERE `id` = :id AND `sent_at` IS NULL;

-- name: present
-- Whether the row is still this delivery's: an update that writes what the row holds already may count no row.
--   :id  bigint
-- Transaction: the settlement's, after retry or retry_after.
-- Locks: the row, held already.
-- Index: the primary key.
-- Runs: after a retry that counted no row.
SELECT `id` FROM `mail_outbox`
WHERE `id` = :id AND `sent_at` IS NULL
FOR UPDATE;

-- name: enqueue
-- Adds one row. A row whose once is queued already is refused.
--   :urgency  smallint
--   :once  varchar(80) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin or NULL
--   :recipient  varchar(320)
--   :message  json
--   :send_after  datetime(6)
-- Transaction: the producer's; it never commits.
-- Locks: the new row, which nobody else sees before the commit.
-- Index: mail_outbox_dedupe.
-- Runs: once per row.
INSERT INTO `mail_outbox` (`urgency`, `once`, `recipient`, `message`, `attempt`, `send_after`)
VALUES (:urgency, :once, :recipient, :message, 1, :send_after)
RETURNING `id`;

-- name: purge_oldest
-- Lists and locks up to :limit rows that were finished before :before, the oldest first.
--   :before  datetime(6), UTC, rows that were finished earlier
--   :limit  integer, at most so many rows
-- Transaction: its own; committed before the next page. Before purge.
-- Locks: the rows it returns, until the commit. A row that is locked is passed over.
-- Index: mail_outbox_claim
-- Runs: first, when an operator or a timer purges.
SELECT t.`id`, t.`sent_at` FROM `mail_outbox` AS t FORCE INDEX (`mail_outbox_claim`)
WHERE t.`sent_at` < :before
ORDER BY t.`sent_at`
LIMIT :limit
FOR UPDATE SKIP LOCKED;

-- name: purge_next
-- Lists the next ones, from :since on. So a row that cannot be deleted does not hold up those after it.
--   :before  datetime(6), UTC, rows that were finished earlier
--   :since  datetime(6), UTC, when the last row of the page before was finished
--   :limit  integer, at most so many rows
-- Transaction: its own; committed before the next page. Before purge.
-- Locks: the rows it returns, until the commit. A row that is locked is passed over.
-- Index: mail_outbox_claim
-- Runs: for each further page.
SELECT t.`id`, t.`sent_at` FROM `mail_outbox` AS t FORCE INDEX (`mail_outbox_claim`)
WHERE t.`sent_at` < :before AND t.`sent_at` >= :since
ORDER BY t.`sent_at`
LIMIT :limit
FOR UPDATE SKIP LOCKED;

-- name: purge
-- Deletes rows that were listed.
--   :ids  list of ids
-- Transaction: the same, after the list.
-- Locks: rows that are locked already; and what foreign keys and triggers need.
-- Index: the primary key.
-- Runs: once per page; where the database refuses it, again for each half, down to the rows that it refuses.
DELETE t FROM (
    SELECT `id` FROM `mail_outbox`
    WHERE `id` IN (:ids)
    FOR UPDATE SKIP LOCKED
) AS c
STRAIGHT_JOIN `mail_outbox` AS t FORCE INDEX (PRIMARY) ON t.`id` = c.`id`;

-- name: purge_left
-- Which of the rows are there still: a trigger can cancel a DELETE without an error.
--   :ids  list of ids
-- Transaction: the same, after purge.
-- Locks: none.
-- Index: the primary key.
-- Runs: when purge deleted fewer rows than it was given.
SELECT t.`id` FROM `mail_outbox` AS t
WHERE t.`id` IN (:ids);

-- name: stats_priorities
-- Lists the priorities that unfinished rows have. The GROUP BY names the index's leading
-- columns: only so is it read by steps.
-- Transaction: any, or none.
-- Locks: none.
-- Index: mail_outbox_claim
-- Runs: once per look at the table.
SELECT `urgency` FROM `mail_outbox` FORCE INDEX (`mail_outbox_claim`)
WHERE `sent_at` IS NULL
GROUP BY `sent_at`, `urgency`;

-- name: stats_due
-- Counts the rows that are due, of one priority, and finds the oldest due time.
-- A row in work counts as due: nothing is written into it that tells.
-- It looks at the first :most rows whose time has come only; the last column says at how many.
--   :priority  smallint
--   :now  datetime(6), UTC, the host's clock
--   :most  integer, where counting stops
-- Transaction: any, or none.
-- Locks: none.
-- Index: mail_outbox_claim
-- Runs: once per look at the table and priority.
SELECT COUNT(*) AS due_rows,
    MIN(`send_after`) AS oldest,
    COUNT(*) AS looked_at
FROM (
    SELECT `id`, `send_after` FROM `mail_outbox` FORCE INDEX (`mail_outbox_claim`)
    WHERE `sent_at` IS NULL AND `urgency` = :priority AND `send_after` <= :now
    ORDER BY `send_after`, `id` LIMIT :most
) AS looked;

-- name: stats_delayed
-- Counts the rows that are not due yet, of one priority, as far as :most.
--   :priority  smallint
--   :now  datetime(6), UTC, the host's clock
--   :most  integer, where counting stops
-- Transaction: any, or none.
-- Locks: none.
-- Index: mail_outbox_claim
-- Runs: once per look at the table and priority.
SELECT COUNT(*) FROM (
    SELECT `id` FROM `mail_outbox` FORCE INDEX (`mail_outbox_claim`)
    WHERE `sent_at` IS NULL AND `urgency` = :priority AND `send_after` > :now
    ORDER BY `send_after`, `id` LIMIT :most
) AS looked;
