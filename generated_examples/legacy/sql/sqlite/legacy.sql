-- From tables.toml: edit that and run `sqlclaimgen build`.
-- format 1 · form lease · sqlite

-- name: claim
-- Takes up to :limit due rows and counts the attempt. They come back in no order: the caller sorts them.
--   :locked_until  microseconds since 1970, UTC, the new expiry: now + 120 s
--   :now  microseconds since 1970, UTC, the host's clock
--   :set_aside  list of ids, the rows that are left out: none, or those that the database refused lately
--   :limit  integer, at most so many rows
-- Transaction: its own, BEGIN IMMEDIATE; the only statement. Rows are the claim's after COMMIT only.
-- Locks: the one writer's lock, until its commit.
-- Index: Job Queue_claim, and the primary key.
-- Runs: once per poll.
UPDATE "Job Queue"
SET "Locked" = :locked_until, "tries" = MIN("tries", 9223372036854775806) + 1
WHERE "Job No" IN (
    SELECT "Job No" FROM "Job Queue"
    WHERE "State" = 0 AND "Due" <= :now AND ("Locked" IS NULL OR "Locked" <= :now)
        AND "Job No" NOT IN (SELECT value FROM json_each(:set_aside))
    ORDER BY "Due", "Job No"
    LIMIT :limit
)
RETURNING "Job No", "class", "Due", "last error", "reply-to", "tries" - 1 AS "tries";

-- name: candidates
-- Returns the ids of the rows that claim would take, in claim order.
--   :now  microseconds since 1970, UTC, the host's clock
--   :set_aside  list of ids, the rows that are left out: none, or those that the database refused lately
--   :limit  integer, at most so many rows
-- Transaction: the claim's, BEGIN IMMEDIATE; before candidates_take.
-- Locks: the one writer's lock, until the commit.
-- Index: Job Queue_claim
-- Runs: when the database refused claim because of one row.
SELECT "Job No" FROM "Job Queue"
WHERE "State" = 0 AND "Due" <= :now AND ("Locked" IS NULL OR "Locked" <= :now)
    AND "Job No" NOT IN (SELECT value FROM json_each(:set_aside))
ORDER BY "Due", "Job No"
LIMIT :limit;

-- name: candidates_take
-- Takes rows that the statement before it locked, and counts the attempt. They come back in no order.
--   :locked_until  microseconds since 1970, UTC, the new expiry: now + 120 s
--   :ids  list of ids
-- Transaction: that of candidates, after it, behind a savepoint.
-- Locks: the one writer's lock, until the commit.
-- Index: the primary key.
-- Runs: when the database refused a claim because of one row; where it is refused, again for each half.
UPDATE "Job Queue"
SET "Locked" = :locked_until, "tries" = MIN("tries", 9223372036854775806) + 1
WHERE "Job No" IN (SELECT value FROM json_each(:ids))
RETURNING "Job No", "class", "Due", "last error", "reply-to", "tries" - 1 AS "tries";

-- name: extend
-- Moves the expiry of every delivery in work, and returns those whose rows it wrote.
--   :locked_until  microseconds since 1970, UTC, the new expiry: now + 120 s
--   :held  list of id, token and attempt
-- Transaction: its own, BEGIN IMMEDIATE; before held, when rows are missing from its answer.
-- Locks: the one writer's lock, until its commit.
-- Index: the primary key.
-- Runs: every half lease.
UPDATE "Job Queue" AS t
SET "Locked" = :locked_until
WHERE t."Job No" IN (    SELECT r."Job No" FROM (
    SELECT json_extract(value, '$[0]') AS id, json_extract(value, '$[1]') AS token,
        json_extract(value, '$[2]') AS sent, json_extract(value, '$[3]') AS attempt
    FROM json_each(:held)
) AS h CROSS JOIN "Job Queue" AS r
    ON r."Job No" = h.id AND r."Locked" IN (h.token, h.sent) AND r."tries" = h.attempt
        AND r."State" = 0
)
RETURNING "Job No";

-- name: held
-- Reads which of the rows that extend left out still hold their token, or an expiry that was sent, and which of
-- the two. A row that does not come back is lost.
--   :held  list of id, token and attempt
-- Transaction: that of extend.
-- Locks: none.
-- Index: the primary key.
-- Runs: when extend returned fewer rows than it was given.
SELECT t."Job No", t."Locked"
FROM (
    SELECT json_extract(value, '$[0]') AS id, json_extract(value, '$[1]') AS token,
        json_extract(value, '$[2]') AS sent, json_extract(value, '$[3]') AS attempt
    FROM json_each(:held)
) AS h
CROSS JOIN "Job Queue" AS t ON t."Job No" = h.id AND t."Locked" IN (h.token, h.sent)
    AND t."tries" = h.attempt AND t."State" = 0;

