-- From tables.toml: edit that and run `sqlclaimgen build`.
-- format 1 · form advisory lock · mysql

-- name: claim
-- Reads the first :window due rows, in claim order, finds the first whose key nobody holds, and locks the key.
-- The LIMITs are fences: no key is looked at in other rows, keys are tried one after another, and the first that
-- is won ends the statement with one lock held.
-- The lock's name is the key behind the database's name, or the SHA-256 of both where that is not short, plain and lower-case.
-- A NULL in the last column: GET_LOCK gave no answer.
--   :now  datetime(6), UTC, the host's clock
--   :set_aside  list of ids, the rows that are left out: none, or those that the database refused lately
--   :window  integer, at most so many due rows are read
-- Transaction: the claim's, at READ COMMITTED; before take.
-- Locks: one key, of the session: until unlock, whatever becomes of the transaction. No row.
-- Index: payouts_claim
-- Runs: once per poll, and again for each row that was settled meanwhile.
SELECT c.candidate_id, CAST(c.candidate_key AS BINARY), c.candidate_lock,
    IF(IS_USED_LOCK(c.candidate_lock) = CONNECTION_ID(), CONNECTION_ID(), NULL)
FROM (
    SELECT k.candidate_id, k.candidate_key,
        IF(CHAR_LENGTH(k.candidate_key) > 64 OR k.candidate_key REGEXP '[^a-z0-9_.-]',
        SHA2(k.candidate_key, 256), k.candidate_key) AS candidate_lock
    FROM (
        SELECT t.`id` AS candidate_id, CONCAT(CONVERT(DATABASE() USING utf8mb4),
            _utf8mb4'.accounts-',
            CONVERT(t.`account` USING utf8mb4)) COLLATE utf8mb4_bin AS candidate_key
        FROM `payouts` AS t FORCE INDEX (`payouts_claim`)
        WHERE t.`paid_at` IS NULL AND t.`due_at` <= :now AND COALESCE(t.`id` NOT IN (:set_aside),
            TRUE)
        ORDER BY t.`due_at`, t.`id`
        LIMIT :window
    ) AS k
    WHERE IS_FREE_LOCK(IF(CHAR_LENGTH(k.candidate_key) > 64 OR k.candidate_key REGEXP '[^a-z0-9_.-]',
        SHA2(k.candidate_key, 256), k.candidate_key)) = 1
    LIMIT :window
) AS c
WHERE COALESCE(GET_LOCK(c.candidate_lock, 0), 2) > 0
LIMIT 1;

-- name: probe
-- Tells the last row of the window of claim, which brought nothing. No row: nothing is due behind it.
--   :now  datetime(6), UTC, the host's clock
--   :set_aside  list of ids, the rows that are left out: none, or those that the database refused lately
--   :last  integer, the size of the window that was looked at
-- Transaction: the claim's, after claim.
-- Locks: none.
-- Index: payouts_claim
-- Runs: after a claim that brought nothing.
SELECT t.`due_at`, t.`id`
FROM `payouts` AS t FORCE INDEX (`payouts_claim`)
WHERE t.`paid_at` IS NULL AND t.`due_at` <= :now AND COALESCE(t.`id` NOT IN (:set_aside), TRUE)
ORDER BY t.`due_at`, t.`id`
LIMIT 1 OFFSET :last;

-- name: claim_further
-- As claim, in the next :window due rows: those behind the row that the last probe told.
-- The LIMITs are fences: no key is looked at in other rows, keys are tried one after another, and the first that
-- is won ends the statement with one lock held.
-- The lock's name is the key behind the database's name, or the SHA-256 of both where that is not short, plain and lower-case.
-- A NULL in the last column: GET_LOCK gave no answer.
--   :now  datetime(6), UTC, the host's clock
--   :set_aside  list of ids, the rows that are left out: none, or those that the database refused lately
--   :seen_value  datetime(6)
--   :seen_id  char(36) CHARACTER SET ascii COLLATE ascii_bin
--   :window  integer, at most so many due rows are read
-- Transaction: the claim's, at READ COMMITTED; before take.
-- Locks: one key, of the session: until unlock, whatever becomes of the transaction. No row.
-- Index: payouts_claim
-- Runs: where all keys before it are in use, a bounded number of times. The next claim goes on behind them.
SELECT c.candidate_id, CAST(c.candidate_key AS BINARY), c.candidate_lock,
    IF(IS_USED_LOCK(c.candidate_lock) = CONNECTION_ID(), CONNECTION_ID(), NULL)
