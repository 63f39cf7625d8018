-- From tables.toml: edit that and run `sqlclaimgen build`.
-- format 1 · form lease · sqlite

-- name: claim
-- Takes up to :limit due rows of one group and counts the attempt. They come back in no order: the caller sorts them.
-- It steps from priority to priority, so that rows delayed at a better one are not walked by every claim.
-- Each priority's rows come as a JSON list: a join would leave their order to the planner, which may also
-- read the whole table for a Bloom filter first.
--   :locked_until  microseconds since 1970, UTC, the new expiry: now + 60 s
--   :group  TEXT
--   :now  microseconds since 1970, UTC, the host's clock
--   :set_aside  list of ids, the rows that are left out: none, or those that the database refused lately
--   :limit  integer, at most so many rows
-- Transaction: its own, BEGIN IMMEDIATE; the only statement. Rows are the claim's after COMMIT only.
-- Locks: the one writer's lock, until its commit.
-- Index: report_jobs_claim, and the primary key.
-- Runs: once per poll.
UPDATE "report_jobs"
SET "locked_until" = :locked_until, "attempt" = MIN("attempt", 9223372036854775806) + 1
WHERE "job_id" IN (
    WITH RECURSIVE step(priority) AS (
        SELECT MIN("urgency") FROM "report_jobs" WHERE "queue" = :group AND "processed_at" IS NULL
        UNION ALL
        SELECT (SELECT MIN(t."urgency") FROM "report_jobs" AS t
                WHERE t."queue" = :group AND t."processed_at" IS NULL
                    AND t."urgency" > step.priority)
        FROM step WHERE step.priority IS NOT NULL
    )
    SELECT due.value FROM step CROSS JOIN json_each((
        SELECT json_group_array(one.id) FROM (
            SELECT t."job_id" AS id FROM "report_jobs" AS t
            WHERE t."queue" = :group AND t."processed_at" IS NULL AND t."urgency" = step.priority
                AND t."retry_after" <= :now
                AND (t."locked_until" IS NULL OR t."locked_until" <= :now)
                AND t."job_id" NOT IN (SELECT value FROM json_each(:set_aside))
            ORDER BY t."retry_after", t."job_id"
            LIMIT :limit
        ) AS one
    )) AS due
    LIMIT :limit
)
RETURNING +"job_id", "queue", +"urgency", "customer", "retry_after", "payload", "note",
    "attempt" - 1 AS "attempt";

-- name: candidates
-- Returns the ids of the rows that claim would take, in claim order.
--   :group  TEXT
--   :now  microseconds since 1970, UTC, the host's clock
--   :set_aside  list of ids, the rows that are left out: none, or those that the database refused lately
--   :limit  integer, at most so many rows
-- Transaction: the claim's, BEGIN IMMEDIATE; before candidates_take.
-- Locks: the one writer's lock, until the commit.
-- Index: report_jobs_claim
-- Runs: when the database refused claim because of one row.
WITH RECURSIVE step(priority) AS (
    SELECT MIN("urgency") FROM "report_jobs" WHERE "queue" = :group AND "processed_at" IS NULL
    UNION ALL
    SELECT (SELECT MIN(t."urgency") FROM "report_jobs" AS t
            WHERE t."queue" = :group AND t."processed_at" IS NULL AND t."urgency" > step.priority)
    FROM step WHERE step.priority IS NOT NULL
)
SELECT due.value FROM step CROSS JOIN json_each((
    SELECT json_group_array(one.id) FROM (
        SELECT t."job_id" AS id FROM "report_jobs" AS t
        WHERE t."queue" = :group AND t."processed_at" IS NULL AND t."urgency" = step.priority
            AND t."retry_after" <= :now AND (t."locked_until" IS NULL OR t."locked_until" <= :now)
            AND t."job_id" NOT IN (SELECT value FROM json_each(:set_aside))
        ORDER BY t."retry_after", t."job_id"
        LIMIT :limit
    ) AS one
)) AS due
LIMIT :limit;

