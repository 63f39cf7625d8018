-- From tables.toml: edit that and run `sqlclaimgen build`.
-- format 1 · form lease · mariadb

-- name: walk_first
-- Looks at the groups from the first on, :window of them, and tells which have a head that can be claimed
-- and nothing in work; no group is beyond while :until is NULL.
--   :now  datetime(6), UTC, the host's clock
--   :set_aside  list of ids, the rows that are left out: none, or those that the database refused lately
--   :until  bigint
--   :window  integer, at most so many due rows are read
-- Transaction: the claim's, before guard: what it says is decided again by claim_table.
-- Locks: none.
-- Index: ledger_claim, ledger_work
-- Runs: once per circle through the groups.
SELECT seen.candidate_group,
    COALESCE((SELECT y.`book_after` <= :now AND COALESCE(y.`entry` NOT IN (:set_aside),
        TRUE) FROM `ledger` AS y FORCE INDEX (`ledger_claim`)
        WHERE y.`booked_at` IS NULL AND y.`account` = seen.candidate_group
        ORDER BY y.`account`, y.`entry` LIMIT 1), FALSE)
    AND NOT COALESCE((
        SELECT b.`locked_until` > :now FROM `ledger` AS b FORCE INDEX (`ledger_work`)
        WHERE b.`booked_at` IS NULL AND b.`account` = seen.candidate_group
        ORDER BY b.`account` DESC, b.`locked_until` DESC LIMIT 1
    ), FALSE) AS ready,
    COALESCE(seen.candidate_group > :until, FALSE) AS beyond
FROM (
    SELECT DISTINCT `booked_at`,
        `account` AS candidate_group FROM `ledger` FORCE INDEX (`ledger_claim`)
    WHERE `booked_at` IS NULL
    LIMIT :window
) AS seen
ORDER BY seen.candidate_group;

-- name: walk
-- Looks at the groups after :after, :window of them, as walk_first does; those after :until are beyond the
-- circle, which began there.
--   :now  datetime(6), UTC, the host's clock
--   :set_aside  list of ids, the rows that are left out: none, or those that the database refused lately
--   :until  bigint
--   :after  bigint
--   :window  integer, at most so many due rows are read
-- Transaction: the claim's, before guard: what it says is decided again by claim_table.
-- Locks: none.
-- Index: ledger_claim, ledger_work
-- Runs: once per poll, and again while groups are wanted.
SELECT seen.candidate_group,
    COALESCE((SELECT y.`book_after` <= :now AND COALESCE(y.`entry` NOT IN (:set_aside),
        TRUE) FROM `ledger` AS y FORCE INDEX (`ledger_claim`)
        WHERE y.`booked_at` IS NULL AND y.`account` = seen.candidate_group
        ORDER BY y.`account`, y.`entry` LIMIT 1), FALSE)
    AND NOT COALESCE((
        SELECT b.`locked_until` > :now FROM `ledger` AS b FORCE INDEX (`ledger_work`)
        WHERE b.`booked_at` IS NULL AND b.`account` = seen.candidate_group
        ORDER BY b.`account` DESC, b.`locked_until` DESC LIMIT 1
    ), FALSE) AS ready,
    COALESCE(seen.candidate_group > :until, FALSE) AS beyond
FROM (
    SELECT DISTINCT `booked_at`,
        `account` AS candidate_group FROM `ledger` FORCE INDEX (`ledger_claim`)
    WHERE `booked_at` IS NULL AND `account` > :after
    LIMIT :window
) AS seen
ORDER BY seen.candidate_group;

