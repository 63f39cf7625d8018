-- From tables.toml: edit that and run `sqlclaimgen build`.
-- format 1 · form lease · mysql

-- name: claim
-- Takes up to :limit due rows, in claim order. Candidates are read without locks, a window of
-- them, and locked by id with the condition again: so no row is locked that is not taken.
--   :now  datetime(6), UTC, the host's clock
--   :set_aside  list of ids, the rows that are left out: none, or those that the database refused lately
--   :window  integer, at most so many due rows are read
--   :limit  integer, at most so many rows
-- Transaction: the claim's, at READ COMMITTED; before claim_write. Rows are the claim's after COMMIT only.
-- Locks: the rows it returns, until the commit.
-- Index: Job Queue_claim, and the primary key.
-- Runs: once per poll.
SELECT t.`Job No`, t.`class`, t.`Due`, t.`last error`, t.`reply-to`, LEAST(t.`tries`,
    2147483646) AS `tries`
FROM (
        (SELECT `Job No` AS candidate_id,
            `Due` AS candidate_1 FROM `Job Queue` FORCE INDEX (`Job Queue_claim`)
         WHERE `State` = 0 AND `Due` <= :now AND `Locked` IS NULL
             AND COALESCE(`Job No` NOT IN (:set_aside), TRUE)
         ORDER BY `Due`, `Job No` LIMIT :window)
        UNION ALL
        (SELECT `Job No` AS candidate_id,
            `Due` AS candidate_1 FROM `Job Queue` FORCE INDEX (`Job Queue_claim`)
         WHERE `State` = 0 AND `Due` <= :now AND `Locked` <= :now
             AND COALESCE(`Job No` NOT IN (:set_aside), TRUE)
         ORDER BY `Due`, `Job No` LIMIT :window)
        ORDER BY candidate_1, candidate_id LIMIT :window
    ) AS c
STRAIGHT_JOIN `Job Queue` AS t FORCE INDEX (PRIMARY) ON t.`Job No` = c.candidate_id
WHERE t.`State` = 0 AND t.`Due` <= :now AND (t.`Locked` IS NULL OR t.`Locked` <= :now)
ORDER BY c.candidate_1, c.candidate_id
LIMIT :limit
FOR UPDATE OF t SKIP LOCKED;

-- name: probe
-- Whether anything is due beyond the window of claim, which came back empty.
--   :now  datetime(6), UTC, the host's clock
--   :set_aside  list of ids, the rows that are left out: none, or those that the database refused lately
--   :window  integer, at most so many due rows are read
--   :last  integer, the size of the window that was looked at
-- Transaction: the claim's, after claim.
-- Locks: none.
-- Index: Job Queue_claim
-- Runs: after a claim that brought nothing.
SELECT 1 FROM (
        (SELECT `Job No` AS candidate_id,
            `Due` AS candidate_1 FROM `Job Queue` FORCE INDEX (`Job Queue_claim`)
         WHERE `State` = 0 AND `Due` <= :now AND `Locked` IS NULL
             AND COALESCE(`Job No` NOT IN (:set_aside), TRUE)
         ORDER BY `Due`, `Job No` LIMIT :window)
        UNION ALL
        (SELECT `Job No` AS candidate_id,
            `Due` AS candidate_1 FROM `Job Queue` FORCE INDEX (`Job Queue_claim`)
         WHERE `State` = 0 AND `Due` <= :now AND `Locked` <= :now
             AND COALESCE(`Job No` NOT IN (:set_aside), TRUE)
         ORDER BY `Due`, `Job No` LIMIT :window)
        ORDER BY candidate_1, candidate_id LIMIT :window
    ) AS c
LIMIT 1 OFFSET :last;

-- name: claim_write
-- Writes the expiry into the rows the claim locked, and counts the attempt.
--   :locked_until  datetime(6), UTC, the new expiry: now + 120 s
--   :ids  list of ids
-- Transaction: the claim's; the last statement before COMMIT.
-- Locks: rows the claim holds already.
-- Index: the primary key.
-- Runs: once per claim that brought rows; where it is refused because of one row, again for each half of them.
UPDATE `Job Queue`
SET `Locked` = :locked_until, `tries` = LEAST(`tries`, 2147483646) + 1
WHERE `Job No` IN (:ids);

-- name: extend
-- Locks the deliveries in work whose rows still hold their token. A row that is locked is skipped, not waited for:
-- it is tried again. An outcome of a row that this statement has locked waits for the commit.
--   :ids  list of ids
--   :held  list of id, token and attempt
-- Transaction: its own, at READ COMMITTED; before extend_write.
-- Locks: the rows it returns, until the commit.
-- Index: the primary key.
-- Runs: every half lease.
SELECT `Job No` FROM `Job Queue` FORCE INDEX (PRIMARY)
WHERE `Job No` IN (:ids) AND (`Job No`, `Locked`, `tries`) IN (:held) AND `State` = 0
FOR UPDATE SKIP LOCKED;

