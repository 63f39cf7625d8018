-- From tables.toml: edit that and run `sqlclaimgen build`.
-- format 1 · form lease · mariadb

-- name: claim
-- Takes up to :limit due rows of one group, in claim order. Candidates are read without locks, a window of
-- them, and locked by id with the condition again: so no row is locked that is not taken.
--   :group  varchar(80) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin
--   :now  datetime(6), UTC, the host's clock
--   :set_aside  list of ids, the rows that are left out: none, or those that the database refused lately
--   :window  integer, at most so many due rows are read
--   :limit  integer, at most so many rows
-- Transaction: the claim's, at READ COMMITTED; before claim_write. Rows are the claim's after COMMIT only.
-- Locks: the rows it returns, until the commit.
-- Index: calls_claim, and the primary key.
-- Runs: once per poll.
SELECT t.`id`, t.`target`, t.`due`, t.`error`, t.`headers`, t.`body`, LEAST(t.`attempt`,
    2147483646) AS `attempt`
FROM (
        (SELECT `id` AS candidate_id,
            `due` AS candidate_1 FROM `hooks`.`calls` FORCE INDEX (`calls_claim`)
         WHERE `target` = :group AND `due` <= :now AND `held_until` IS NULL
             AND COALESCE(`id` NOT IN (:set_aside), TRUE)
         ORDER BY `due`, `id` LIMIT :window)
        UNION ALL
        (SELECT `id` AS candidate_id,
            `due` AS candidate_1 FROM `hooks`.`calls` FORCE INDEX (`calls_claim`)
         WHERE `target` = :group AND `due` <= :now AND `held_until` <= :now
             AND COALESCE(`id` NOT IN (:set_aside), TRUE)
         ORDER BY `due`, `id` LIMIT :window)
        ORDER BY candidate_1, candidate_id LIMIT :window
    ) AS c
STRAIGHT_JOIN `hooks`.`calls` AS t FORCE INDEX (PRIMARY) ON t.`id` = c.candidate_id
WHERE t.`target` = :group AND t.`due` <= :now AND (t.`held_until` IS NULL OR t.`held_until` <= :now)
ORDER BY c.candidate_1, c.candidate_id
LIMIT :limit
FOR UPDATE SKIP LOCKED;

-- name: probe
-- Whether anything is due beyond the window of claim, which came back empty.
--   :group  varchar(80) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin
--   :now  datetime(6), UTC, the host's clock
--   :set_aside  list of ids, the rows that are left out: none, or those that the database refused lately
--   :window  integer, at most so many due rows are read
--   :last  integer, the size of the window that was looked at
-- Transaction: the claim's, after claim.
-- Locks: none.
-- Index: calls_claim
-- Runs: after a claim that brought nothing.
SELECT 1 FROM (
        (SELECT `id` AS candidate_id,
            `due` AS candidate_1 FROM `hooks`.`calls` FORCE INDEX (`calls_claim`)
         WHERE `target` = :group AND `due` <= :now AND `held_until` IS NULL
             AND COALESCE(`id` NOT IN (:set_aside), TRUE)
         ORDER BY `due`, `id` LIMIT :window)
        UNION ALL
        (SELECT `id` AS candidate_id,
            `due` AS candidate_1 FROM `hooks`.`calls` FORCE INDEX (`calls_claim`)
         WHERE `target` = :group AND `due` <= :now AND `held_until` <= :now
             AND COALESCE(`id` NOT IN (:set_aside), TRUE)
         ORDER BY `due`, `id` LIMIT :window)
        ORDER BY candidate_1, candidate_id LIMIT :window
    ) AS c
LIMIT 1 OFFSET :last;

-- name: claim_write
-- Writes the expiry into the rows the claim locked, and counts the attempt.
--   :locked_until  datetime(6), UTC, the new expiry: now + 20 s
--   :ids  list of ids
-- Transaction: the claim's; the last statement before COMMIT.
-- Locks: rows the claim holds already.
-- Index: the primary key.
-- Runs: once per claim that brought rows; where it is refused because of one row, again for each half of them.
UPDATE `hooks`.`calls`
SET `held_until` = :locked_until, `attempt` = LEAST(`attempt`, 2147483646) + 1
WHERE `id` IN (:ids);