-- name: claim_table
-- Takes up to :limit due rows and counts the attempt. They come back in no order: the caller sorts them.
-- It steps from priority to priority, so that rows delayed at a better one are not walked by every claim.
-- Each priority's rows come as a JSON list: a join would leave their order to the planner, which may also
-- read the whole table for a Bloom filter first.
--   :locked_until  microseconds since 1970, UTC, the new expiry: now + 60 s
--   :now  microseconds since 1970, UTC, the host's clock
--   :set_aside  list of ids, the rows that are left out: none, or those that the database refused lately
--   :limit  integer, at most so many rows
-- Transaction: its own, BEGIN IMMEDIATE; the only statement. Rows are the claim's after COMMIT only.
-- Locks: the one writer's lock, until its commit.
-- Index: report_jobs_claim_table, and the primary key.
-- Runs: once per poll.
UPDATE "report_jobs"
SET "locked_until" = :locked_until, "attempt" = MIN("attempt", 9223372036854775806) + 1
WHERE "job_id" IN (
    WITH RECURSIVE step(priority) AS (
        SELECT MIN("urgency") FROM "report_jobs" WHERE "processed_at" IS NULL
        UNION ALL
        SELECT (SELECT MIN(t."urgency") FROM "report_jobs" AS t
                WHERE t."processed_at" IS NULL AND t."urgency" > step.priority)
        FROM step WHERE step.priority IS NOT NULL
    )
    SELECT due.value FROM step CROSS JOIN json_each((
        SELECT json_group_array(one.id) FROM (
            SELECT t."job_id" AS id FROM "report_jobs" AS t
            WHERE t."processed_at" IS NULL AND t."urgency" = step.priority
                AND t."retry_after" <= :now
                AND (t."locked_until" IS NULL OR t."locked_until" <= :now)
                AND t."job_id" NOT IN (SELECT value FROM json_each(:set_aside))
            ORDER BY t."retry_after", t."job_id"
            LIMIT :limit
        ) AS one
    )) AS due
    LIMIT :limit
)
RETURNING +"job_id", "queue", +"urgency", "customer", "retry_after", "payload", "note",
    "attempt" - 1 AS "attempt";

-- name: candidates_table
-- Returns the ids of the rows that claim_table would take, in claim order.
--   :now  microseconds since 1970, UTC, the host's clock
--   :set_aside  list of ids, the rows that are left out: none, or those that the database refused lately
--   :limit  integer, at most so many rows
-- Transaction: the claim's, BEGIN IMMEDIATE; before candidates_take.
-- Locks: the one writer's lock, until the commit.
-- Index: report_jobs_claim_table
-- Runs: when the database refused claim_table because of one row.
WITH RECURSIVE step(priority) AS (
    SELECT MIN("urgency") FROM "report_jobs" WHERE "processed_at" IS NULL
    UNION ALL
    SELECT (SELECT MIN(t."urgency") FROM "report_jobs" AS t
            WHERE t."processed_at" IS NULL AND t."urgency" > step.priority)
    FROM step WHERE step.priority IS NOT NULL
)
SELECT due.value FROM step CROSS JOIN json_each((
    SELECT json_group_array(one.id) FROM (
        SELECT t."job_id" AS id FROM "report_jobs" AS t
        WHERE t."processed_at" IS NULL AND t."urgency" = step.priority AND t."retry_after" <= :now
            AND (t."locked_until" IS NULL OR t."locked_until" <= :now)
            AND t."job_id" NOT IN (SELECT value FROM json_each(:set_aside))
        ORDER BY t."retry_after", t."job_id"
        LIMIT :limit
    ) AS one
)) AS due
LIMIT :limit;

-- name: candidates_take
-- Takes rows that the statement before it locked, and counts the attempt. They come back in no order.
--   :locked_until  microseconds since 1970, UTC, the new expiry: now + 60 s
--   :ids  list of ids
-- Transaction: that of candidates, after it, behind a savepoint.
-- Locks: the one writer's lock, until the commit.
-- Index: the primary key.
-- Runs: when the database refused a claim because of one row; where it is refused, again for each half.
UPDATE "report_jobs"
SET "locked_until" = :locked_until, "attempt" = MIN("attempt", 9223372036854775806) + 1
WHERE "job_id" IN (SELECT value FROM json_each(:ids))
RETURNING +"job_id", "queue", +"urgency", "customer", "retry_after", "payload", "note",
    "attempt" - 1 AS "attempt";