-- name: extend_write
-- Moves their expiry.
--   :locked_until  datetime(6), UTC, the new expiry: now + 120 s
--   :ids  list of ids
--   :held  list of id, token and attempt
-- Transaction: that of extend, after it.
-- Locks: rows that extend holds already.
-- Index: the primary key.
-- Runs: every half lease.
UPDATE `Job Queue` FORCE INDEX (PRIMARY)
SET `Locked` = :locked_until
WHERE `Job No` IN (:ids) AND (`Job No`, `Locked`, `tries`) IN (:held) AND `State` = 0;

-- name: held
-- Reads which of the rows that extend left out still hold their token, or an expiry that was sent, and which of
-- the two. A row that does not come back is lost.
--   :ids  list of ids
--   :held  list of id, token and attempt
-- Transaction: that of extend.
-- Locks: none.
-- Index: the primary key.
-- Runs: when extend returned fewer rows than it was given.
SELECT `Job No`, `Locked` FROM `Job Queue` FORCE INDEX (PRIMARY)
WHERE `Job No` IN (:ids) AND (`Job No`, `Locked`, `tries`) IN (:held) AND `State` = 0;

-- name: release
-- Gives rows back at once that were handed out and not settled: the attempt stays counted. Rows that another claim holds are passed over.
--   :ids  list of ids
--   :held  list of id, token and attempt
-- Transaction: the caller's when one is open, else its own.
-- Locks: the rows of the lists, until the commit.
-- Index: the primary key.
-- Runs: when a claim's block is left; when a handler that ran on after its worker's end has ended.
UPDATE `Job Queue` FORCE INDEX (PRIMARY)
SET `Locked` = NULL
WHERE `Job No` IN (:ids) AND (`Job No`, `Locked`, `tries`) IN (:held) AND `State` = 0;

-- name: give_back
-- Gives rows back at once that a worker's stop, or a caller's decision, keeps from being settled, with their attempt.
--   :ids  list of ids
--   :held  list of id, token and attempt
-- Transaction: the caller's when one is open, else its own.
-- Locks: the rows of the lists, until the commit.
-- Index: the primary key.
-- Runs: when a worker stops, before a handler or once it has ended; on a release; when a claim's block is left, for what was not handed out.
UPDATE `Job Queue` FORCE INDEX (PRIMARY)
SET `Locked` = NULL, `tries` = `tries` - 1
WHERE `Job No` IN (:ids) AND (`Job No`, `Locked`, `tries`) IN (:held) AND `State` = 0;

-- name: shorten
-- Moves the expiry of rows nearer whose handlers run on after their worker's end, and gives their attempt back.
--   :soon  datetime(6), UTC, the new expiry: nearer than the one held
--   :ids  list of ids
--   :held  list of id, token and attempt
-- Transaction: its own, after extend, which locks them.
-- Locks: rows that extend holds already.
-- Index: the primary key.
-- Runs: when a worker ends whose handlers do not.
UPDATE `Job Queue` FORCE INDEX (PRIMARY)
SET `Locked` = :soon, `tries` = `tries` - 1
WHERE `Job No` IN (:ids) AND (`Job No`, `Locked`, `tries`) IN (:held) AND `State` = 0;