-- name: extend
-- Locks the deliveries in work whose rows still hold their token. A row that is locked is skipped, not waited for:
-- it is tried again. An outcome of a row that this statement has locked waits for the commit.
--   :ids  list of ids
--   :held  list of id, token and attempt
-- Transaction: its own, at READ COMMITTED; before extend_write.
-- Locks: the rows it returns, until the commit.
-- Index: the primary key.
-- Runs: every half lease.
SELECT `id` FROM `hooks`.`calls` FORCE INDEX (PRIMARY)
WHERE `id` IN (:ids) AND (`id`, `held_until`, `attempt`) IN (:held)
FOR UPDATE SKIP LOCKED;

-- name: extend_write
-- Moves their expiry.
--   :locked_until  datetime(6), UTC, the new expiry: now + 20 s
--   :ids  list of ids
--   :held  list of id, token and attempt
-- Transaction: that of extend, after it.
-- Locks: rows that extend holds already.
-- Index: the primary key.
-- Runs: every half lease.
UPDATE `hooks`.`calls` FORCE INDEX (PRIMARY)
SET `held_until` = :locked_until
WHERE `id` IN (:ids) AND (`id`, `held_until`, `attempt`) IN (:held);

-- name: held
-- Reads which of the rows that extend left out still hold their token, or an expiry that was sent, and which of
-- the two. A row that does not come back is lost.
--   :ids  list of ids
--   :held  list of id, token and attempt
-- Transaction: that of extend.
-- Locks: none.
-- Index: the primary key.
-- Runs: when extend returned fewer rows than it was given.
SELECT `id`, `held_until` FROM `hooks`.`calls` FORCE INDEX (PRIMARY)
WHERE `id` IN (:ids) AND (`id`, `held_until`, `attempt`) IN (:held);

-- name: release
-- Gives rows back at once that were handed out and not settled: the attempt stays counted. Rows that another claim holds are passed over.
--   :ids  list of ids
--   :held  list of id, token and attempt
-- Transaction: the caller's when one is open, else its own.
-- Locks: the rows of the lists, until the commit.
-- Index: the primary key.
-- Runs: when a claim's block is left; when a handler that ran on after its worker's end has ended.
UPDATE `hooks`.`calls` FORCE INDEX (PRIMARY)
SET `held_until` = NULL
WHERE `id` IN (:ids) AND (`id`, `held_until`, `attempt`) IN (:held);

-- name: give_back
-- Gives rows back at once that a worker's stop, or a caller's decision, keeps from being settled, with their attempt.
--   :ids  list of ids
--   :held  list of id, token and attempt
-- Transaction: the caller's when one is open, else its own.
-- Locks: the rows of the lists, until the commit.
-- Index: the primary key.
-- Runs: when a worker stops, before a handler or once it has ended; on a release; when a claim's block is left, for what was not handed out.
UPDATE `hooks`.`calls` FORCE INDEX (PRIMARY)
SET `held_until` = NULL, `attempt` = `attempt` - 1
WHERE `id` IN (:ids) AND (`id`, `held_until`, `attempt`) IN (:held);

-- name: shorten
-- Moves the expiry of rows nearer whose handlers run on after their worker's end, and gives their attempt back.
--   :soon  datetime(6), UTC, the new expiry: nearer than the one held
--   :ids  list of ids
--   :held  list of id, token and attempt
-- Transaction: its own, after extend, which locks them.
-- Locks: rows that extend holds already.
-- Index: the primary key.
-- Runs: when a worker ends whose handlers do not.
UPDATE `hooks`.`calls` FORCE INDEX (PRIMARY)
SET `held_until` = :soon, `attempt` = `attempt` - 1
WHERE `id` IN (:ids) AND (`id`, `held_until`, `attempt`) IN (:held);