-- name: extend
-- Moves the expiry of every delivery in work, and returns those whose rows it wrote.
--   :locked_until  microseconds since 1970, UTC, the new expiry: now + 60 s
--   :held  list of id, token and attempt
-- Transaction: its own, BEGIN IMMEDIATE; before held, when rows are missing from its answer.
-- Locks: the one writer's lock, until its commit.
-- Index: the primary key.
-- Runs: every half lease.
UPDATE "report_jobs" AS t
SET "locked_until" = :locked_until
WHERE t."job_id" IN (    SELECT r."job_id" FROM (
    SELECT json_extract(value, '$[0]') AS id, json_extract(value, '$[1]') AS token,
        json_extract(value, '$[2]') AS sent, json_extract(value, '$[3]') AS attempt
    FROM json_each(:held)
) AS h CROSS JOIN "report_jobs" AS r
    ON r."job_id" = h.id AND r."locked_until" IN (h.token, h.sent) AND r."attempt" = h.attempt
        AND r."processed_at" IS NULL
)
RETURNING +"job_id";

-- name: held
-- Reads which of the rows that extend left out still hold their token, or an expiry that was sent, and which of
-- the two. A row that does not come back is lost.
--   :held  list of id, token and attempt
-- Transaction: that of extend.
-- Locks: none.
-- Index: the primary key.
-- Runs: when extend returned fewer rows than it was given.
SELECT t."job_id", t."locked_until"
FROM (
    SELECT json_extract(value, '$[0]') AS id, json_extract(value, '$[1]') AS token,
        json_extract(value, '$[2]') AS sent, json_extract(value, '$[3]') AS attempt
    FROM json_each(:held)
) AS h
CROSS JOIN "report_jobs" AS t ON t."job_id" = h.id AND t."locked_until" IN (h.token, h.sent)
    AND t."attempt" = h.attempt AND t."processed_at" IS NULL;

-- name: release
-- Gives rows back at once that were handed out and not settled: the attempt stays counted. Rows that another claim holds are passed over.
--   :held  list of id, token and attempt
-- Transaction: the caller's when one is open, else its own.
-- Locks: the one writer's lock, until the commit.
-- Index: the primary key.
-- Runs: when a claim's block is left; when a handler that ran on after its worker's end has ended.
UPDATE "report_jobs" AS t
SET "locked_until" = NULL
WHERE t."job_id" IN (    SELECT r."job_id" FROM (
    SELECT json_extract(value, '$[0]') AS id, json_extract(value, '$[1]') AS token,
        json_extract(value, '$[2]') AS sent, json_extract(value, '$[3]') AS attempt
    FROM json_each(:held)
) AS h CROSS JOIN "report_jobs" AS r
    ON r."job_id" = h.id AND r."locked_until" IN (h.token, h.sent) AND r."attempt" = h.attempt
        AND r."processed_at" IS NULL
)
RETURNING +"job_id";

-- name: give_back
-- Gives rows back at once that a worker's stop, or a caller's decision, keeps from being settled, with their attempt.
--   :held  list of id, token and attempt
-- Transaction: the caller's when one is open, else its own.
-- Locks: the one writer's lock, until the commit.
-- Index: the primary key.
-- Runs: when a worker stops, before a handler or once it has ended; on a release; when a claim's block is left, for what was not handed out.
UPDATE "report_jobs" AS t
SET "locked_until" = NULL, "attempt" = t."attempt" - 1
WHERE t."job_id" IN (    SELECT r."job_id" FROM (
    SELECT json_extract(value, '$[0]') AS id, json_extract(value, '$[1]') AS token,
        json_extract(value, '$[2]') AS sent, json_extract(value, '$[3]') AS attempt
    FROM json_each(:held)
) AS h CROSS JOIN "report_jobs" AS r
    ON r."job_id" = h.id AND r."locked_until" IN (h.token, h.sent) AND r."attempt" = h.attempt
        AND r."processed_at" IS NULL
)
RETURNING +"job_id";

