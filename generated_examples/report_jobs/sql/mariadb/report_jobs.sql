-- From tables.toml: edit that and run `sqlclaimgen build`.
-- format 1 · form lease · mariadb

-- name: due_priorities
-- Lists the priorities of one group that have due rows, most urgent first, so that rows delayed at a better
-- one are not walked. The GROUP BY names the index's leading columns: only so is it read by steps.
--   :group  varchar(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin
--   :now  datetime(6), UTC, the host's clock
-- Transaction: the claim's, at READ COMMITTED; the first statement.
-- Locks: none.
-- Index: report_jobs_claim
-- Runs: once per poll.
SELECT priority FROM (
    (SELECT `urgency` AS priority,
        MIN(`retry_after`) FROM `report_jobs` FORCE INDEX (`report_jobs_claim`)
     WHERE `queue` = :group AND `processed_at` IS NULL AND `locked_until` IS NULL
     GROUP BY `queue`, `processed_at`, `locked_until`, `urgency` HAVING MIN(`retry_after`) <= :now)
    UNION
    (SELECT `urgency`, NULL FROM `report_jobs` FORCE INDEX (`report_jobs_claim`)
     WHERE `queue` = :group AND `processed_at` IS NULL AND `locked_until` <= :now
         AND `retry_after` <= :now)
) AS listed
GROUP BY priority ORDER BY priority;

-- name: claim
-- Takes up to :limit due rows of one group, of one priority, in claim order. Candidates are read without locks, a window of
-- them, and locked by id with the condition again: so no row is locked that is not taken.
--   :group  varchar(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin
--   :priority  smallint
--   :now  datetime(6), UTC, the host's clock
--   :set_aside  list of ids, the rows that are left out: none, or those that the database refused lately
--   :window  integer, at most so many due rows are read
--   :limit  integer, at most so many rows
-- Transaction: the claim's, at READ COMMITTED; before claim_write. Rows are the claim's after COMMIT only.
-- Locks: the rows it returns, until the commit.
-- Index: report_jobs_claim, and the primary key.
-- Runs: once per poll and priority.
SELECT t.`job_id`, t.`queue`, t.`urgency`, t.`customer`, t.`retry_after`, t.`payload`, t.`note`,
    LEAST(t.`attempt`, 2147483646) AS `attempt`
FROM (
        (SELECT `job_id` AS candidate_id, `urgency` AS candidate_1,
            `retry_after` AS candidate_2 FROM `report_jobs` FORCE INDEX (`report_jobs_claim`)
         WHERE `queue` = :group AND `processed_at` IS NULL AND `urgency` = :priority
             AND `retry_after` <= :now AND `locked_until` IS NULL
             AND COALESCE(`job_id` NOT IN (:set_aside), TRUE)
         ORDER BY `retry_after`, `job_id` LIMIT :window)
        UNION ALL
        (SELECT `job_id` AS candidate_id, `urgency` AS candidate_1,
            `retry_after` AS candidate_2 FROM `report_jobs` FORCE INDEX (`report_jobs_claim`)
         WHERE `queue` = :group AND `processed_at` IS NULL AND `urgency` = :priority
             AND `retry_after` <= :now AND `locked_until` <= :now
             AND COALESCE(`job_id` NOT IN (:set_aside), TRUE)
         ORDER BY `retry_after`, `job_id` LIMIT :window)
        ORDER BY candidate_1, candidate_2, candidate_id LIMIT :window
    ) AS c
STRAIGHT_JOIN `report_jobs` AS t FORCE INDEX (PRIMARY) ON t.`job_id` = c.candidate_id
WHERE t.`queue` = :group AND t.`processed_at` IS NULL AND t.`urgency` = :priority
    AND t.`retry_after` <= :now AND (t.`locked_until` IS NULL OR t.`locked_until` <= :now)
ORDER BY c.candidate_1, c.candidate_2, c.candidate_id
LIMIT :limit
FOR UPDATE SKIP LOCKED;

-- name: probe
-- Whether anything is due beyond the window of claim, which came back empty.
--   :group  varchar(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin
--   :priority  smallint
--   :now  datetime(6), UTC, the host's clock
--   :set_aside  list of ids, the rows that are left out: none, or those that the database refused lately
--   :window  integer, at most so many due rows are read
--   :last  integer, the size of the window that was looked at
-- Transaction: the claim's, after claim.
-- Locks: none.
-- Index: report_jobs_claim
-- Runs: after a claim that brought nothing.
SELECT 1 FROM (
        (SELECT `job_id` AS candidate_id, `urgency` AS candidate_1,
            `retry_after` AS candidate_2 FROM `report_jobs` FORCE INDEX (`report_jobs_claim`)
         WHERE `queue` = :group AND `processed_at` IS NULL AND `urgency` = :priority
             AND `retry_after` <= :now AND `locked_until` IS NULL
             AND COALESCE(`job_id` NOT IN (:set_aside), TRUE)
         ORDER BY `retry_after`, `job_id` LIMIT :window)
        UNION ALL
        (SELECT `job_id` AS candidate_id, `urgency` AS candidate_1,
            `retry_after` AS candidate_2 FROM `report_jobs` FORCE INDEX (`report_jobs_claim`)
         WHERE `queue` = :group AND `processed_at` IS NULL AND `urgency` = :priority
             AND `retry_after` <= :now AND `locked_until` <= :now
             AND COALESCE(`job_id` NOT IN (:set_aside), TRUE)
         ORDER BY `retry_after`, `job_id` LIMIT :window)
        ORDER BY candidate_1, candidate_2, candidate_id LIMIT :window
    ) AS c
LIMIT 1 OFFSET :last;

-- name: due_priorities_table
-- Lists the priorities that have due rows, most urgent first, so that rows delayed at a better
-- one are not walked. The GROUP BY names the index's leading columns: only so is it read by steps.
--   :now  datetime(6), UTC, the host's clock
-- Transaction: the claim's, at READ COMMITTED; the first statement.
-- Locks: none.
-- Index: report_jobs_claim_table
-- Runs: once per poll.
SELECT priority FROM (
    (SELECT `urgency` AS priority,
        MIN(`retry_after`) FROM `report_jobs` FORCE INDEX (`report_jobs_claim_table`)
     WHERE `processed_at` IS NULL AND `locked_until` IS NULL
     GROUP BY `processed_at`, `locked_until`, `urgency` HAVING MIN(`retry_after`) <= :now)
    UNION
    (SELECT `urgency`, NULL FROM `report_jobs` FORCE INDEX (`report_jobs_claim_table`)
     WHERE `processed_at` IS NULL AND `locked_until` <= :now AND `retry_after` <= :now)
) AS listed
GROUP BY priority ORDER BY priority;

-- name: claim_table
-- Takes up to :limit due rows, of one priority, in claim order. Candidates are read without locks, a window of
-- them, and locked by id with the condition again: so no row is locked that is not taken.
--   :priority  smallint
--   :now  datetime(6), UTC, the host's clock
--   :set_aside  list of ids, the rows that are left out: none, or those that the database refused lately
--   :window  integer, at most so many due rows are read
--   :limit  integer, at most so many rows
-- Transaction: the claim's, at READ COMMITTED; before claim_write. Rows are the claim's after COMMIT only.
-- Locks: the rows it returns, until the commit.
-- Index: report_jobs_claim_table, and the primary key.
-- Runs: once per poll and priority.
SELECT t.`job_id`, t.`queue`, t.`urgency`, t.`customer`, t.`retry_after`, t.`payload`, t.`note`,
    LEAST(t.`attempt`, 2147483646) AS `attempt`
FROM (
        (SELECT `job_id` AS candidate_id, `urgency` AS candidate_1,
            `retry_after` AS candidate_2 FROM `report_jobs` FORCE INDEX (`report_jobs_claim_table`)
         WHERE `processed_at` IS NULL AND `urgency` = :priority AND `retry_after` <= :now
             AND `locked_until` IS NULL AND COALESCE(`job_id` NOT IN (:set_aside), TRUE)
         ORDER BY `retry_after`, `job_id` LIMIT :window)
        UNION ALL
        (SELECT `job_id` AS candidate_id, `urgency` AS candidate_1,
            `retry_after` AS candidate_2 FROM `report_jobs` FORCE INDEX (`report_jobs_claim_table`)
         WHERE `processed_at` IS NULL AND `urgency` = :priority AND `retry_after` <= :now
             AND `locked_until` <= :now AND COALESCE(`job_id` NOT IN (:set_aside), TRUE)
         ORDER BY `retry_after`, `job_id` LIMIT :window)
        ORDER BY candidate_1, candidate_2, candidate_id LIMIT :window
    ) AS c
STRAIGHT_JOIN `report_jobs` AS t FORCE INDEX (PRIMARY) ON t.`job_id` = c.candidate_id
WHERE t.`processed_at` IS NULL AND t.`urgency` = :priority AND t.`retry_after` <= :now
    AND (t.`locked_until` IS NULL OR t.`locked_until` <= :now)
ORDER BY c.candidate_1, c.candidate_2, c.candidate_id
LIMIT :limit
FOR UPDATE SKIP LOCKED;

-- name: probe_table
-- Whether anything is due beyond the window of claim_table, which came back empty.
--   :priority  smallint
--   :now  datetime(6), UTC, the host's clock
--   :set_aside  list of ids, the rows that are left out: none, or those that the database refused lately
--   :window  integer, at most so many due rows are read
--   :last  integer, the size of the window that was looked at
-- Transaction: the claim's, after claim_table.
-- Locks: none.
-- Index: report_jobs_claim_table
-- Runs: after a claim that brought nothing.
SELECT 1 FROM (
        (SELECT `job_id` AS candidate_id, `urgency` AS candidate_1,
            `retry_after` AS candidate_2 FROM `report_jobs` FORCE INDEX (`report_jobs_claim_table`)
         WHERE `processed_at` IS NULL AND `urgency` = :priority AND `retry_after` <= :now
             AND `locked_until` IS NULL AND COALESCE(`job_id` NOT IN (:set_aside), TRUE)
         ORDER BY `retry_after`, `job_id` LIMIT :window)
        UNION ALL
        (SELECT `job_id` AS candidate_id, `urgency` AS candidate_1,
            `retry_after` AS candidate_2 FROM `report_jobs` FORCE INDEX (`report_jobs_claim_table`)
         WHERE `processed_at` IS NULL AND `urgency` = :priority AND `retry_after` <= :now
             AND `locked_until` <= :now AND COALESCE(`job_id` NOT IN (:set_aside), TRUE)
         ORDER BY `retry_after`, `job_id` LIMIT :window)
        ORDER BY candidate_1, candidate_2, candidate_id LIMIT :window
    ) AS c
LIMIT 1 OFFSET :last;

-- name: claim_write
-- Writes the expiry into the rows the claim locked, and counts the attempt.
--   :locked_until  datetime(6), UTC, the new expiry: now + 60 s
--   :ids  list of ids
-- Transaction: the claim's; the last statement before COMMIT.
-- Locks: rows the claim holds already.
-- Index: the primary key.
-- Runs: once per claim that brought rows; where it is refused because of one row, again for each half of them.
UPDATE `report_jobs`
SET `locked_until` = :locked_until, `attempt` = LEAST(`attempt`, 2147483646) + 1
WHERE `job_id` IN (:ids);

-- name: extend
-- Locks the deliveries in work whose rows still hold their token. A row that is locked is skipped, not waited for:
-- it is tried again. An outcome of a row that this statement has locked waits for the commit.
--   :ids  list of ids
--   :held  list of id, token and attempt
-- Transaction: its own, at READ COMMITTED; before extend_write.
-- Locks: the rows it returns, until the commit.
-- Index: the primary key.
-- Runs: every half lease.
SELECT `job_id` FROM `report_jobs` FORCE INDEX (PRIMARY)
WHERE `job_id` IN (:ids) AND (`job_id`, `locked_until`, `attempt`) IN (:held)
    AND `processed_at` IS NULL
FOR UPDATE SKIP LOCKED;

-- name: extend_write
-- Moves their expiry.
--   :locked_until  datetime(6), UTC, the new expiry: now + 60 s
--   :ids  list of ids
--   :held  list of id, token and attempt
-- Transaction: that of extend, after it.
-- Locks: rows that extend holds already.
-- Index: the primary key.
-- Runs: every half lease.
UPDATE `report_jobs` FORCE INDEX (PRIMARY)
SET `locked_until` = :locked_until
WHERE `job_id` IN (:ids) AND (`job_id`, `locked_until`, `attempt`) IN (:held)
    AND `processed_at` IS NULL;

-- name: held
-- Reads which of the rows that extend left out still hold their token, or an expiry that was sent, and which of
-- the two. A row that does not come back is lost.
--   :ids  list of ids
--   :held  list of id, token and attempt
-- Transaction: that of extend.
-- Locks: none.
-- Index: the primary key.
-- Runs: when extend returned fewer rows than it was given.
SELECT `job_id`, `locked_until` FROM `report_jobs` FORCE INDEX (PRIMARY)
WHERE `job_id` IN (:ids) AND (`job_id`, `locked_until`, `attempt`) IN (:held)
    AND `processed_at` IS NULL;

-- name: release
-- Gives rows back at once that were handed out and not settled: the attempt stays counted. Rows that another claim holds are passed over.
--   :ids  list of ids
--   :held  list of id, token and attempt
-- Transaction: the caller's when one is open, else its own.
-- Locks: the rows of the lists, until the commit.
-- Index: the primary key.
-- Runs: when a claim's block is left; when a handler that ran on after its worker's end has ended.
UPDATE `report_jobs` FORCE INDEX (PRIMARY)
SET `locked_until` = NULL
WHERE `job_id` IN (:ids) AND (`job_id`, `locked_until`, `attempt`) IN (:held)
    AND `processed_at` IS NULL;

-- name: give_back
-- Gives rows back at once that a worker's stop, or a caller's decision, keeps from being settled, with their attempt.
--   :ids  list of ids
--   :held  list of id, token and attempt
-- Transaction: the caller's when one is open, else its own.
-- Locks: the rows of the lists, until the commit.
-- Index: the primary key.
-- Runs: when a worker stops, before a handler or once it has ended; on a release; when a claim's block is left, for what was not handed out.
UPDATE `report_jobs` FORCE INDEX (PRIMARY)
SET `locked_until` = NULL, `attempt` = `attempt` - 1
WHERE `job_id` IN (:ids) AND (`job_id`, `locked_until`, `attempt`) IN (:held)
    AND `processed_at` IS NULL;

-- name: shorten
-- Moves the expiry of rows nearer whose handlers run on after their worker's end, and gives their attempt back.
--   :soon  datetime(6), UTC, the new expiry: nearer than the one held
--   :ids  list of ids
--   :held  list of id, token and attempt
-- Transaction: its own, after extend, which locks them.
-- Locks: rows that extend holds already.
-- Index: the primary key.
-- Runs: when a worker ends whose handlers do not.
UPDATE `report_jobs` FORCE INDEX (PRIMARY)
SET `locked_until` = :soon, `attempt` = `attempt` - 1
WHERE `job_id` IN (:ids) AND (`job_id`, `locked_until`, `attempt`) IN (:held)
    AND `processed_at` IS NULL;

-- name: ack
-- Finishes the row: it stays, marked. No row: the lease is lost.
--   :now  datetime(6), UTC, the host's clock
--   :id  bigint
--   :token  datetime(6), UTC, the expiry held
--   :sent  datetime(6), UTC, an expiry sent and not answered, or the token again
--   :attempt  integer, as the row holds it: one more than the delivery's
-- Transaction: the caller's when one is open, else its own.
-- Locks: one row, until the commit.
-- Index: the primary key.
-- Runs: once per delivery.
UPDATE `report_jobs` FORCE INDEX (PRIMARY)
SET `processed_at` = :now, `locked_until` = NULL
WHERE `job_id` = :id AND `locked_until` IN (:token, :sent) AND `attempt` = :attempt
    AND `processed_at` IS NULL;

-- name: retry
-- Makes the row due now, behind the rows of its priority that are due, or claimed at once if none are. No row: the lease is lost.
--   :now  datetime(6), UTC, the host's clock
--   :id  bigint
--   :token  datetime(6), UTC, the expiry held
--   :sent  datetime(6), UTC, an expiry sent and not answered, or the token again
--   :attempt  integer, as the row holds it: one more than the delivery's
-- Transaction: the caller's when one is open, else its own.
-- Locks: one row, until the commit.
-- Index: the primary key.
-- Runs: once per delivery that is retried.
UPDATE `report_jobs` FORCE INDEX (PRIMARY)
SET `retry_after` = :now, `locked_until` = NULL
WHERE `job_id` = :id AND `locked_until` IN (:token, :sent) AND `attempt` = :attempt
    AND `processed_at` IS NULL;

-- name: retry_after
-- Makes the row due at :due. No row: the lease is lost.
--   :due  datetime(6), UTC, when the row is due again
--   :id  bigint
--   :token  datetime(6), UTC, the expiry held
--   :sent  datetime(6), UTC, an expiry sent and not answered, or the token again
--   :attempt  integer, as the row holds it: one more than the delivery's
-- Transaction: the caller's when one is open, else its own.
-- Locks: one row, until the commit.
-- Index: the primary key.
-- Runs: once per delivery that is retried.
UPDATE `report_jobs` FORCE INDEX (PRIMARY)
SET `retry_after` = :due, `locked_until` = NULL
WHERE `job_id` = :id AND `locked_until` IN (:token, :sent) AND `attempt` = :attempt
    AND `processed_at` IS NULL;

-- name: dead_letter
-- Copies the row into the dead-letter table. An older one of the same id is replaced. No row: the lease is lost.
--   :reason  text, why the row is given up
--   :error  text or NULL, what went wrong
--   :now  datetime(6), UTC, the host's clock
--   :id  bigint
--   :token  datetime(6), UTC, the expiry held
--   :sent  datetime(6), UTC, an expiry sent and not answered, or the token again
--   :attempt  integer, as the row holds it: one more than the delivery's
-- Transaction: the caller's when one is open, else its own. First of two statements; dead_letter_remove is the second.
-- Locks: one row, until the commit.
-- Index: the primary key.
-- Runs: once per dead letter.
INSERT INTO `report_jobs_dead` (`job_id`, `queue`, `urgency`, `customer`, `retry_after`, `attempt`,
    `locked_until`, `processed_at`, `payload`, `note`, `reason`, `error`, `died_at`)
SELECT `job_id`, `queue`, `urgency`, `customer`, `retry_after`, `attempt` - 1, NULL, `processed_at`,
    `payload`, `note`, :reason, :error, :now
FROM `report_jobs` FORCE INDEX (PRIMARY)
WHERE `job_id` = :id AND `locked_until` IN (:token, :sent) AND `attempt` = :attempt
    AND `processed_at` IS NULL
FOR UPDATE
ON DUPLICATE KEY UPDATE `queue` = VALUES(`queue`), `urgency` = VALUES(`urgency`),
    `customer` = VALUES(`customer`), `retry_after` = VALUES(`retry_after`),
    `attempt` = VALUES(`attempt`), `locked_until` = VALUES(`locked_until`),
    `processed_at` = VALUES(`processed_at`), `payload` = VALUES(`payload`), `note` = VALUES(`note`),
    `reason` = VALUES(`reason`), `error` = VALUES(`error`), `died_at` = VALUES(`died_at`);

-- name: dead_letter_remove
-- Removes the row that dead_letter copied.
--   :id  bigint
--   :token  datetime(6), UTC, the expiry held
--   :sent  datetime(6), UTC, an expiry sent and not answered, or the token again
--   :attempt  integer, as the row holds it: one more than the delivery's
-- Transaction: the same. Second of two statements.
-- Locks: the row, held already.
-- Index: the primary key.
-- Runs: once per dead letter.
DELETE settled FROM `report_jobs` AS settled FORCE INDEX (PRIMARY)
WHERE `job_id` = :id AND `locked_until` IN (:token, :sent) AND `attempt` = :attempt
    AND `processed_at` IS NULL;

-- name: enqueue
-- Adds one row.
--   :queue  varchar(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin
--   :urgency  smallint
--   :customer  varchar(80) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin
--   :payload  json
--   :remark  longtext or NULL
--   :retry_after  datetime(6)
-- Transaction: the producer's; it never commits.
-- Locks: the new row, which nobody else sees before the commit.
-- Index: none.
-- Runs: once per row.
INSERT INTO `report_jobs` (`queue`, `urgency`, `customer`, `payload`, `note`, `attempt`,
    `retry_after`)
VALUES (:queue, :urgency, :customer, :payload, :remark, 1, :retry_after)
RETURNING `job_id`;

-- name: redrive_oldest
-- Lists up to :limit dead letters that can be brought back, the oldest first, for redrive.
-- A subselect per row, not NOT EXISTS: that may become a join that reads both tables through.
--   :limit  integer, at most so many rows
-- Transaction: that of redrive, before it.
-- Locks: none.
-- Index: report_jobs_dead_oldest
-- Runs: when an operator brings dead letters back.
SELECT d.`job_id` FROM `report_jobs_dead` AS d FORCE INDEX (`report_jobs_dead_oldest`)
WHERE (SELECT 1 FROM `report_jobs` AS q WHERE q.`job_id` = d.`job_id` LIMIT 1) IS NULL
ORDER BY d.`died_at`, d.`job_id`
LIMIT :limit;

-- name: redrive_lock
-- Locks those of the rows that are dead letters.
--   :ids  list of ids
-- Transaction: the caller's when one is open, else its own. Before redrive.
-- Locks: the rows it returns, until the commit.
-- Index: the primary key.
-- Runs: when an operator brings dead letters back.
SELECT t.`job_id` FROM `report_jobs_dead` AS t FORCE INDEX (PRIMARY)
WHERE t.`job_id` IN (:ids)
ORDER BY t.`job_id`
FOR UPDATE;

-- name: redrive
-- Brings dead letters back: due now, from their first attempt, under their old id.
-- One whose id is in the work table fails the statement, which then brings none back.
--   :now  datetime(6), UTC, the host's clock
--   :ids  list of ids
-- Transaction: the same, after redrive_lock and before redrive_remove.
-- Locks: the rows, until the commit.
-- Index: the primary key.
-- Runs: when an operator brings dead letters back; where it is refused, again for each half.
INSERT INTO `report_jobs` (`job_id`, `queue`, `urgency`, `customer`, `retry_after`, `attempt`,
    `locked_until`, `processed_at`, `payload`, `note`)
SELECT d.`job_id`, d.`queue`, COALESCE(d.`urgency`, 0), d.`customer`, :now, 1, NULL, NULL,
    d.`payload`, d.`note`
FROM `report_jobs_dead` AS d
WHERE d.`job_id` IN (:ids)
FOR UPDATE;

-- name: redrive_remove
-- Removes the dead letters that redrive brought back.
--   :ids  list of ids
-- Transaction: the same, after redrive.
-- Locks: rows that redrive_lock holds already.
-- Index: the primary key of the dead-letter table.
-- Runs: when an operator brings dead letters back.
DELETE t FROM (
    SELECT `job_id` FROM `report_jobs_dead`
    WHERE `job_id` IN (:ids)
    FOR UPDATE SKIP LOCKED
) AS c
STRAIGHT_JOIN `report_jobs_dead` AS t FORCE INDEX (PRIMARY) ON t.`job_id` = c.`job_id`;

-- name: purge_oldest
-- Lists and locks up to :limit rows that were finished before :before, the oldest first.
--   :before  datetime(6), UTC, rows that were finished earlier
--   :limit  integer, at most so many rows
-- Transaction: its own; committed before the next page. Before purge.
-- Locks: the rows it returns, until the commit. A row that is locked is passed over.
-- Index: report_jobs_claim_table
-- Runs: first, when an operator or a timer purges.
SELECT t.`job_id`, t.`processed_at` FROM `report_jobs` AS t FORCE INDEX (`report_jobs_claim_table`)
WHERE t.`processed_at` < :before
ORDER BY t.`processed_at`
LIMIT :limit
FOR UPDATE SKIP LOCKED;

-- name: purge_next
-- Lists the next ones, from :since on. So a row that cannot be deleted does not hold up those after it.
--   :before  datetime(6), UTC, rows that were finished earlier
--   :since  datetime(6), UTC, when the last row of the page before was finished
--   :limit  integer, at most so many rows
-- Transaction: its own; committed before the next page. Before purge.
-- Locks: the rows it returns, until the commit. A row that is locked is passed over.
-- Index: report_jobs_claim_table
-- Runs: for each further page.
SELECT t.`job_id`, t.`processed_at` FROM `report_jobs` AS t FORCE INDEX (`report_jobs_claim_table`)
WHERE t.`processed_at` < :before AND t.`processed_at` >= :since
ORDER BY t.`processed_at`
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
    SELECT `job_id` FROM `report_jobs`
    WHERE `job_id` IN (:ids)
    FOR UPDATE SKIP LOCKED
) AS c
STRAIGHT_JOIN `report_jobs` AS t FORCE INDEX (PRIMARY) ON t.`job_id` = c.`job_id`;

-- name: purge_left
-- Which of the rows are there still: a trigger can cancel a DELETE without an error.
--   :ids  list of ids
-- Transaction: the same, after purge.
-- Locks: none.
-- Index: the primary key.
-- Runs: when purge deleted fewer rows than it was given.
SELECT t.`job_id` FROM `report_jobs` AS t
WHERE t.`job_id` IN (:ids);

-- name: stats_priorities
-- Lists the priorities of one group that unfinished rows have which no lease holds. The GROUP BY names the index's leading
-- columns: only so is it read by steps.
--   :group  varchar(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin
-- Transaction: any, or none.
-- Locks: none.
-- Index: report_jobs_claim
-- Runs: once per look at the table.
SELECT `urgency` FROM `report_jobs` FORCE INDEX (`report_jobs_claim`)
WHERE `queue` = :group AND `processed_at` IS NULL AND `locked_until` IS NULL
GROUP BY `queue`, `processed_at`, `locked_until`, `urgency`;

-- name: stats_priorities_table
-- Lists the priorities that unfinished rows have which no lease holds. The GROUP BY names the index's leading
-- columns: only so is it read by steps.
-- Transaction: any, or none.
-- Locks: none.
-- Index: report_jobs_claim_table
-- Runs: once per look at the table.
SELECT `urgency` FROM `report_jobs` FORCE INDEX (`report_jobs_claim_table`)
WHERE `processed_at` IS NULL AND `locked_until` IS NULL
GROUP BY `processed_at`, `locked_until`, `urgency`;

-- name: stats_due
-- Counts the due rows of one group that hold no lease, of one priority, and finds the oldest due time.
-- It looks at the first :most only; the last column says at how many.
--   :group  varchar(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin
--   :priority  smallint
--   :now  datetime(6), UTC, the host's clock
--   :most  integer, where counting stops
-- Transaction: any, or none.
-- Locks: none.
-- Index: report_jobs_claim
-- Runs: once per look at the table and priority.
SELECT COUNT(*) AS due_rows,
    MIN(`retry_after`) AS oldest,
    COUNT(*) AS looked_at
FROM (
    SELECT `retry_after` FROM `report_jobs` FORCE INDEX (`report_jobs_claim`)
    WHERE `queue` = :group AND `processed_at` IS NULL AND `locked_until` IS NULL
        AND `urgency` = :priority AND `retry_after` <= :now
    ORDER BY `retry_after`, `job_id` LIMIT :most
) AS looked;

-- name: stats_delayed
-- Counts the rows of one group that are not due yet, of one priority, as far as :most.
--   :group  varchar(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin
--   :priority  smallint
--   :now  datetime(6), UTC, the host's clock
--   :most  integer, where counting stops
-- Transaction: any, or none.
-- Locks: none.
-- Index: report_jobs_claim
-- Runs: once per look at the table and priority.
SELECT COUNT(*) FROM (
    SELECT `job_id` FROM `report_jobs` FORCE INDEX (`report_jobs_claim`)
    WHERE `queue` = :group AND `processed_at` IS NULL AND `locked_until` IS NULL
        AND `urgency` = :priority AND `retry_after` > :now
    ORDER BY `retry_after`, `job_id` LIMIT :most
) AS looked;

-- name: stats_leased
-- Counts the rows of one group that hold a lease: in work, or due again because it ran out.
-- It looks at no more than :most, in no order; the last column says at how many.
-- So the oldest due time is known only where there are no more.
--   :now  datetime(6), UTC, the host's clock
--   :group  varchar(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin
--   :most  integer, where counting stops
-- Transaction: any, or none.
-- Locks: none.
-- Index: report_jobs_claim
-- Runs: once per look at the table.
SELECT COUNT(CASE WHEN `locked_until` <= :now THEN 1 END) AS due_rows,
    COUNT(CASE WHEN `locked_until` > :now THEN 1 END) AS rows_in_work,
    MIN(CASE WHEN `locked_until` <= :now THEN `retry_after` END) AS oldest,
    COUNT(*) AS looked_at
FROM (
    SELECT `locked_until`, `retry_after` FROM `report_jobs` FORCE INDEX (`report_jobs_claim`)
    WHERE `queue` = :group AND `processed_at` IS NULL AND `locked_until` IS NOT NULL
    LIMIT :most
) AS looked;

-- name: stats_due_table
-- Counts the due rows that hold no lease, of one priority, and finds the oldest due time.
-- It looks at the first :most only; the last column says at how many.
--   :priority  smallint
--   :now  datetime(6), UTC, the host's clock
--   :most  integer, where counting stops
-- Transaction: any, or none.
-- Locks: none.
-- Index: report_jobs_claim_table
-- Runs: once per look at the table and priority.
SELECT COUNT(*) AS due_rows,
    MIN(`retry_after`) AS oldest,
    COUNT(*) AS looked_at
FROM (
    SELECT `retry_after` FROM `report_jobs` FORCE INDEX (`report_jobs_claim_table`)
    WHERE `processed_at` IS NULL AND `locked_until` IS NULL AND `urgency` = :priority
        AND `retry_after` <= :now
    ORDER BY `retry_after`, `job_id` LIMIT :most
) AS looked;

-- name: stats_delayed_table
-- Counts the rows that are not due yet, of one priority, as far as :most.
--   :priority  smallint
--   :now  datetime(6), UTC, the host's clock
--   :most  integer, where counting stops
-- Transaction: any, or none.
-- Locks: none.
-- Index: report_jobs_claim_table
-- Runs: once per look at the table and priority.
SELECT COUNT(*) FROM (
    SELECT `job_id` FROM `report_jobs` FORCE INDEX (`report_jobs_claim_table`)
    WHERE `processed_at` IS NULL AND `locked_until` IS NULL AND `urgency` = :priority
        AND `retry_after` > :now
    ORDER BY `retry_after`, `job_id` LIMIT :most
) AS looked;

-- name: stats_leased_table
-- Counts the rows that hold a lease: in work, or due again because it ran out.
-- It looks at no more than :most, in no order; the last column says at how many.
-- So the oldest due time is known only where there are no more.
--   :now  datetime(6), UTC, the host's clock
--   :most  integer, where counting stops
-- Transaction: any, or none.
-- Locks: none.
-- Index: report_jobs_claim_table
-- Runs: once per look at the table.
SELECT COUNT(CASE WHEN `locked_until` <= :now THEN 1 END) AS due_rows,
    COUNT(CASE WHEN `locked_until` > :now THEN 1 END) AS rows_in_work,
    MIN(CASE WHEN `locked_until` <= :now THEN `retry_after` END) AS oldest,
    COUNT(*) AS looked_at
FROM (
    SELECT `locked_until`, `retry_after` FROM `report_jobs` FORCE INDEX (`report_jobs_claim_table`)
    WHERE `processed_at` IS NULL AND `locked_until` IS NOT NULL
    LIMIT :most
) AS looked;

-- name: stats_dead
-- Counts the dead letters, as far as :most.
--   :most  integer, where counting stops
-- Transaction: any, or none.
-- Locks: none.
-- Index: any of the dead-letter table, or none: it stops at :most rows
-- Runs: once per look at the table.
SELECT COUNT(*) FROM (SELECT `job_id` FROM `report_jobs_dead` LIMIT :most) AS looked;