FROM (
    SELECT k.candidate_id, k.candidate_key,
        IF(CHAR_LENGTH(k.candidate_key) > 64 OR k.candidate_key REGEXP '[^a-z0-9_.-]',
        SHA2(k.candidate_key, 256), k.candidate_key) AS candidate_lock
    FROM (
        SELECT tied.* FROM (
            SELECT t.`id` AS candidate_id, CONCAT(CONVERT(DATABASE() USING utf8mb4),
                _utf8mb4'.accounts-',
                CONVERT(t.`account` USING utf8mb4)) COLLATE utf8mb4_bin AS candidate_key
            FROM `payouts` AS t FORCE INDEX (`payouts_claim`)
            WHERE t.`paid_at` IS NULL AND t.`due_at` <= :now
                AND COALESCE(t.`id` NOT IN (:set_aside), TRUE)
                AND t.`due_at` >= :seen_value AND t.`due_at` <= :seen_value AND t.`id` > :seen_id
            ORDER BY t.`due_at`, t.`id`
            LIMIT :window
        ) AS tied
        UNION ALL
        SELECT later.* FROM (
            SELECT t.`id` AS candidate_id, CONCAT(CONVERT(DATABASE() USING utf8mb4),
                _utf8mb4'.accounts-',
                CONVERT(t.`account` USING utf8mb4)) COLLATE utf8mb4_bin AS candidate_key
            FROM `payouts` AS t FORCE INDEX (`payouts_claim`)
            WHERE t.`paid_at` IS NULL AND t.`due_at` <= :now
                AND COALESCE(t.`id` NOT IN (:set_aside), TRUE)
                AND t.`due_at` > :seen_value
            ORDER BY t.`due_at`, t.`id`
            LIMIT :window
        ) AS later
        LIMIT :window
    ) AS k
    WHERE IS_FREE_LOCK(IF(CHAR_LENGTH(k.candidate_key) > 64 OR k.candidate_key REGEXP '[^a-z0-9_.-]',
        SHA2(k.candidate_key, 256), k.candidate_key)) = 1
    LIMIT :window
) AS c
WHERE COALESCE(GET_LOCK(c.candidate_lock, 0), 2) > 0
LIMIT 1;

-- name: probe_further
-- Tells the last row of the window of claim_further, which brought nothing. No row: nothing is due behind it.
--   :now  datetime(6), UTC, the host's clock
--   :set_aside  list of ids, the rows that are left out: none, or those that the database refused lately
--   :seen_value  datetime(6)
--   :seen_id  char(36) CHARACTER SET ascii COLLATE ascii_bin
--   :window  integer, at most so many due rows are read
--   :last  integer, the size of the window that was looked at
-- Transaction: the claim's, after claim_further.
-- Locks: none.
-- Index: payouts_claim
-- Runs: after a claim_further that brought nothing.
SELECT tied.* FROM (
    SELECT t.`due_at`, t.`id`
    FROM `payouts` AS t FORCE INDEX (`payouts_claim`)
    WHERE t.`paid_at` IS NULL AND t.`due_at` <= :now AND COALESCE(t.`id` NOT IN (:set_aside), TRUE)
        AND t.`due_at` >= :seen_value AND t.`due_at` <= :seen_value AND t.`id` > :seen_id
    ORDER BY t.`due_at`, t.`id`
    LIMIT :window
) AS tied
UNION ALL
SELECT later.* FROM (
    SELECT t.`due_at`, t.`id`
    FROM `payouts` AS t FORCE INDEX (`payouts_claim`)
    WHERE t.`paid_at` IS NULL AND t.`due_at` <= :now AND COALESCE(t.`id` NOT IN (:set_aside), TRUE)
        AND t.`due_at` > :seen_value
    ORDER BY t.`due_at`, t.`id`
    LIMIT :window
) AS later
LIMIT 1 OFFSET :last;