-- name: release
-- Gives rows back at once that were handed out and not settled: the attempt stays counted. Rows that another claim holds are passed over.
--   :held  list of id, token and attempt
-- Transaction: the caller's when one is open, else its own.
-- Locks: the one writer's lock, until the commit.
-- Index: the primary key.
-- Runs: when a claim's block is left; when a handler that ran on after its worker's end has ended.
UPDATE "Job Queue" AS t
SET "Locked" = NULL
WHERE t."Job No" IN (    SELECT r."Job No" FROM (
    SELECT json_extract(value, '$[0]') AS id, json_extract(value, '$[1]') AS token,
        json_extract(value, '$[2]') AS sent, json_extract(value, '$[3]') AS attempt
    FROM json_each(:held)
) AS h CROSS JOIN "Job Queue" AS r
    ON r."Job No" = h.id AND r."Locked" IN (h.token, h.sent) AND r."tries" = h.attempt
        AND r."State" = 0
)
RETURNING "Job No";

-- name: give_back
-- Gives rows back at once that a worker's stop, or a caller's decision, keeps from being settled, with their attempt.
--   :held  list of id, token and attempt
-- Transaction: the caller's when one is open, else its own.
-- Locks: the one writer's lock, until the commit.
-- Index: the primary key.
-- Runs: when a worker stops, before a handler or once it has ended; on a release; when a claim's block is left, for what was not handed out.
UPDATE "Job Queue" AS t
SET "Locked" = NULL, "tries" = t."tries" - 1
WHERE t."Job No" IN (    SELECT r."Job No" FROM (
    SELECT json_extract(value, '$[0]') AS id, json_extract(value, '$[1]') AS token,
        json_extract(value, '$[2]') AS sent, json_extract(value, '$[3]') AS attempt
    FROM json_each(:held)
) AS h CROSS JOIN "Job Queue" AS r
    ON r."Job No" = h.id AND r."Locked" IN (h.token, h.sent) AND r."tries" = h.attempt
        AND r."State" = 0
)
RETURNING "Job No";

-- name: shorten
-- Moves the expiry of rows nearer whose handlers run on after their worker's end, and gives their attempt back.
--   :soon  microseconds since 1970, UTC, the new expiry: nearer than the one held
--   :held  list of id, token and attempt
-- Transaction: its own, BEGIN IMMEDIATE.
-- Locks: the one writer's lock, until its commit.
-- Index: the primary key.
-- Runs: when a worker ends whose handlers do not.
UPDATE "Job Queue" AS t
SET "Locked" = :soon, "tries" = t."tries" - 1
WHERE t."Job No" IN (    SELECT r."Job No" FROM (
    SELECT json_extract(value, '$[0]') AS id, json_extract(value, '$[1]') AS token,
        json_extract(value, '$[2]') AS sent, json_extract(value, '$[3]') AS attempt
    FROM json_each(:held)
) AS h CROSS JOIN "Job Queue" AS r
    ON r."Job No" = h.id AND r."Locked" IN (h.token, h.sent) AND r."tries" = h.attempt
        AND r."State" = 0
)
RETURNING "Job No";

-- name: ack
-- Finishes the row: it stays, marked. No row: the lease is lost.
--   :now  microseconds since 1970, UTC, the host's clock
--   :id  TEXT
--   :token  microseconds since 1970, UTC, the expiry held
--   :sent  microseconds since 1970, UTC, an expiry sent and not answered, or the token again
--   :attempt  integer, as the row holds it: one more than the delivery's
-- Transaction: the caller's when one is open, else its own.
-- Locks: the one writer's lock, until the commit.
-- Index: the primary key.
-- Runs: once per delivery.
UPDATE "Job Queue"
SET "Done At" = :now, "State" = 1, "Locked" = NULL
WHERE "Job No" = :id AND "Locked" IN (:token, :sent) AND "tries" = :attempt AND "State" = 0;