-- name: shorten
-- Moves the expiry of rows nearer whose handlers run on after their worker's end, and gives their attempt back.
--   :soon  microseconds since 1970, UTC, the new expiry: nearer than the one held
--   :held  list of id, token and attempt
-- Transaction: its own, BEGIN IMMEDIATE.
-- Locks: the one writer's lock, until its commit.
-- Index: the primary key.
-- Runs: when a worker ends whose handlers do not.
UPDATE "report_jobs" AS t
SET "locked_until" = :soon, "attempt" = t."attempt" - 1
WHERE t."job_id" IN (    SELECT r."job_id" FROM (
    SELECT json_extract(value, '$[0]') AS id, json_extract(value, '$[1]') AS token,
        json_extract(value, '$[2]') AS sent, json_extract(value, '$[3]') AS attempt
    FROM json_each(:held)
) AS h CROSS JOIN "report_jobs" AS r
    ON r."job_id" = h.id AND r."locked_until" IN (h.token, h.sent) AND r."attempt" = h.attempt
        AND r."processed_at" IS NULL
)
RETURNING +"job_id";

-- name: ack
-- Finishes the row: it stays, marked. No row: the lease is lost.
--   :now  microseconds since 1970, UTC, the host's clock
--   :id  INTEGER
--   :token  microseconds since 1970, UTC, the expiry held
--   :sent  microseconds since 1970, UTC, an expiry sent and not answered, or the token again
--   :attempt  integer, as the row holds it: one more than the delivery's
-- Transaction: the caller's when one is open, else its own.
-- Locks: the one writer's lock, until the commit.
-- Index: the primary key.
-- Runs: once per delivery.
UPDATE "report_jobs"
SET "processed_at" = :now, "locked_until" = NULL
WHERE "job_id" = :id AND "locked_until" IN (:token, :sent) AND "attempt" = :attempt
    AND "processed_at" IS NULL;

-- name: retry
-- Makes the row due now, behind the rows of its priority that are due, or claimed at once if none are. No row: the lease is lost.
--   :now  microseconds since 1970, UTC, the host's clock
--   :id  INTEGER
--   :token  microseconds since 1970, UTC, the expiry held
--   :sent  microseconds since 1970, UTC, an expiry sent and not answered, or the token again
--   :attempt  integer, as the row holds it: one more than the delivery's
-- Transaction: the caller's when one is open, else its own.
-- Locks: the one writer's lock, until the commit.
-- Index: the primary key.
-- Runs: once per delivery that is retried.
UPDATE "report_jobs"
SET "retry_after" = :now, "locked_until" = NULL
WHERE "job_id" = :id AND "locked_until" IN (:token, :sent) AND "attempt" = :attempt
    AND "processed_at" IS NULL;

-- name: retry_after
-- Makes the row due at :due. No row: the lease is lost.
--   :due  microseconds since 1970, UTC, when the row is due again
--   :id  INTEGER
--   :token  microseconds since 1970, UTC, the expiry held
--   :sent  microseconds since 1970, UTC, an expiry sent and not answered, or the token again
--   :attempt  integer, as the row holds it: one more than the delivery's
-- Transaction: the caller's when one is open, else its own.
-- Locks: the one writer's lock, until the commit.
-- Index: the primary key.
-- Runs: once per delivery that is retried.
UPDATE "report_jobs"
SET "retry_after" = :due, "locked_until" = NULL
WHERE "job_id" = :id AND "locked_until" IN (:token, :sent) AND "attempt" = :attempt
    AND "processed_at" IS NULL;

-- name: dead_letter
-- Copies the row into the dead-letter table. An older one of the same id is replaced. No row: the lease is lost.
--   :reason  text, why the row is given up
--   :error  text or NULL, what went wrong
--   :now  microseconds since 1970, UTC, the host's clock
--   :id  INTEGER
--   :token  microseconds since 1970, UTC, the expiry held
--   :sent  microseconds since 1970, UTC, an expiry sent and not answered, or the token again
--   :attempt  integer, as the row holds it: one more than the delivery's
-- Transaction: the caller's when one is open, else its own. First of two statements; dead_letter_remove is the second.
-- Locks: the one writer's lock, until the commit.
-- Index: the primary key.
-- Runs: once per dead letter.
INSERT INTO "report_jobs_dead" ("job_id", "queue", "urgency", "customer", "retry_after", "attempt",
    "locked_until", "processed_at", "payload", "note", "reason", "error", "died_at")
SELECT "job_id", "queue", "urgency", "customer", "retry_after", "attempt" - 1, NULL, "processed_at",
    "payload", "note", :reason, :error, :now