-- name: take
-- Reads the row again, now that its key is held. No row: it was settled meanwhile.
--   :id  char(36) CHARACTER SET ascii COLLATE ascii_bin
--   :now  datetime(6), UTC, the host's clock
--   :key_text  text, the key that the claim found
-- Transaction: the claim's, after claim and before take_write. A locking read: it sees what the key's last holder committed.
-- Locks: the row, until the commit.
-- Index: the primary key.
-- Runs: once per key that is won.
SELECT t.`id`, t.`account`, t.`due_at`, t.`last_error`, t.`amount`, t.`currency`, LEAST(t.`attempt`,
    2147483646) AS `attempt` FROM `payouts` AS t
WHERE t.`id` = :id AND t.`paid_at` IS NULL AND t.`due_at` <= :now
    AND CAST(CONCAT(CONVERT(DATABASE() USING utf8mb4), _utf8mb4'.accounts-',
        CONVERT(t.`account` USING utf8mb4)) COLLATE utf8mb4_bin AS BINARY) = :key_text
FOR UPDATE;

-- name: take_write
-- Counts the attempt of the row that was taken.
--   :id  char(36) CHARACTER SET ascii COLLATE ascii_bin
-- Transaction: the claim's; the last statement before COMMIT.
-- Locks: the row, held already.
-- Index: the primary key.
-- Runs: once per row that is taken.
UPDATE `payouts`
SET `attempt` = LEAST(`attempt`, 2147483646) + 1
WHERE `id` = :id;

-- name: give_back
-- Gives the attempt of a row back whose handler never started. No row: the claim is lost.
--   :id  char(36) CHARACTER SET ascii COLLATE ascii_bin
--   :attempt  integer, as the row holds it: one more than the delivery's
--   :lock_name  text, what the claim locked: the third column of its answer
-- Transaction: its own, on the claim's connection, before its key is free.
-- Locks: one row, until the commit.
-- Index: the primary key.
-- Runs: when a claim's block is left, or a worker stops, before the handler.
UPDATE `payouts`
SET `attempt` = `attempt` - 1
WHERE `id` = :id AND `attempt` = :attempt AND IS_USED_LOCK(:lock_name) = CONNECTION_ID()
    AND `paid_at` IS NULL;

-- name: unlock
-- Gives the key back. Anything but 1: the lock is not this session's, and the connection is closed.
--   :lock_name  text, what the claim locked: the third column of its answer
-- Transaction: its own, after the settlement's COMMIT; or the claim's, for a row that was settled meanwhile.
-- Locks: none; it ends the key's.
-- Index: none.
-- Runs: once per key that was won.
SELECT RELEASE_LOCK(:lock_name);

-- name: ack
-- Finishes the row: it stays, marked. No row: the claim is lost.
--   :now  datetime(6), UTC, the host's clock
--   :id  char(36) CHARACTER SET ascii COLLATE ascii_bin
--   :attempt  integer, as the row holds it: one more than the delivery's
--   :lock_name  text, what the claim locked: the third column of its answer
-- Transaction: the caller's when one is open, else its own; on the claim's connection, before its key is free.
-- Locks: one row, until the commit.
-- Index: the primary key.
-- Runs: once per delivery.
UPDATE `payouts` FORCE INDEX (PRIMARY)
SET `paid_at` = :now
WHERE `id` = :id AND `attempt` = :attempt AND IS_USED_LOCK(:lock_name) = CONNECTION_ID()
    AND `paid_at` IS NULL;