-- name: guard
-- Locks up to :limit of these groups against other claims, without waiting, and tells which: their places in
-- the list, and whether the lock is this session's. Its name is a hash of the schema, the table and the group.
-- What decides is a statement of its own after it: only what begins after the lock sees what its last holder
-- committed.
--   :group_list  text, a JSON list of groups
--   :limit  integer, at most so many rows
-- Transaction: the claim's, at READ COMMITTED; before claim and claim_table.
-- Locks: GET_LOCK, until guard_release.
-- Index: none.
-- Runs: once per poll, and again while groups are wanted.
SELECT g.place, IS_USED_LOCK(g.name) = CONNECTION_ID() AS held
FROM (
    SELECT place, SHA2(CONVERT(
        CONCAT(DATABASE(), '.ledger:', RTRIM(candidate_group))
        USING utf8mb4), 256) AS name
    FROM JSON_TABLE(:group_list, '$[*]' COLUMNS (
        place FOR ORDINALITY,
        candidate_group varchar(1000) CHARACTER SET utf8mb4 PATH '$' ERROR ON ERROR
    )) AS listed
) AS g
WHERE COALESCE(GET_LOCK(g.name, 0), -1) <> 0
LIMIT :limit;

-- name: guard_release
-- Unlocks these groups: 1 for each that was locked.
--   :group_list  text, a JSON list of groups
-- Transaction: none. After the COMMIT or ROLLBACK of the transaction that guard was in: GET_LOCK outlives it.
-- Locks: none.
-- Index: none.
-- Runs: once per poll that locked groups.
SELECT g.place, RELEASE_LOCK(g.name) AS released
FROM (
    SELECT place, SHA2(CONVERT(
        CONCAT(DATABASE(), '.ledger:', RTRIM(candidate_group))
        USING utf8mb4), 256) AS name
    FROM JSON_TABLE(:group_list, '$[*]' COLUMNS (
        place FOR ORDINALITY,
        candidate_group varchar(1000) CHARACTER SET utf8mb4 PATH '$' ERROR ON ERROR
    )) AS listed
) AS g;

-- name: claim
-- Takes the head of a group that guard granted.
-- The head is the first row, due or not: one that is not due holds its group.
-- It is chosen first and locked by id: SKIP LOCKED where it is chosen would hand out the row behind a locked head.
-- A group of which a row is in work yields nothing, whatever has come before that row since.
--   :group  bigint
--   :now  datetime(6), UTC, the host's clock
--   :set_aside  list of ids, the rows that are left out: none, or those that the database refused lately
-- Transaction: that of guard, at READ COMMITTED; after it and before claim_write. Rows are the claim's after COMMIT only.
-- Locks: the rows it returns, until the commit.
-- Index: ledger_claim, ledger_work and the primary key.
-- Runs: once per poll.
SELECT t.`entry`, t.`account`, t.`book_after`, t.`cents`, t.`text`, LEAST(t.`attempt`,
    2147483646) AS `attempt`
FROM (
        SELECT y.`entry` AS candidate_id FROM `ledger` AS y FORCE INDEX (`ledger_claim`)
        WHERE y.`booked_at` IS NULL AND y.`account` = :group
        ORDER BY y.`entry` LIMIT 1
) AS head
STRAIGHT_JOIN `ledger` AS t FORCE INDEX (PRIMARY) ON t.`entry` = head.candidate_id
WHERE t.`booked_at` IS NULL AND t.`book_after` <= :now AND COALESCE(t.`entry` NOT IN (:set_aside),
    TRUE) AND (t.`locked_until` IS NULL OR t.`locked_until` <= :now)
    AND NOT COALESCE((
        SELECT b.`locked_until` > :now FROM `ledger` AS b FORCE INDEX (`ledger_work`)
        WHERE b.`booked_at` IS NULL AND b.`account` = :group
        ORDER BY b.`locked_until` DESC LIMIT 1
    ), FALSE)
FOR UPDATE SKIP LOCKED;

-- name: claim_table
-- Takes the heads of the groups that guard granted.
-- The head is the first row, due or not: one that is not due holds its group.
-- It is chosen first and locked by id: SKIP LOCKED where it is chosen would hand out the row behind a locked head.
-- A group of which a row is in work yields nothing, whatever has come before that row since.
--   :groups  list of groups
--   :now  datetime(6), UTC, the host's clock
--   :set_aside  list of ids, the rows that are left out: none, or those that the database refused lately
-- Transaction: that of guard, at READ COMMITTED; after it and before claim_write. Rows are the claim's after COMMIT only.
-- Locks: the rows it returns, until the commit.
-- Index: ledger_claim, ledger_work and the primary key.
-- Runs: once per poll.
SELECT t.`entry`, t.`account`, t.`book_after`, t.`cents`, t.`text`, LEAST(t.`attempt`,
    2147483646) AS `attempt`