FROM "report_jobs"
WHERE "job_id" = :id AND "locked_until" IN (:token, :sent) AND "attempt" = :attempt
    AND "processed_at" IS NULL
ON CONFLICT ("job_id") DO UPDATE
SET "queue" = excluded."queue", "urgency" = excluded."urgency", "customer" = excluded."customer",
    "retry_after" = excluded."retry_after", "attempt" = excluded."attempt",
    "locked_until" = excluded."locked_until", "processed_at" = excluded."processed_at",
    "payload" = excluded."payload", "note" = excluded."note", "reason" = excluded."reason",
    "error" = excluded."error", "died_at" = excluded."died_at";

-- name: dead_letter_remove
-- Removes the row that dead_letter copied.
--   :id  INTEGER
--   :token  microseconds since 1970, UTC, the expiry held
--   :sent  microseconds since 1970, UTC, an expiry sent and not answered, or the token again
--   :attempt  integer, as the row holds it: one more than the delivery's
-- Transaction: the same. Second of two statements.
-- Locks: the one writer's lock, held already.
-- Index: the primary key.
-- Runs: once per dead letter.
DELETE FROM "report_jobs"
WHERE "job_id" = :id AND "locked_until" IN (:token, :sent) AND "attempt" = :attempt
    AND "processed_at" IS NULL;

-- name: present
-- Whether the row is still this delivery's, and unchanged: then a trigger cancelled the write, and its holder is told so.
--   :id  INTEGER
--   :token  microseconds since 1970, UTC, the expiry held
--   :sent  microseconds since 1970, UTC, an expiry sent and not answered, or the token again
--   :attempt  integer, as the row holds it: one more than the delivery's
-- Transaction: the settlement's, after it.
-- Locks: none.
-- Index: the primary key.
-- Runs: after a settlement that counted no row.
SELECT "job_id" FROM "report_jobs"
WHERE "job_id" = :id AND "locked_until" IN (:token, :sent) AND "attempt" = :attempt
    AND "processed_at" IS NULL;

-- name: enqueue
-- Adds one row.
--   :queue  TEXT
--   :urgency  INTEGER
--   :customer  TEXT
--   :payload  TEXT
--   :remark  TEXT or NULL
--   :retry_after  INTEGER
-- Transaction: the producer's; it never commits.
-- Locks: the one writer's lock, until the commit.
-- Index: none.
-- Runs: once per row.
INSERT INTO "report_jobs" ("queue", "urgency", "customer", "payload", "note", "attempt",
    "retry_after")
VALUES (:queue, :urgency, :customer, :payload, :remark, 1, :retry_after)
RETURNING +"job_id";

-- name: redrive_oldest
-- Lists up to :limit dead letters that can be brought back, the oldest first, for redrive.
-- A subselect per row, not NOT EXISTS: that may become a join that reads both tables through.
--   :limit  integer, at most so many rows
-- Transaction: that of redrive, before it.
-- Locks: none.
-- Index: report_jobs_dead_oldest
-- Runs: when an operator brings dead letters back.
SELECT d."job_id" FROM "report_jobs_dead" AS d
WHERE (SELECT 1 FROM "report_jobs" AS q WHERE q."job_id" = d."job_id" LIMIT 1) IS NULL
ORDER BY d."died_at", d."job_id"
LIMIT :limit;

-- name: redrive
-- Brings dead letters back: due now, from their first attempt, under their old id.
-- One whose id is in the work table is passed over, and stays a dead letter.
--   :now  microseconds since 1970, UTC, the host's clock
--   :ids  list of ids
-- Transaction: the caller's when one is open, else its own. Before redrive_remove.
-- Locks: the one writer's lock, until the commit.
-- Index: the primary keys of both tables.
-- Runs: when an operator brings dead letters back; where it is refused, again for each half.
INSERT INTO "report_jobs" ("job_id", "queue", "urgency", "customer", "retry_after", "attempt",
    "locked_until", "processed_at", "payload", "note")
SELECT d."job_id", d."queue", COALESCE(d."urgency", 0), d."customer", :now, 1, NULL, NULL,
    d."payload", d."note"
FROM "report_jobs_dead" AS d
WHERE d."job_id" IN (SELECT value FROM json_each(:ids))
ON CONFLICT DO NOTHING
RETURNING +"job_id";