-- name: retry
-- Makes the row due now, behind the rows that are due, or claimed at once if none are. No row: the claim is lost.
--   :now  datetime(6), UTC, the host's clock
--   :error  text or NULL, what went wrong
--   :id  char(36) CHARACTER SET ascii COLLATE ascii_bin
--   :attempt  integer, as the row holds it: one more than the delivery's
--   :lock_name  text, what the claim locked: the third column of its answer
-- Transaction: the caller's when one is open, else its own; on the claim's connection, before its key is free.
-- Locks: one row, until the commit.
-- Index: the primary key.
-- Runs: once per delivery that is retried.
UPDATE `payouts` FORCE INDEX (PRIMARY)
SET `due_at` = :now, `last_error` = :error
WHERE `id` = :id AND `attempt` = :attempt AND IS_USED_LOCK(:lock_name) = CONNECTION_ID()
    AND `paid_at` IS NULL;

-- name: retry_after
-- Makes the row due at :due. No row: the claim is lost.
--   :due  datetime(6), UTC, when the row is due again
--   :error  text or NULL, what went wrong
--   :id  char(36) CHARACTER SET ascii COLLATE ascii_bin
--   :attempt  integer, as the row holds it: one more than the delivery's
--   :lock_name  text, what the claim locked: the third column of its answer
-- Transaction: the caller's when one is open, else its own; on the claim's connection, before its key is free.
-- Locks: one row, until the commit.
-- Index: the primary key.
-- Runs: once per delivery that is retried.
UPDATE `payouts` FORCE INDEX (PRIMARY)
SET `due_at` = :due, `last_error` = :error
WHERE `id` = :id AND `attempt` = :attempt AND IS_USED_LOCK(:lock_name) = CONNECTION_ID()
    AND `paid_at` IS NULL;

-- name: dead_letter
-- Copies the row into the dead-letter table. An older one of the same id is replaced. No row: the claim is lost.
--   :reason  text, why the row is given up
--   :error  text or NULL, what went wrong
--   :now  datetime(6), UTC, the host's clock
--   :id  char(36) CHARACTER SET ascii COLLATE ascii_bin
--   :attempt  integer, as the row holds it: one more than the delivery's
--   :lock_name  text, what the claim locked: the third column of its answer
-- Transaction: the caller's when one is open, else its own; on the claim's connection, before its key is free. First of two statements; dead_letter_remove is the second.
-- Locks: one row, until the commit.
-- Index: the primary key.
-- Runs: once per dead letter.
INSERT INTO `payouts_failed` (`id`, `account`, `due_at`, `attempt`, `paid_at`, `last_error`,
    `amount`, `currency`, `reason`, `error`, `failed_at`)
SELECT `id`, `account`, `due_at`, `attempt` - 1, `paid_at`, `last_error`, `amount`, `currency`,
    :reason, :error, :now
FROM `payouts` FORCE INDEX (PRIMARY)
WHERE `id` = :id AND `attempt` = :attempt AND IS_USED_LOCK(:lock_name) = CONNECTION_ID()
    AND `paid_at` IS NULL
FOR UPDATE
ON DUPLICATE KEY UPDATE `account` = VALUES(`account`), `due_at` = VALUES(`due_at`),
    `attempt` = VALUES(`attempt`), `paid_at` = VALUES(`paid_at`),
    `last_error` = VALUES(`last_error`), `amount` = VALUES(`amount`),
    `currency` = VALUES(`currency`), `reason` = VALUES(`reason`), `error` = VALUES(`error`),
    `failed_at` = VALUES(`failed_at`);