-- name: ack
-- Finishes the row: it is deleted. No row: the lease is lost.
--   :id  bigint
--   :token  datetime(6), UTC, the expiry held
--   :sent  datetime(6), UTC, an expiry sent and not answered, or the token again
--   :attempt  integer, as the row holds it: one more than the delivery's
-- Transaction: the caller's when one is open, else its own.
-- Locks: one row, until the commit.
-- Index: the primary key.
-- Runs: once per delivery.
DELETE settled FROM `hooks`.`calls` AS settled FORCE INDEX (PRIMARY)
WHERE `id` = :id AND `held_until` IN (:token, :sent) AND `attempt` = :attempt;

-- name: retry
-- Makes the row due now, behind the rows that are due, or claimed at once if none are. No row: the lease is lost.
--   :now  datetime(6), UTC, the host's clock
--   :error  text or NULL, what went wrong
--   :id  bigint
--   :token  datetime(6), UTC, the expiry held
--   :sent  datetime(6), UTC, an expiry sent and not answered, or the token again
--   :attempt  integer, as the row holds it: one more than the delivery's
-- Transaction: the caller's when one is open, else its own.
-- Locks: one row, until the commit.
-- Index: the primary key.
-- Runs: once per delivery that is retried.
UPDATE `hooks`.`calls` FORCE INDEX (PRIMARY)
SET `due` = :now, `held_until` = NULL, `error` = :error
WHERE `id` = :id AND `held_until` IN (:token, :sent) AND `attempt` = :attempt;

-- name: retry_after
-- Makes the row due at :due. No row: the lease is lost.
--   :due  datetime(6), UTC, when the row is due again
--   :error  text or NULL, what went wrong
--   :id  bigint
--   :token  datetime(6), UTC, the expiry held
--   :sent  datetime(6), UTC, an expiry sent and not answered, or the token again
--   :attempt  integer, as the row holds it: one more than the delivery's
-- Transaction: the caller's when one is open, else its own.
-- Locks: one row, until the commit.
-- Index: the primary key.
-- Runs: once per delivery that is retried.
UPDATE `hooks`.`calls` FORCE INDEX (PRIMARY)
SET `due` = :due, `held_until` = NULL, `error` = :error
WHERE `id` = :id AND `held_until` IN (:token, :sent) AND `attempt` = :attempt;

-- name: dead_letter
-- Moves the row to the group 'escalated', from its first attempt again. No row: the lease is lost.
--   :now  datetime(6), UTC, the host's clock
--   :error  text or NULL, what went wrong
--   :reason  text, why the row is given up
--   :id  bigint
--   :token  datetime(6), UTC, the expiry held
--   :sent  datetime(6), UTC, an expiry sent and not answered, or the token again
--   :attempt  integer, as the row holds it: one more than the delivery's
-- Transaction: the caller's when one is open, else its own.
-- Locks: one row, until the commit.
-- Index: the primary key.
-- Runs: once per dead letter.
UPDATE `hooks`.`calls` FORCE INDEX (PRIMARY)
SET `origin` = `target`, `target` = 'escalated', `attempt` = 1, `due` = :now, `held_until` = NULL,
    `error` = COALESCE(:error, :reason)
WHERE `id` = :id AND `held_until` IN (:token, :sent) AND `attempt` = :attempt;

-- name: enqueue
-- Adds one row.
--   :target  varchar(80) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin
--   :headers  json or NULL
--   :body  json
--   :due  datetime(6)
-- Transaction: the producer's; it never commits.
-- Locks: the new row, which nobody else sees before the commit.
-- Index: none.
-- Runs: once per row.
INSERT INTO `hooks`.`calls` (`target`, `headers`, `body`, `attempt`, `due`)
VALUES (:target, :headers, :body, 1, :due)
RETURNING `id`;

-- name: redrive_oldest
-- Lists up to :limit dead letters that can be brought back, the oldest first, for redrive.
--   :now  datetime(6), UTC, the host's clock
--   :limit  integer, at most so many rows
-- Transaction: that of redrive, before it.
-- Locks: none.
-- Index: calls_claim
-- Runs: when an operator brings dead letters back.
SELECT `id` FROM `hooks`.`calls` FORCE INDEX (`calls_claim`)
WHERE `target` = 'escalated' AND `origin` IS NOT NULL
    AND (`held_until` IS NULL OR `held_until` <= :now)
ORDER BY `due`, `id`
LIMIT :limit;