-- name: redrive_remove
-- Removes the dead letters that redrive brought back.
--   :ids  list of ids
-- Transaction: the same, after redrive.
-- Locks: the one writer's lock, until the commit.
-- Index: the primary key of the dead-letter table.
-- Runs: when an operator brings dead letters back.
DELETE FROM "report_jobs_dead"
WHERE "job_id" IN (SELECT value FROM json_each(:ids));

-- name: dead_among
-- Which of these rows are dead letters still: after a redrive that brought back fewer than it was given.
--   :ids  list of ids
-- Transaction: that of redrive, after it.
-- Locks: none.
-- Index: the primary key of the dead-letter table.
-- Runs: when redrive left rows behind.
SELECT d."job_id" FROM "report_jobs_dead" AS d
WHERE d."job_id" IN (SELECT value FROM json_each(:ids));

-- name: purge_oldest
-- Lists up to :limit rows that were finished before :before, the oldest first.
--   :before  microseconds since 1970, UTC, rows that were finished earlier
--   :limit  integer, at most so many rows
-- Transaction: its own, BEGIN IMMEDIATE; committed before the next page. Before purge.
-- Locks: the one writer's lock, until the commit.
-- Index: report_jobs_purge
-- Runs: first, when an operator or a timer purges.
SELECT t."job_id", t."processed_at" FROM "report_jobs" AS t
WHERE t."processed_at" < :before
ORDER BY t."processed_at"
LIMIT :limit;

-- name: purge_next
-- Lists the next ones, from :since on. So a row that cannot be deleted does not hold up those after it.
--   :before  microseconds since 1970, UTC, rows that were finished earlier
--   :since  microseconds since 1970, UTC, when the last row of the page before was finished
--   :limit  integer, at most so many rows
-- Transaction: its own, BEGIN IMMEDIATE; committed before the next page. Before purge.
-- Locks: the one writer's lock, until the commit.
-- Index: report_jobs_purge
-- Runs: for each further page.
SELECT t."job_id", t."processed_at" FROM "report_jobs" AS t
WHERE t."processed_at" < :before AND t."processed_at" >= :since
ORDER BY t."processed_at"
LIMIT :limit;

-- name: purge
-- Deletes rows that were listed.
--   :ids  list of ids
-- Transaction: the same, after the list.
-- Locks: the one writer's lock; and what foreign keys and triggers need.
-- Index: the primary key.
-- Runs: once per page; where the database refuses it, again for each half, down to the rows that it refuses.
DELETE FROM "report_jobs"
WHERE "job_id" IN (SELECT value FROM json_each(:ids));

-- name: purge_left
-- Which of the rows are there still: a trigger can cancel a DELETE without an error.
--   :ids  list of ids
-- Transaction: the same, after purge.
-- Locks: none.
-- Index: the primary key.
-- Runs: when purge deleted fewer rows than it was given.
SELECT t."job_id" FROM "report_jobs" AS t
WHERE t."job_id" IN (SELECT value FROM json_each(:ids));

-- name: stats_priorities
-- Lists the priorities of one group that unfinished rows have, by steps through the index.
--   :group  TEXT
-- Transaction: any, or none.
-- Locks: none.
-- Index: report_jobs_claim
-- Runs: once per look at the table.
WITH RECURSIVE step(priority) AS (
    SELECT MIN(t."urgency") FROM "report_jobs" AS t WHERE t."queue" = :group
        AND t."processed_at" IS NULL
    UNION ALL
    SELECT (SELECT MIN(t."urgency") FROM "report_jobs" AS t
            WHERE t."queue" = :group AND t."processed_at" IS NULL AND t."urgency" > step.priority)
    FROM step WHERE step.priority IS NOT NULL
)
SELECT priority FROM step WHERE priority IS NOT NULL;

-- name: stats_priorities_table
-- Lists the priorities that unfinished rows have, by steps through the index.
-- Transaction: any, or none.
-- Locks: none.
-- Index: report_jobs_claim_table
-- Runs: once per look at the table.
WITH RECURSIVE step(priority) AS (
    SELECT MIN(t."urgency") FROM "report_jobs" AS t WHERE t."processed_at" IS NULL
    UNION ALL
    SELECT (SELECT MIN(t."urgency") FROM "report_jobs" AS t
            WHERE t."processed_at" IS NULL AND t."urgency" > step.priority)
    FROM step WHERE step.priority IS NOT NULL
)
SELECT priority FROM step WHERE priority IS NOT NULL;