-- name: dead_letter_remove
-- Removes the row that dead_letter copied.
--   :id  char(36) CHARACTER SET ascii COLLATE ascii_bin
--   :attempt  integer, as the row holds it: one more than the delivery's
--   :lock_name  text, what the claim locked: the third column of its answer
-- Transaction: the same. Second of two statements.
-- Locks: the row, held already.
-- Index: the primary key.
-- Runs: once per dead letter.
DELETE settled FROM `payouts` AS settled FORCE INDEX (PRIMARY)
WHERE `id` = :id AND `attempt` = :attempt AND IS_USED_LOCK(:lock_name) = CONNECTION_ID()
    AND `paid_at` IS NULL;

-- name: present
-- Whether the row is still this delivery's: an update that writes what the row holds already may count no row.
--   :id  char(36) CHARACTER SET ascii COLLATE ascii_bin
--   :attempt  integer, as the row holds it: one more than the delivery's
--   :lock_name  text, what the claim locked: the third column of its answer
-- Transaction: the settlement's, after retry or retry_after.
-- Locks: the row, held already.
-- Index: the primary key.
-- Runs: after a retry that counted no row.
SELECT `id` FROM `payouts`
WHERE `id` = :id AND `attempt` = :attempt AND IS_USED_LOCK(:lock_name) = CONNECTION_ID()
    AND `paid_at` IS NULL
FOR UPDATE;

-- name: enqueue
-- Adds one row.
--   :id  char(36) CHARACTER SET ascii COLLATE ascii_bin
--   :account  varchar(34) CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_bin
--   :amount  decimal(12,2)
--   :currency  varchar(3)
--   :due_at  datetime(6)
-- Transaction: the producer's; it never commits.
-- Locks: the new row, which nobody else sees before the commit; another insert of the same id waits for the commit.
-- Index: none.
-- Runs: once per row.
INSERT INTO `payouts` (`id`, `account`, `amount`, `currency`, `attempt`, `due_at`)
VALUES (:id, :account, :amount, :currency, 1, :due_at)
;

-- name: redrive_oldest
-- Lists up to :limit dead letters that can be brought back, the oldest first, for redrive.
-- A subselect per row, not NOT EXISTS: that may become a join that reads both tables through.
--   :limit  integer, at most so many rows
-- Transaction: that of redrive, before it.
-- Locks: none.
-- Index: payouts_failed_oldest
-- Runs: when an operator brings dead letters back.
SELECT d.`id` FROM `payouts_failed` AS d FORCE INDEX (`payouts_failed_oldest`)
WHERE (SELECT 1 FROM `payouts` AS q WHERE q.`id` = d.`id` LIMIT 1) IS NULL
ORDER BY d.`failed_at`, d.`id`
LIMIT :limit;

-- name: redrive_lock
-- Locks those of the rows that are dead letters.
--   :ids  list of ids
-- Transaction: the caller's when one is open, else its own. Before redrive.
-- Locks: the rows it returns, until the commit.
-- Index: the primary key.
-- Runs: when an operator brings dead letters back.
SELECT t.`id` FROM `payouts_failed` AS t FORCE INDEX (PRIMARY)
WHERE t.`id` IN (:ids)
ORDER BY t.`id`
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
INSERT INTO `payouts` (`id`, `account`, `due_at`, `attempt`, `paid_at`, `last_error`, `amount`,
    `currency`)
SELECT d.`id`, d.`account`, :now, 1, NULL, d.`last_error`, d.`amount`, COALESCE(d.`currency`, 'EUR')
FROM `payouts_failed` AS d
WHERE d.`id` IN (:ids)
FOR UPDATE;

-- name: redrive_remove
-- Removes the dead letters that redrive brought back.
--   :ids  list of ids
-- Transaction: the same, after redrive.
-- Locks: rows that redrive_lock holds already.
-- Index: the primary key of the dead-letter table.
-- Runs: when an operator brings dead letters back.
DELETE t FROM (
    SELECT `id` FROM `payouts_failed`
    WHERE `id` IN (:ids)
    FOR UPDATE SKIP LOCKED
) AS c
STRAIGHT_JOIN `payouts_failed` AS t FORCE INDEX (PRIMARY) ON t.`id` = c.`id`;