-- name: retry
-- Makes the row due now, behind the rows that are due, or claimed at once if none are. No row: the lease is lost.
--   :now  microseconds since 1970, UTC, the host's clock
--   :error  text or NULL, what went wrong
--   :id  TEXT
--   :token  microseconds since 1970, UTC, the expiry held
--   :sent  microseconds since 1970, UTC, an expiry sent and not answered, or the token again
--   :attempt  integer, as the row holds it: one more than the delivery's
-- Transaction: the caller's when one is open, else its own.
-- Locks: the one writer's lock, until the commit.
-- Index: the primary key.
-- Runs: once per delivery that is retried.
UPDATE "Job Queue"
SET "Due" = :now, "Locked" = NULL, "last error" = :error
WHERE "Job No" = :id AND "Locked" IN (:token, :sent) AND "tries" = :attempt AND "State" = 0;

-- name: retry_after
-- Makes the row due at :due. No row: the lease is lost.
--   :due  microseconds since 1970, UTC, when the row is due again
--   :error  text or NULL, what went wrong
--   :id  TEXT
--   :token  microseconds since 1970, UTC, the expiry held
--   :sent  microseconds since 1970, UTC, an expiry sent and not answered, or the token again
--   :attempt  integer, as the row holds it: one more than the delivery's
-- Transaction: the caller's when one is open, else its own.
-- Locks: the one writer's lock, until the commit.
-- Index: the primary key.
-- Runs: once per delivery that is retried.
UPDATE "Job Queue"
SET "Due" = :due, "Locked" = NULL, "last error" = :error
WHERE "Job No" = :id AND "Locked" IN (:token, :sent) AND "tries" = :attempt AND "State" = 0;

-- name: dead_letter
-- Gives the row up: it stays, marked dead. No row: the lease is lost.
--   :now  microseconds since 1970, UTC, the host's clock
--   :error  text or NULL, what went wrong
--   :reason  text, why the row is given up
--   :id  TEXT
--   :token  microseconds since 1970, UTC, the expiry held
--   :sent  microseconds since 1970, UTC, an expiry sent and not answered, or the token again
--   :attempt  integer, as the row holds it: one more than the delivery's
-- Transaction: the caller's when one is open, else its own.
-- Locks: the one writer's lock, until the commit.
-- Index: the primary key.
-- Runs: once per dead letter.
UPDATE "Job Queue"
SET "Done At" = :now, "State" = 9, "Locked" = NULL, "last error" = COALESCE(:error, :reason)
WHERE "Job No" = :id AND "Locked" IN (:token, :sent) AND "tries" = :attempt AND "State" = 0;

-- name: present
-- Whether the row is still this delivery's, and unchanged: then a trigger cancelled the write, and its holder is told so.
--   :id  TEXT
--   :token  microseconds since 1970, UTC, the expiry held
--   :sent  microseconds since 1970, UTC, an expiry sent and not answered, or the token again
--   :attempt  integer, as the row holds it: one more than the delivery's
-- Transaction: the settlement's, after it.
-- Locks: none.
-- Index: the primary key.
-- Runs: after a settlement that counted no row.
SELECT "Job No" FROM "Job Queue"
WHERE "Job No" = :id AND "Locked" IN (:token, :sent) AND "tries" = :attempt AND "State" = 0;

-- name: enqueue
-- Adds one row.
--   :Job_No  TEXT
--   :class_  TEXT
--   :reply_to  TEXT or NULL
--   :due  INTEGER
-- Transaction: the producer's; it never commits.
-- Locks: the one writer's lock, until the commit.
-- Index: none.
-- Runs: once per row.
INSERT INTO "Job Queue" ("Job No", "class", "reply-to", "tries", "State", "Due")
VALUES (:Job_No, :class_, :reply_to, 1, 0, :due)
RETURNING "Job No";

-- name: redrive_oldest
-- Lists up to :limit dead letters that can be brought back, the oldest first, for redrive.
--   :limit  integer, at most so many rows
-- Transaction: that of redrive, before it.
-- Locks: none.
-- Index: Job Queue_given_up
-- Runs: when an operator brings dead letters back.
SELECT "Job No" FROM "Job Queue"
WHERE "State" = 9
ORDER BY "Done At", "Job No"
LIMIT :limit;

-- name: redrive
-- Brings dead letters back: due now, from their first attempt.
--   :now  microseconds since 1970, UTC, the host's clock
--   :ids  list of ids
-- Transaction: the caller's when one is open, else its own.
-- Locks: the one writer's lock, until the commit.
-- Index: the primary key.
-- Runs: when an operator brings dead letters back; where it is refused, again for each half.
UPDATE "Job Queue"
SET "State" = 0, "Done At" = NULL, "tries" = 1, "Due" = :now, "Locked" = NULL
WHERE "Job No" IN (SELECT value FROM json_each(:ids)) AND "State" = 9
RETURNING "Job No";