-- name: stats_due
-- Counts the rows of one group that are due or in work, of one priority, and finds the oldest due time.
-- It looks at the first :most rows whose time has come only; the last column says at how many.
--   :now  microseconds since 1970, UTC, the host's clock
--   :group  TEXT
--   :priority  INTEGER
--   :most  integer, where counting stops
-- Transaction: any, or none.
-- Locks: none.
-- Index: report_jobs_claim
-- Runs: once per look at the table and priority.
SELECT COUNT(CASE WHEN ("locked_until" IS NULL OR "locked_until" <= :now) THEN 1 END) AS due_rows,
    COUNT(CASE WHEN "locked_until" > :now THEN 1 END) AS rows_in_work,
    MIN(CASE WHEN ("locked_until" IS NULL OR "locked_until" <= :now) THEN "retry_after" END) AS oldest,
    COUNT(*) AS looked_at
FROM (
    SELECT "job_id", "retry_after", "locked_until" FROM "report_jobs"
    WHERE "queue" = :group AND "processed_at" IS NULL AND "urgency" = :priority
        AND "retry_after" <= :now
    ORDER BY "retry_after", "job_id" LIMIT :most
) AS looked;

-- name: stats_delayed
-- Counts the rows of one group that are not due yet, of one priority, as far as :most.
--   :group  TEXT
--   :priority  INTEGER
--   :now  microseconds since 1970, UTC, the host's clock
--   :most  integer, where counting stops
-- Transaction: any, or none.
-- Locks: none.
-- Index: report_jobs_claim
-- Runs: once per look at the table and priority.
SELECT COUNT(*) FROM (
    SELECT "job_id" FROM "report_jobs"
    WHERE "queue" = :group AND "processed_at" IS NULL AND "urgency" = :priority
        AND "retry_after" > :now
    ORDER BY "retry_after", "job_id" LIMIT :most
) AS looked;

-- name: stats_due_table
-- Counts the rows that are due or in work, of one priority, and finds the oldest due time.
-- It looks at the first :most rows whose time has come only; the last column says at how many.
--   :now  microseconds since 1970, UTC, the host's clock
--   :priority  INTEGER
--   :most  integer, where counting stops
-- Transaction: any, or none.
-- Locks: none.
-- Index: report_jobs_claim_table
-- Runs: once per look at the table and priority.
SELECT COUNT(CASE WHEN ("locked_until" IS NULL OR "locked_until" <= :now) THEN 1 END) AS due_rows,
    COUNT(CASE WHEN "locked_until" > :now THEN 1 END) AS rows_in_work,
    MIN(CASE WHEN ("locked_until" IS NULL OR "locked_until" <= :now) THEN "retry_after" END) AS oldest,
    COUNT(*) AS looked_at
FROM (
    SELECT "job_id", "retry_after", "locked_until" FROM "report_jobs"
    WHERE "processed_at" IS NULL AND "urgency" = :priority AND "retry_after" <= :now
    ORDER BY "retry_after", "job_id" LIMIT :most
) AS looked;

-- name: stats_delayed_table
-- Counts the rows that are not due yet, of one priority, as far as :most.
--   :priority  INTEGER
--   :now  microseconds since 1970, UTC, the host's clock
--   :most  integer, where counting stops
-- Transaction: any, or none.
-- Locks: none.
-- Index: report_jobs_claim_table
-- Runs: once per look at the table and priority.
SELECT COUNT(*) FROM (
    SELECT "job_id" FROM "report_jobs"
    WHERE "processed_at" IS NULL AND "urgency" = :priority AND "retry_after" > :now
    ORDER BY "retry_after", "job_id" LIMIT :most
) AS looked;

-- name: stats_dead
-- Counts the dead letters, as far as :most.
--   :most  integer, where counting stops
-- Transaction: any, or none.
-- Locks: none.
-- Index: any of the dead-letter table, or none: it stops at :most rows
-- Runs: once per look at the table.
SELECT COUNT(*) FROM (SELECT "job_id" FROM "report_jobs_dead" LIMIT :most) AS looked;