-- name: redrive_lock
-- Locks those of the rows that are dead letters; one that is locked is passed over.
--   :ids  list of ids
--   :now  datetime(6), UTC, the host's clock
-- Transaction: the caller's when one is open, else its own. Before redrive.
-- Locks: the rows it returns, until the commit.
-- Index: the primary key.
-- Runs: when an operator brings dead letters back.
SELECT t.`id` FROM `hooks`.`calls` AS t FORCE INDEX (PRIMARY)
WHERE t.`id` IN (:ids) AND t.`target` = 'escalated' AND t.`origin` IS NOT NULL
    AND (t.`held_until` IS NULL OR t.`held_until` <= :now)
ORDER BY t.`id`
FOR UPDATE SKIP LOCKED;

-- name: redrive
-- Brings dead letters back to the group they came from: due now, from their first attempt.
-- A row without origin stays: nothing says where it came from.
--   :now  datetime(6), UTC, the host's clock
--   :ids  list of ids
-- Transaction: the same, after redrive_lock.
-- Locks: the rows, until the commit.
-- Index: the primary key.
-- Runs: when an operator brings dead letters back; where it is refused, again for each half.
UPDATE `hooks`.`calls`
SET `target` = `origin`, `origin` = NULL, `attempt` = 1, `due` = :now, `held_until` = NULL
WHERE `id` IN (:ids);

-- name: stats_due
-- Counts the due rows of one group that hold no lease, and finds the oldest due time.
-- It looks at the first :most only; the last column says at how many.
--   :group  varchar(80) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin
--   :now  datetime(6), UTC, the host's clock
--   :most  integer, where counting stops
-- Transaction: any, or none.
-- Locks: none.
-- Index: calls_claim
-- Runs: once per look at the table.
SELECT COUNT(*) AS due_rows,
    MIN(`due`) AS oldest,
    COUNT(*) AS looked_at
FROM (
    SELECT `due` FROM `hooks`.`calls` FORCE INDEX (`calls_claim`)
    WHERE `target` = :group AND `held_until` IS NULL AND `due` <= :now
    ORDER BY `due`, `id` LIMIT :most
) AS looked;

-- name: stats_delayed
-- Counts the rows of one group that are not due yet, as far as :most.
--   :group  varchar(80) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin
--   :now  datetime(6), UTC, the host's clock
--   :most  integer, where counting stops
-- Transaction: any, or none.
-- Locks: none.
-- Index: calls_claim
-- Runs: once per look at the table.
SELECT COUNT(*) FROM (
    SELECT `id` FROM `hooks`.`calls` FORCE INDEX (`calls_claim`)
    WHERE `target` = :group AND `held_until` IS NULL AND `due` > :now
    ORDER BY `due`, `id` LIMIT :most
) AS looked;

-- name: stats_leased
-- Counts the rows of one group that hold a lease: in work, or due again because it ran out.
-- It looks at no more than :most, in no order; the last column says at how many.
-- So the oldest due time is known only where there are no more.
--   :now  datetime(6), UTC, the host's clock
--   :group  varchar(80) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin
--   :most  integer, where counting stops
-- Transaction: any, or none.
-- Locks: none.
-- Index: calls_claim
-- Runs: once per look at the table.
SELECT COUNT(CASE WHEN `held_until` <= :now THEN 1 END) AS due_rows,
    COUNT(CASE WHEN `held_until` > :now THEN 1 END) AS rows_in_work,
    MIN(CASE WHEN `held_until` <= :now THEN `due` END) AS oldest,
    COUNT(*) AS looked_at
FROM (
    SELECT `held_until`, `due` FROM `hooks`.`calls` FORCE INDEX (`calls_claim`)
    WHERE `target` = :group AND `held_until` IS NOT NULL
    LIMIT :most
) AS looked;

-- name: stats_dead
-- Counts the dead letters, as far as :most.
--   :most  integer, where counting stops
-- Transaction: any, or none.
-- Locks: none.
-- Index: calls_claim
-- Runs: once per look at the table.
SELECT COUNT(*) FROM (
    SELECT `id` FROM `hooks`.`calls` FORCE INDEX (`calls_claim`)
    WHERE `target` = 'escalated'
    LIMIT :most
) AS looked;