FROM (
    SELECT (SELECT y.`entry` FROM `ledger` AS y FORCE INDEX (`ledger_claim`)
        WHERE y.`booked_at` IS NULL AND y.`account` = g.candidate_group
        ORDER BY y.`account`, y.`entry` LIMIT 1) AS candidate_id
    FROM (
        SELECT DISTINCT `booked_at`,
            `account` AS candidate_group FROM `ledger` FORCE INDEX (`ledger_claim`)
        WHERE `booked_at` IS NULL AND `account` IN (:groups)
    ) AS g
    WHERE NOT COALESCE((
        SELECT b.`locked_until` > :now FROM `ledger` AS b FORCE INDEX (`ledger_work`)
        WHERE b.`booked_at` IS NULL AND b.`account` = g.candidate_group
        ORDER BY b.`account` DESC, b.`locked_until` DESC LIMIT 1
    ), FALSE)
) AS head
STRAIGHT_JOIN `ledger` AS t FORCE INDEX (PRIMARY) ON t.`entry` = head.candidate_id
WHERE t.`booked_at` IS NULL AND t.`book_after` <= :now AND COALESCE(t.`entry` NOT IN (:set_aside),
    TRUE) AND (t.`locked_until` IS NULL OR t.`locked_until` <= :now)
FOR UPDATE SKIP LOCKED;

-- name: claim_write
-- Writes the expiry into the rows the claim locked, and counts the attempt.
--   :locked_until  datetime(6), UTC, the new expiry: now + 30 s
--   :ids  list of ids
-- Transaction: the claim's; the last statement before COMMIT.
-- Locks: rows the claim holds already.
-- Index: the primary key.
-- Runs: once per claim that brought rows; where it is refused because of one row, again for each half of them.
UPDATE `ledger`
SET `locked_until` = :locked_until, `attempt` = LEAST(`attempt`, 2147483646) + 1
WHERE `entry` IN (:ids);

-- name: extend
-- Locks the deliveries in work whose rows still hold their token. A row that is locked is skipped, not waited for:
-- it is tried again. An outcome of a row that this statement has locked waits for the commit.
--   :ids  list of ids
--   :held  list of id, token and attempt
-- Transaction: its own, at READ COMMITTED; before extend_write.
-- Locks: the rows it returns, until the commit.
-- Index: the primary key.
-- Runs: every half lease.
SELECT `entry` FROM `ledger` FORCE INDEX (PRIMARY)
WHERE `entry` IN (:ids) AND (`entry`, `locked_until`, `attempt`) IN (:held) AND `booked_at` IS NULL
FOR UPDATE SKIP LOCKED;

-- name: extend_write
-- Moves their expiry.
--   :locked_until  datetime(6), UTC, the new expiry: now + 30 s
--   :ids  list of ids
--   :held  list of id, token and attempt
-- Transaction: that of extend, after it.
-- Locks: rows that extend holds already.
-- Index: the primary key.
-- Runs: every half lease.
UPDATE `ledger` FORCE INDEX (PRIMARY)
SET `locked_until` = :locked_until
WHERE `entry` IN (:ids) AND (`entry`, `locked_until`, `attempt`) IN (:held) AND `booked_at` IS NULL;

-- name: held
-- Reads which of the rows that extend left out still hold their token, or an expiry that was sent, and which of
-- the two. A row that does not come back is lost.
--   :ids  list of ids
--   :held  list of id, token and attempt
-- Transaction: that of extend.
-- Locks: none.
-- Index: the primary key.
-- Runs: when extend returned fewer rows than it was given.
SELECT `entry`, `locked_until` FROM `ledger` FORCE INDEX (PRIMARY)
WHERE `entry` IN (:ids) AND (`entry`, `locked_until`, `attempt`) IN (:held) AND `booked_at` IS NULL;