-- name: purge_oldest
-- Lists and locks up to :limit rows that were finished before :before, the oldest first.
--   :before  datetime(6), UTC, rows that were finished earlier
--   :limit  integer, at most so many rows
-- Transaction: its own; committed before the next page. Before purge.
-- Locks: the rows it returns, until the commit. A row that is locked is passed over.
-- Index: payouts_claim
-- Runs: first, when an operator or a timer purges.
SELECT t.`id`, t.`paid_at` FROM `payouts` AS t FORCE INDEX (`payouts_claim`)
WHERE t.`paid_at` < :before
ORDER BY t.`paid_at`
LIMIT :limit
FOR UPDATE OF t SKIP LOCKED;

-- name: purge_next
-- Lists the next ones, from :since on. So a row that cannot be deleted does not hold up those after it.
--   :before  datetime(6), UTC, rows that were finished earlier
--   :since  datetime(6), UTC, when the last row of the page before was finished
--   :limit  integer, at most so many rows
-- Transaction: its own; committed before the next page. Before purge.
-- Locks: the rows it returns, until the commit. A row that is locked is passed over.
-- Index: payouts_claim
-- Runs: for each further page.
SELECT t.`id`, t.`paid_at` FROM `payouts` AS t FORCE INDEX (`payouts_claim`)
WHERE t.`paid_at` < :before AND t.`paid_at` >= :since
ORDER BY t.`paid_at`
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
    SELECT `id` FROM `payouts`
    WHERE `id` IN (:ids)
    FOR UPDATE SKIP LOCKED
) AS c
STRAIGHT_JOIN `payouts` AS t FORCE INDEX (PRIMARY) ON t.`id` = c.`id`;

-- name: purge_left
-- Which of the rows are there still: a trigger can cancel a DELETE without an error.
--   :ids  list of ids
-- Transaction: the same, after purge.
-- Locks: none.
-- Index: the primary key.
-- Runs: when purge deleted fewer rows than it was given.
SELECT t.`id` FROM `payouts` AS t
WHERE t.`id` IN (:ids);

-- name: stats_due
-- Counts the rows that are due, and finds the oldest due time.
-- A row in work counts as due: nothing is written into it that tells.
-- It looks at the first :most rows whose time has come only; the last column says at how many.
--   :now  datetime(6), UTC, the host's clock
--   :most  integer, where counting stops
-- Transaction: any, or none.
-- Locks: none.
-- Index: payouts_claim
-- Runs: once per look at the table.
SELECT COUNT(*) AS due_rows,
    MIN(`due_at`) AS oldest,
    COUNT(*) AS looked_at
FROM (
    SELECT `id`, `due_at` FROM `payouts` FORCE INDEX (`payouts_claim`)
    WHERE `paid_at` IS NULL AND `due_at` <= :now
    ORDER BY `due_at`, `id` LIMIT :most
) AS looked;

-- name: stats_delayed
-- Counts the rows that are not due yet, as far as :most.
--   :now  datetime(6), UTC, the host's clock
--   :most  integer, where counting stops
-- Transaction: any, or none.
-- Locks: none.
-- Index: payouts_claim
-- Runs: once per look at the table.
SELECT COUNT(*) FROM (
    SELECT `id` FROM `payouts` FORCE INDEX (`payouts_claim`)
    WHERE `paid_at` IS NULL AND `due_at` > :now
    ORDER BY `due_at`, `id` LIMIT :most
) AS looked;

-- name: stats_dead
-- Counts the dead letters, as far as :most.
--   :most  integer, where counting stops
-- Transaction: any, or none.
-- Locks: none.
-- Index: any of the dead-letter table, or none: it stops at :most rows
-- Runs: once per look at the table.
SELECT COUNT(*) FROM (SELECT `id` FROM `payouts_failed` LIMIT :most) AS looked;