-- name: purge_oldest
-- Lists up to :limit rows that were finished before :before, the oldest first.
--   :before  microseconds since 1970, UTC, rows that were finished earlier
--   :limit  integer, at most so many rows
-- Transaction: its own, BEGIN IMMEDIATE; committed before the next page. Before purge.
-- Locks: the one writer's lock, until the commit.
-- Index: Job Queue_purge
-- Runs: first, when an operator or a timer purges.
SELECT t."Job No", t."Done At" FROM "Job Queue" AS t
WHERE t."Done At" < :before AND t."State" = 1
ORDER BY t."Done At"
LIMIT :limit;

-- name: purge_next
-- Lists the next ones, from :since on. So a row that cannot be deleted does not hold up those after it.
--   :before  microseconds since 1970, UTC, rows that were finished earlier
--   :since  microseconds since 1970, UTC, when the last row of the page before was finished
--   :limit  integer, at most so many rows
-- Transaction: its own, BEGIN IMMEDIATE; committed before the next page. Before purge.
-- Locks: the one writer's lock, until the commit.
-- Index: Job Queue_purge
-- Runs: for each further page.
SELECT t."Job No", t."Done At" FROM "Job Queue" AS t
WHERE t."Done At" < :before AND t."State" = 1 AND t."Done At" >= :since
ORDER BY t."Done At"
LIMIT :limit;

-- name: purge
-- Deletes rows that were listed.
--   :ids  list of ids
-- Transaction: the same, after the list.
-- Locks: the one writer's lock; and what foreign keys and triggers need.
-- Index: the primary key.
-- Runs: once per page; where the database refuses it, again for each half, down to the rows that it refuses.
DELETE FROM "Job Queue"
WHERE "Job No" IN (SELECT value FROM json_each(:ids));

-- name: purge_left
-- Which of the rows are there still: a trigger can cancel a DELETE without an error.
--   :ids  list of ids
-- Transaction: the same, after purge.
-- Locks: none.
-- Index: the primary key.
-- Runs: when purge deleted fewer rows than it was given.
SELECT t."Job No" FROM "Job Queue" AS t
WHERE t."Job No" IN (SELECT value FROM json_each(:ids));

-- name: stats_due
-- Counts the rows that are due or in work, and finds the oldest due time.
-- It looks at the first :most rows whose time has come only; the last column says at how many.
--   :now  microseconds since 1970, UTC, the host's clock
--   :most  integer, where counting stops
-- Transaction: any, or none.
-- Locks: none.
-- Index: Job Queue_claim
-- Runs: once per look at the table.
SELECT COUNT(CASE WHEN ("Locked" IS NULL OR "Locked" <= :now) THEN 1 END) AS due_rows,
    COUNT(CASE WHEN "Locked" > :now THEN 1 END) AS rows_in_work,
    MIN(CASE WHEN ("Locked" IS NULL OR "Locked" <= :now) THEN "Due" END) AS oldest,
    COUNT(*) AS looked_at
FROM (
    SELECT "Job No", "Due", "Locked" FROM "Job Queue"
    WHERE "State" = 0 AND "Due" <= :now
    ORDER BY "Due", "Job No" LIMIT :most
) AS looked;

-- name: stats_delayed
-- Counts the rows that are not due yet, as far as :most.
--   :now  microseconds since 1970, UTC, the host's clock
--   :most  integer, where counting stops
-- Transaction: any, or none.
-- Locks: none.
-- Index: Job Queue_claim
-- Runs: once per look at the table.
SELECT COUNT(*) FROM (
    SELECT "Job No" FROM "Job Queue"
    WHERE "State" = 0 AND "Due" > :now
    ORDER BY "Due", "Job No" LIMIT :most
) AS looked;

-- name: stats_dead
-- Counts the dead letters, as far as :most.
--   :most  integer, where counting stops
-- Transaction: any, or none.
-- Locks: none.
-- Index: Job Queue_given_up
-- Runs: once per look at the table.
SELECT COUNT(*) FROM (
    SELECT "Job No" FROM "Job Queue"
    WHERE "State" = 9
    ORDER BY "Done At", "Job No"
    LIMIT :most
) AS looked;