-- name: release
-- Gives rows back at once that were handed out and not settled: the attempt stays counted. Rows that another claim holds are passed over.
--   :ids  list of ids
--   :held  list of id, token and attempt
-- Transaction: the caller's when one is open, else its own.
-- Locks: the rows of the lists, until the commit.
-- Index: the primary key.
-- Runs: when a claim's block is left; when a handler that ran on after its worker's end has ended.
UPDATE `ledger` FORCE INDEX (PRIMARY)
SET `locked_until` = NULL
WHERE `entry` IN (:ids) AND (`entry`, `locked_until`, `attempt`) IN (:held) AND `booked_at` IS NULL;

-- name: give_back
-- Gives rows back at once that a worker's stop, or a caller's decision, keeps from being settled, with their attempt.
--   :ids  list of ids
--   :held  list of id, token and attempt
-- Transaction: the caller's when one is open, else its own.
-- Locks: the rows of the lists, until the commit.
-- Index: the primary key.
-- Runs: when a worker stops, before a handler or once it has ended; on a release; when a claim's block is left, for what was not handed out.
UPDATE `ledger` FORCE INDEX (PRIMARY)
SET `locked_until` = NULL, `attempt` = `attempt` - 1
WHERE `entry` IN (:ids) AND (`entry`, `locked_until`, `attempt`) IN (:held) AND `booked_at` IS NULL;

-- name: shorten
-- Moves the expiry of rows nearer whose handlers run on after their worker's end, and gives their attempt back.
--   :soon  datetime(6), UTC, the new expiry: nearer than the one held
--   :ids  list of ids
--   :held  list of id, token and attempt
-- Transaction: its own, after extend, which locks them.
-- Locks: rows that extend holds already.
-- Index: the primary key.
-- Runs: when a worker ends whose handlers do not.
UPDATE `ledger` FORCE INDEX (PRIMARY)
SET `locked_until` = :soon, `attempt` = `attempt` - 1
WHERE `entry` IN (:ids) AND (`entry`, `locked_until`, `attempt`) IN (:held) AND `booked_at` IS NULL;

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
UPDATE `ledger` FORCE INDEX (PRIMARY)
SET `booked_at` = :now, `locked_until` = NULL
WHERE `entry` = :id AND `locked_until` IN (:token, :sent) AND `attempt` = :attempt
    AND `booked_at` IS NULL;

-- name: retry
-- Makes the row due now, in its place: the next claim of its group takes it again. No row: the lease is lost.
--   :now  datetime(6), UTC, the host's clock
--   :id  bigint
--   :token  datetime(6), UTC, the expiry held
--   :sent  datetime(6), UTC, an expiry sent and not answered, or the token again
--   :attempt  integer, as the row holds it: one more than the delivery's
-- Transaction: the caller's when one is open, else its own.
-- Locks: one row, until the commit.
-- Index: the primary key.
-- Runs: once per delivery that is retried.
UPDATE `ledger` FORCE INDEX (PRIMARY)
SET `book_after` = :now, `locked_until` = NULL
WHERE `entry` = :id AND `locked_until` IN (:token, :sent) AND `attempt` = :attempt
    AND `booked_at` IS NULL;

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
UPDATE `ledger` FORCE INDEX (PRIMARY)
SET `book_after` = :due, `locked_until` = NULL
WHERE `entry` = :id AND `locked_until` IN (:token, :sent) AND `attempt` = :attempt
    AND `booked_at` IS NULL;

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
INSERT INTO `ledger_rejected` (`entry`, `account`, `book_after`, `attempt`, `locked_until`,
    `booked_at`, `cents`, `text`, `reason`, `error`, `died_at`)
SELECT `entry`, `account`, `book_after`, `attempt` - 1, NULL, `booked_at`, `cents`, `text`, :reason,
    :error, :now
FROM `ledger` FORCE INDEX (PRIMARY)
WHERE `entry` = :id AND `locked_until` IN (:token, :sent) AND `attempt` = :attempt
    AND `booked_at` IS NULL