-- name: ack
-- Finishes the row: it stays, marked. No row: the lease is lost.
--   :now  datetime(6), UTC, the host's clock
--   :id  varchar(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_bin
--   :token  datetime(6), UTC, the expiry held
--   :sent  datetime(6), UTC, an expiry sent and not answered, or the token again
--   :attempt  integer, as the row holds it: one more than the delivery's
-- Transaction: the caller's when one is open, else its own.
-- Locks: one row, until the commit.
-- Index: the primary key.
-- Runs: once per delivery.
UPDATE `Job Queue` FORCE INDEX (PRIMARY)
SET `Done At` = :now, `State` = 1, `Locked` = NULL
WHERE `Job No` = :id AND `Locked` IN (:token, :sent) AND `tries` = :attempt AND `State` = 0;

-- name: retry
-- Makes the row due now, behind the rows that are due, or claimed at once if none are. No row: the lease is lost.
--   :now  datetime(6), UTC, the host's clock
--   :error  text or NULL, what went wrong
--   :id  varchar(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_bin
--   :token  datetime(6), UTC, the expiry held
--   :sent  datetime(6), UTC, an expiry sent and not answered, or the token again
--   :attempt  integer, as the row holds it: one more than the delivery's
-- Transaction: the caller's when one is open, else its own.
-- Locks: one row, until the commit.
-- Index: the primary key.
-- Runs: once per delivery that is retried.
UPDATE `Job Queue` FORCE INDEX (PRIMARY)
SET `Due` = :now, `Locked` = NULL, `last error` = :error
WHERE `Job No` = :id AND `Locked` IN (:token, :sent) AND `tries` = :attempt AND `State` = 0;

-- name: retry_after
-- Makes the row due at :due. No row: the lease is lost.
--   :due  datetime(6), UTC, when the row is due again
--   :error  text or NULL, what went wrong
--   :id  varchar(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_bin
--   :token  datetime(6), UTC, the expiry held
--   :sent  datetime(6), UTC, an expiry sent and not answered, or the token again
--   :attempt  integer, as the row holds it: one more than the delivery's
-- Transaction: the caller's when one is open, else its own.
-- Locks: one row, until the commit.
-- Index: the primary key.
-- Runs: once per delivery that is retried.
UPDATE `Job Queue` FORCE INDEX (PRIMARY)
SET `Due` = :due, `Locked` = NULL, `last error` = :error
WHERE `Job No` = :id AND `Locked` IN (:token, :sent) AND `tries` = :attempt AND `State` = 0;

-- name: dead_letter
-- Gives the row up: it stays, marked dead. No row: the lease is lost.
--   :now  datetime(6), UTC, the host's clock
--   :error  text or NULL, what went wrong
--   :reason  text, why the row is given up
--   :id  varchar(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_bin
--   :token  datetime(6), UTC, the expiry held
--   :sent  datetime(6), UTC, an expiry sent and not answered, or the token again
--   :attempt  integer, as the row holds it: one more than the delivery's
-- Transaction: the caller's when one is open, else its own.
-- Locks: one row, until the commit.
-- Index: the primary key.
-- Runs: once per dead letter.
UPDATE `Job Queue` FORCE INDEX (PRIMARY)
SET `Done At` = :now, `State` = 9, `Locked` = NULL, `last error` = COALESCE(:error, :reason)
WHERE `Job No` = :id AND `Locked` IN (:token, :sent) AND `tries` = :attempt AND `State` = 0;

-- name: enqueue
-- Adds one row.
--   :Job_No  varchar(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_bin
--   :class_  varchar(40)
--   :reply_to  varchar(200) or NULL
--   :due  datetime(6)
-- Transaction: the producer's; it never commits.
-- Locks: the new row, which nobody else sees before the commit; another insert of the same id waits for the commit.
-- Index: none.
-- Runs: once per row.
INSERT INTO `Job Queue` (`Job No`, `class`, `reply-to`, `tries`, `State`, `Due`)
VALUES (:Job_No, :class_, :reply_to, 1, 0, :due)
;

-- name: redrive_oldest
-- Lists up to :limit dead letters that can be brought back, the oldest first, for redrive.
--   :limit  integer, at most so many rows
-- Transaction: that of redrive, before it.
-- Locks: none.
-- Index: Job Queue_purge
-- Runs: when an operator brings dead letters back.
SELECT `Job No` FROM `Job Queue` FORCE INDEX (`Job Queue_purge`)
WHERE `State` = 9
ORDER BY `Done At`, `Job No`
LIMIT :limit;

-- name: redrive_lock
-- Locks those of the rows that are dead letters; one that is locked is passed over.
--   :ids  list of ids
-- Transaction: the caller's when one is open, else its own. Before redrive.
-- Locks: the rows it returns, until the commit.
-- Index: the primary key.
-- Runs: when an operator brings dead letters back.
SELECT t.`Job No` FROM `Job Queue` AS t FORCE INDEX (PRIMARY)
WHERE t.`Job No` IN (:ids) AND t.`State` = 9
ORDER BY t.`Job No`
FOR UPDATE OF t SKIP LOCKED;

-- name: redrive
-- Brings dead letters back: due now, from their first attempt.
--   :now  datetime(6), UTC, the host's clock
--   :ids  list of ids
-- Transaction: the same, after redrive_lock.
-- Locks: the rows, until the commit.
-- Index: the primary key.
-- Runs: when an operator brings dead letters back; where it is refused, again for each half.
UPDATE `Job Queue`
SET `State` = 0, `Done At` = NULL, `tries` = 1, `Due` = :now, `Locked` = NULL
WHERE `Job No` IN (:ids);

-- name: purge_oldest
-- Lists and locks up to :limit rows that were finished before :before, the oldest first.
--   :before  datetime(6), UTC, rows that were finished earlier
--   :limit  integer, at most so many rows
-- Transaction: its own; committed before the next page. Before purge.
-- Locks: the rows it returns, until the commit. A row that is locked is passed over.
-- Index: Job Queue_purge
-- Runs: first, when an operator or a timer purges.
SELECT t.`Job No`, t.`Done At` FROM `Job Queue` AS t FORCE INDEX (`Job Queue_purge`)
WHERE t.`Done At` < :before AND t.`State` = 1
ORDER BY t.`Done At`
LIMIT :limit
FOR UPDATE OF t SKIP LOCKED;

-- name: purge_next
-- Lists the next ones, from :since on. So a row that cannot be deleted does not hold up those after it.
--   :before  datetime(6), UTC, rows that were finished earlier
--   :since  datetime(6), UTC, when the last row of the page before was finished
--   :limit  integer, at most so many rows
-- Transaction: its own; committed before the next page. Before purge.
-- Locks: the rows it returns, until the commit. A row that is locked is passed over.
-- Index: Job Queue_purge
-- Runs: for each further page.
SELECT t.`Job No`, t.`Done At` FROM `Job Queue` AS t FORCE INDEX (`Job Queue_purge`)
WHERE t.`Done At` < :before AND t.`State` = 1 AND t.`Done At` >= :since
ORDER BY t.`Done At`
LIMIT :limit
FOR UPDATE OF t SKIP LOCKED;

-- name: purge
-- Deletes rows that were listed.
--   :ids  list of ids
-- Transaction: the same, after the list.
-- Locks: rows that are locked already; and what foreign keys and triggers need.
-- Index: the primary key.
-- Runs: once per page; where the database refuses it, again for each half, down to the rows that it refuses.
DELETE t FROM (
    SELECT `Job No` FROM `Job Queue`
    WHERE `Job No` IN (:ids)
    FOR UPDATE SKIP LOCKED
) AS c
STRAIGHT_JOIN `Job Queue` AS t FORCE INDEX (PRIMARY) ON t.`Job No` = c.`Job No`;

-- name: purge_left
-- Which of the rows are there still: a trigger can cancel a DELETE without an error.
--   :ids  list of ids
-- Transaction: the same, after purge.
-- Locks: none.
-- Index: the primary key.
-- Runs: when purge deleted fewer rows than it was given.
SELECT t.`Job No` FROM `Job Queue` AS t
WHERE t.`Job No` IN (:ids);

-- name: stats_due
-- Counts the due rows that hold no lease, and finds the oldest due time.
-- It looks at the first :most only; the last column says at how many.
--   :now  datetime(6), UTC, the host's clock
--   :most  integer, where counting stops
-- Transaction: any, or none.
-- Locks: none.
-- Index: Job Queue_claim
-- Runs: once per look at the table.
SELECT COUNT(*) AS due_rows,
    MIN(`Due`) AS oldest,
    COUNT(*) AS looked_at
FROM (
    SELECT `Due` FROM `Job Queue` FORCE INDEX (`Job Queue_claim`)
    WHERE `State` = 0 AND `Locked` IS NULL AND `Due` <= :now
    ORDER BY `Due`, `Job No` LIMIT :most
) AS looked;

-- name: stats_delayed
-- Counts the rows that are not due yet, as far as :most.
--   :now  datetime(6), UTC, the host's clock
--   :most  integer, where counting stops
-- Transaction: any, or none.
-- Locks: none.
-- Index: Job Queue_claim
-- Runs: once per look at the table.
SELECT COUNT(*) FROM (
    SELECT `Job No` FROM `Job Queue` FORCE INDEX (`Job Queue_claim`)
    WHERE `State` = 0 AND `Locked` IS NULL AND `Due` > :now
    ORDER BY `Due`, `Job No` LIMIT :most
) AS looked;

-- name: stats_leased
-- Counts the rows that hold a lease: in work, or due again because it ran out.
-- It looks at no more than :most, in no order; the last column says at how many.
-- So the oldest due time is known only where there are no more.
--   :now  datetime(6), UTC, the host's clock
--   :most  integer, where counting stops
-- Transaction: any, or none.
-- Locks: none.
-- Index: Job Queue_claim
-- Runs: once per look at the table.
SELECT COUNT(CASE WHEN `Locked` <= :now THEN 1 END) AS due_rows,
    COUNT(CASE WHEN `Locked` > :now THEN 1 END) AS rows_in_work,
    MIN(CASE WHEN `Locked` <= :now THEN `Due` END) AS oldest,
    COUNT(*) AS looked_at
FROM (
    SELECT `Locked`, `Due` FROM `Job Queue` FORCE INDEX (`Job Queue_claim`)
    WHERE `State` = 0 AND `Locked` IS NOT NULL
    LIMIT :most
) AS looked;

-- name: stats_dead
-- Counts the dead letters, as far as :most.
--   :most  integer, where counting stops
-- Transaction: any, or none.
-- Locks: none.
-- Index: Job Queue_purge
-- Runs: once per look at the table.
SELECT COUNT(*) FROM (
    SELECT `Job No` FROM `Job Queue` FORCE INDEX (`Job Queue_purge`)
    WHERE `State` = 9
    ORDER BY `Done At`, `Job No`
    LIMIT :most
) AS looked;