FOR UPDATE
ON DUPLICATE KEY UPDATE `account` = VALUES(`account`), `book_after` = VALUES(`book_after`),
    `attempt` = VALUES(`attempt`), `locked_until` = VALUES(`locked_until`),
    `booked_at` = VALUES(`booked_at`), `cents` = VALUES(`cents`), `text` = VALUES(`text`),
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
DELETE settled FROM `ledger` AS settled FORCE INDEX (PRIMARY)
WHERE `entry` = :id AND `locked_until` IN (:token, :sent) AND `attempt` = :attempt
    AND `booked_at` IS NULL;

-- name: enqueue
-- Adds one row.
--   :account  bigint
--   :cents  bigint
--   :text  varchar(200)
--   :book_after  datetime(6)
-- Transaction: the producer's; it never commits.
-- Locks: the new row, which nobody else sees before the commit.
-- Index: none.
-- Runs: once per row.
INSERT INTO `ledger` (`account`, `cents`, `text`, `attempt`, `book_after`)
VALUES (:account, :cents, :text, 1, :book_after)
RETURNING `entry`;

-- name: redrive_oldest
-- Lists up to :limit dead letters that can be brought back, the oldest first, for redrive.
-- A subselect per row, not NOT EXISTS: that may become a join that reads both tables through.
--   :limit  integer, at most so many rows
-- Transaction: that of redrive, before it.
-- Locks: none.
-- Index: ledger_rejected_oldest
-- Runs: when an operator brings dead letters back.
SELECT d.`entry` FROM `ledger_rejected` AS d FORCE INDEX (`ledger_rejected_oldest`)
WHERE (SELECT 1 FROM `ledger` AS q WHERE q.`entry` = d.`entry` LIMIT 1) IS NULL
ORDER BY d.`died_at`, d.`entry`
LIMIT :limit;

-- name: redrive_lock
-- Locks those of the rows that are dead letters.
--   :ids  list of ids
-- Transaction: the caller's when one is open, else its own. Before redrive.
-- Locks: the rows it returns, until the commit.
-- Index: the primary key.
-- Runs: when an operator brings dead letters back.
SELECT t.`entry` FROM `ledger_rejected` AS t FORCE INDEX (PRIMARY)
WHERE t.`entry` IN (:ids)
ORDER BY t.`entry`
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
INSERT INTO `ledger` (`entry`, `account`, `book_after`, `attempt`, `locked_until`, `booked_at`,
    `cents`, `text`)
SELECT d.`entry`, d.`account`, :now, 1, NULL, NULL, d.`cents`, COALESCE(d.`text`, '')
FROM `ledger_rejected` AS d
WHERE d.`entry` IN (:ids)
FOR UPDATE;

-- name: redrive_remove
-- Removes the dead letters that redrive brought back.
--   :ids  list of ids
-- Transaction: the same, after redrive.
-- Locks: rows that redrive_lock holds already.
-- Index: the primary key of the dead-letter table.
-- Runs: when an operator brings dead letters back.
DELETE t FROM (
    SELECT `entry` FROM `ledger_rejected`
    WHERE `entry` IN (:ids)
    FOR UPDATE SKIP LOCKED
) AS c
STRAIGHT_JOIN `ledger_rejected` AS t FORCE INDEX (PRIMARY) ON t.`entry` = c.`entry`;

-- name: purge_oldest
-- Lists and locks up to :limit rows that were finished before :before, the oldest first.
--   :before  datetime(6), UTC, rows that were finished earlier
--   :limit  integer, at most so many rows
-- Transaction: its own; committed before the next page. Before purge.
-- Locks: the rows it returns, until the commit. A row that is locked is passed over.
-- Index: ledger_claim
-- Runs: first, when an operator or a timer purges.
SELECT t.`entry`, t.`booked_at` FROM `ledger` AS t FORCE INDEX (`ledger_claim`)
WHERE t.`booked_at` < :before
ORDER BY t.`booked_at`
LIMIT :limit
FOR UPDATE SKIP LOCKED;

-- name: purge_next
-- Lists the next ones, from :since on. So a row that cannot be deleted does not hold up those after it.
--   :before  datetime(6), UTC, rows that were finished earlier
--   :since  datetime(6), UTC, when the last row of the page before was finished
--   :limit  integer, at most so many rows
-- Transaction: its own; committed before the next page. Before purge.
-- Locks: the rows it returns, until the commit. A row that is locked is passed over.
-- Index: ledger_claim
-- Runs: for each further page.
SELECT t.`entry`, t.`booked_at` FROM `ledger` AS t FORCE INDEX (`ledger_claim`)
WHERE t.`booked_at` < :before AND t.`booked_at` >= :since
ORDER BY t.`booked_at`
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
    SELECT `entry` FROM `ledger`
    WHERE `entry` IN (:ids)
    FOR UPDATE SKIP LOCKED
) AS c
STRAIGHT_JOIN `ledger` AS t FORCE INDEX (PRIMARY) ON t.`entry` = c.`entry`;

-- name: purge_left
-- Which of the rows are there still: a trigger can cancel a DELETE without an error.
--   :ids  list of ids
-- Transaction: the same, after purge.
-- Locks: none.
-- Index: the primary key.
-- Runs: when purge deleted fewer rows than it was given.
SELECT t.`entry` FROM `ledger` AS t
WHERE t.`entry` IN (:ids);

-- name: stats_due
-- Counts the rows of one group that are due, delayed or in work, and finds the oldest due time.
-- It looks at the first :most unfinished rows only; the last column says at how many.
-- They come in the order of the group, so the oldest due time is known only where there are no more.
--   :now  datetime(6), UTC, the host's clock
--   :group  bigint
--   :most  integer, where counting stops
-- Transaction: any, or none.
-- Locks: none.
-- Index: ledger_claim
-- Runs: once per look at the table.
SELECT COUNT(CASE WHEN `book_after` <= :now
    AND (`locked_until` IS NULL OR `locked_until` <= :now) THEN 1 END) AS due_rows,
    COUNT(CASE WHEN `book_after` > :now THEN 1 END) AS delayed_rows,
    COUNT(CASE WHEN `locked_until` > :now THEN 1 END) AS rows_in_work,
    MIN(CASE WHEN `book_after` <= :now
        AND (`locked_until` IS NULL OR `locked_until` <= :now) THEN `book_after` END) AS oldest,
    COUNT(*) AS looked_at
FROM (
    SELECT `entry`, `book_after`, `locked_until` FROM `ledger` FORCE INDEX (`ledger_claim`)
    WHERE `account` = :group AND `booked_at` IS NULL
    ORDER BY `entry` LIMIT :most
) AS looked;

-- name: stats_due_table
-- Counts the rows that are due, delayed or in work, and finds the oldest due time.
-- It looks at the first :most unfinished rows only; the last column says at how many.
-- They come in the order of the groups, so the oldest due time is known only where there are no more.
--   :now  datetime(6), UTC, the host's clock
--   :most  integer, where counting stops
-- Transaction: any, or none.
-- Locks: none.
-- Index: ledger_claim
-- Runs: once per look at the table.
SELECT COUNT(CASE WHEN `book_after` <= :now
    AND (`locked_until` IS NULL OR `locked_until` <= :now) THEN 1 END) AS due_rows,
    COUNT(CASE WHEN `book_after` > :now THEN 1 END) AS delayed_rows,
    COUNT(CASE WHEN `locked_until` > :now THEN 1 END) AS rows_in_work,
    MIN(CASE WHEN `book_after` <= :now
        AND (`locked_until` IS NULL OR `locked_until` <= :now) THEN `book_after` END) AS oldest,
    COUNT(*) AS looked_at
FROM (
    SELECT `entry`, `book_after`, `locked_until` FROM `ledger` FORCE INDEX (`ledger_claim`)
    WHERE `booked_at` IS NULL
    ORDER BY `account`, `entry` LIMIT :most
) AS looked;

-- name: stats_dead
-- Counts the dead letters, as far as :most.
--   :most  integer, where counting stops
-- Transaction: any, or none.
-- Locks: none.
-- Index: any of the dead-letter table, or none: it stops at :most rows
-- Runs: once per look at the table.
SELECT COUNT(*) FROM (SELECT `entry` FROM `ledger_rejected` LIMIT :most) AS looked;
