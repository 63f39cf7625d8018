-- From tables.toml: edit that and run `sqlclaimgen build`.
-- format 1 · form lease · postgres

-- name: claim
-- Takes up to :limit due rows of one group, in claim order, and counts the attempt.
-- It steps from priority to priority, so that rows delayed at a better one are not walked by every claim.
--   :group  varchar(40)
--   :now  timestamptz, the host's clock
--   :set_aside  list of ids, the rows that are left out: none, or those that the database refused lately
--   :limit  integer, at most so many rows
--   :locked_until  timestamptz, the new expiry: now + 60 s
-- Transaction: its own, at READ COMMITTED; the only statement. Rows are the claim's after COMMIT only.
-- Locks: the rows it returns, until its commit. NO KEY: a child row's foreign-key check never waits.
-- Index: report_jobs_claim, and the primary key.
-- Runs: once per poll.
WITH RECURSIVE step(priority) AS (
    (SELECT "urgency" FROM "report_jobs"
     WHERE "queue" = :group AND "processed_at" IS NULL
     ORDER BY "urgency" LIMIT 1)
    UNION ALL
    SELECT (SELECT t."urgency" FROM "report_jobs" AS t
            WHERE t."queue" = :group AND t."processed_at" IS NULL AND t."urgency" > step.priority
            ORDER BY t."urgency" LIMIT 1)
    FROM step WHERE step.priority IS NOT NULL
), candidate AS (
    SELECT one.* FROM step CROSS JOIN LATERAL (
        SELECT t."job_id" FROM "report_jobs" AS t
        WHERE t."queue" = :group AND t."processed_at" IS NULL AND t."urgency" = step.priority
            AND t."retry_after" <= :now AND (t."locked_until" IS NULL OR t."locked_until" <= :now)
            AND t."job_id" <> ALL(CAST(:set_aside AS bigint[]))
        ORDER BY t."retry_after", t."job_id"
        LIMIT :limit
        FOR NO KEY UPDATE SKIP LOCKED
    ) AS one
    LIMIT :limit
)
, taken AS (
    UPDATE "report_jobs" AS t
    SET "locked_until" = :locked_until, "attempt" = LEAST(t."attempt", 2147483646) + 1
    WHERE t."job_id" = ANY(ARRAY(SELECT c."job_id" FROM candidate AS c))
    RETURNING t."job_id", t."queue", t."urgency", t."customer", t."retry_after",
        CAST(t."payload" AS text) AS "payload", t."note", t."attempt" - 1 AS "attempt"
)
SELECT "job_id", "queue", "urgency", "customer", "retry_after", "payload", "note", "attempt"
FROM taken
ORDER BY "urgency", "retry_after", "job_id";

-- name: candidates
-- Locks the rows that claim would take, and returns their ids in claim order.
--   :group  varchar(40)
--   :now  timestamptz, the host's clock
--   :set_aside  list of ids, the rows that are left out: none, or those that the database refused lately
--   :limit  integer, at most so many rows
-- Transaction: the claim's, at READ COMMITTED; before candidates_take.
-- Locks: the rows it returns, until the commit. NO KEY: a child row's foreign-key check never waits.
-- Index: report_jobs_claim
-- Runs: when the database refused claim because of one row.
WITH RECURSIVE step(priority) AS (
    (SELECT "urgency" FROM "report_jobs"
     WHERE "queue" = :group AND "processed_at" IS NULL
     ORDER BY "urgency" LIMIT 1)
    UNION ALL
    SELECT (SELECT t."urgency" FROM "report_jobs" AS t
            WHERE t."queue" = :group AND t."processed_at" IS NULL AND t."urgency" > step.priority
            ORDER BY t."urgency" LIMIT 1)
    FROM step WHERE step.priority IS NOT NULL
)
SELECT one.* FROM step CROSS JOIN LATERAL (
    SELECT t."job_id" FROM "report_jobs" AS t
    WHERE t."queue" = :group AND t."processed_at" IS NULL AND t."urgency" = step.priority
        AND t."retry_after" <= :now AND (t."locked_until" IS NULL OR t."locked_until" <= :now)
        AND t."job_id" <> ALL(CAST(:set_aside AS bigint[]))
    ORDER BY t."retry_after", t."job_id"
    LIMIT :limit
    FOR NO KEY UPDATE SKIP LOCKED
) AS one
LIMIT :limit;

-- name: claim_table
-- Takes up to :limit due rows, in claim order, and counts the attempt.
-- It steps from priority to priority, so that rows delayed at a better one are not walked by every claim.
--   :now  timestamptz, the host's clock
--   :set_aside  list of ids, the rows that are left out: none, or those that the database refused lately
--   :limit  integer, at most so many rows
--   :locked_until  timestamptz, the new expiry: now + 60 s
-- Transaction: its own, at READ COMMITTED; the only statement. Rows are the claim's after COMMIT only.
-- Locks: the rows it returns, until its commit. NO KEY: a child row's foreign-key check never waits.
-- Index: report_jobs_claim_table, and the primary key.
-- Runs: once per poll.
WITH RECURSIVE step(priority) AS (
    (SELECT "urgency" FROM "report_jobs"
     WHERE "processed_at" IS NULL
     ORDER BY "urgency" LIMIT 1)
    UNION ALL
    SELECT (SELECT t."urgency" FROM "report_jobs" AS t
            WHERE t."processed_at" IS NULL AND t."urgency" > step.priority
            ORDER BY t."urgency" LIMIT 1)
    FROM step WHERE step.priority IS NOT NULL
), candidate AS (
    SELECT one.* FROM step CROSS JOIN LATERAL (
        SELECT t."job_id" FROM "report_jobs" AS t
        WHERE t."processed_at" IS NULL AND t."urgency" = step.priority AND t."retry_after" <= :now
            AND (t."locked_until" IS NULL OR t."locked_until" <= :now)
            AND t."job_id" <> ALL(CAST(:set_aside AS bigint[]))
        ORDER BY t."retry_after", t."job_id"
        LIMIT :limit
        FOR NO KEY UPDATE SKIP LOCKED
    ) AS one
    LIMIT :limit
)
, taken AS (
    UPDATE "report_jobs" AS t
    SET "locked_until" = :locked_until, "attempt" = LEAST(t."attempt", 2147483646) + 1
    WHERE t."job_id" = ANY(ARRAY(SELECT c."job_id" FROM candidate AS c))
    RETURNING t."job_id", t."queue", t."urgency", t."customer", t."retry_after",
        CAST(t."payload" AS text) AS "payload", t."note", t."attempt" - 1 AS "attempt"
)
SELECT "job_id", "queue", "urgency", "customer", "retry_after", "payload", "note", "attempt"
FROM taken
ORDER BY "urgency", "retry_after", "job_id";

-- name: candidates_table
-- Locks the rows that claim_table would take, and returns their ids in claim order.
--   :now  timestamptz, the host's clock
--   :set_aside  list of ids, the rows that are left out: none, or those that the database refused lately
--   :limit  integer, at most so many rows
-- Transaction: the claim's, at READ COMMITTED; before candidates_take.
-- Locks: the rows it returns, until the commit. NO KEY: a child row's foreign-key check never waits.
-- Index: report_jobs_claim_table
-- Runs: when the database refused claim_table because of one row.
WITH RECURSIVE step(priority) AS (
    (SELECT "urgency" FROM "report_jobs"
     WHERE "processed_at" IS NULL
     ORDER BY "urgency" LIMIT 1)
    UNION ALL
    SELECT (SELECT t."urgency" FROM "report_jobs" AS t
            WHERE t."processed_at" IS NULL AND t."urgency" > step.priority
            ORDER BY t."urgency" LIMIT 1)
    FROM step WHERE step.priority IS NOT NULL
)
SELECT one.* FROM step CROSS JOIN LATERAL (
    SELECT t."job_id" FROM "report_jobs" AS t
    WHERE t."processed_at" IS NULL AND t."urgency" = step.priority AND t."retry_after" <= :now
        AND (t."locked_until" IS NULL OR t."locked_until" <= :now)
        AND t."job_id" <> ALL(CAST(:set_aside AS bigint[]))
    ORDER BY t."retry_after", t."job_id"
    LIMIT :limit
    FOR NO KEY UPDATE SKIP LOCKED
) AS one
LIMIT :limit;

-- name: candidates_take
-- Takes rows that the statement before it locked, and counts the attempt. They come back in no order.
--   :locked_until  timestamptz, the new expiry: now + 60 s
--   :ids  list of ids
-- Transaction: that of candidates, after it, behind a savepoint.
-- Locks: rows that the transaction holds already.
-- Index: the primary key.
-- Runs: when the database refused a claim because of one row; where it is refused, again for each half.
UPDATE "report_jobs"
SET "locked_until" = :locked_until, "attempt" = LEAST("attempt", 2147483646) + 1
WHERE "job_id" = ANY(CAST(:ids AS bigint[]))
RETURNING "job_id", "queue", "urgency", "customer", "retry_after",
    CAST("payload" AS text) AS "payload", "note", "attempt" - 1 AS "attempt";

-- name: extend
-- Moves the expiry of every delivery in work, and returns those whose rows it wrote. A row that is locked is skipped,
-- not waited for, and is tried again. An outcome of a row that this statement has locked waits for its commit.
--   :ids  list of ids
--   :tokens  list of timestamptz, one for each id: the expiries held
--   :sents  list of timestamptz, one for each id: expiries sent and not answered, or the tokens
--   :attempts  list of integers, one for each id: as the rows hold them
--   :locked_until  timestamptz, the new expiry: now + 60 s
-- Transaction: its own, at READ COMMITTED; before held, when rows are missing from its answer.
-- Locks: the rows of the lists, until its commit.
-- Index: the primary key.
-- Runs: every half lease.
WITH held AS (
    SELECT * FROM unnest(CAST(:ids AS bigint[]), CAST(:tokens AS timestamptz[]),
        CAST(:sents AS timestamptz[]), CAST(:attempts AS integer[])) AS h(id, token, sent, attempt)
), locked AS (
    SELECT h.* FROM "report_jobs" AS t JOIN held AS h ON t."job_id" = h.id
    WHERE t."locked_until" IN (h.token, h.sent) AND t."attempt" = h.attempt
        AND t."processed_at" IS NULL
    FOR NO KEY UPDATE OF t SKIP LOCKED
)
UPDATE "report_jobs" AS t
SET "locked_until" = :locked_until
FROM locked AS h
WHERE t."job_id" = h.id AND t."locked_until" IN (h.token, h.sent) AND t."attempt" = h.attempt
    AND t."processed_at" IS NULL
RETURNING t."job_id";

-- name: held
-- Reads which of the rows that extend left out still hold their token, or an expiry that was sent, and which of
-- the two. A row that does not come back is lost.
--   :ids  list of ids
--   :tokens  list of timestamptz, one for each id: the expiries held
--   :sents  list of timestamptz, one for each id: expiries sent and not answered, or the tokens
--   :attempts  list of integers, one for each id: as the rows hold them
-- Transaction: that of extend.
-- Locks: none.
-- Index: the primary key.
-- Runs: when extend returned fewer rows than it was given.
SELECT t."job_id", t."locked_until"
FROM "report_jobs" AS t JOIN unnest(CAST(:ids AS bigint[]), CAST(:tokens AS timestamptz[]),
    CAST(:sents AS timestamptz[]), CAST(:attempts AS integer[])) AS h(id, token, sent, attempt)
    ON t."job_id" = h.id AND t."locked_until" IN (h.token, h.sent) AND t."attempt" = h.attempt
        AND t."processed_at" IS NULL;

-- name: release
-- Gives rows back at once that were handed out and not settled: the attempt stays counted. Rows that another claim holds are passed over.
--   :ids  list of ids
--   :tokens  list of timestamptz, one for each id: the expiries held
--   :sents  list of timestamptz, one for each id: expiries sent and not answered, or the tokens
--   :attempts  list of integers, one for each id: as the rows hold them
-- Transaction: the caller's when one is open, else its own.
-- Locks: the rows of the lists, until the commit.
-- Index: the primary key.
-- Runs: when a claim's block is left; when a handler that ran on after its worker's end has ended.
UPDATE "report_jobs" AS t
SET "locked_until" = NULL
FROM unnest(CAST(:ids AS bigint[]), CAST(:tokens AS timestamptz[]), CAST(:sents AS timestamptz[]),
    CAST(:attempts AS integer[])) AS h(id, token, sent, attempt)
WHERE t."job_id" = h.id AND t."locked_until" IN (h.token, h.sent) AND t."attempt" = h.attempt
    AND t."processed_at" IS NULL
RETURNING t."job_id";

-- name: give_back
-- Gives rows back at once that a worker's stop, or a caller's decision, keeps from being settled, with their attempt.
--   :ids  list of ids
--   :tokens  list of timestamptz, one for each id: the expiries held
--   :sents  list of timestamptz, one for each id: expiries sent and not answered, or the tokens
--   :attempts  list of integers, one for each id: as the rows hold them
-- Transaction: the caller's when one is open, else its own.
-- Locks: the rows of the lists, until the commit.
-- Index: the primary key.
-- Runs: when a worker stops, before a handler or once it has ended; on a release; when a claim's block is left, for what was not handed out.
UPDATE "report_jobs" AS t
SET "locked_until" = NULL, "attempt" = t."attempt" - 1
FROM unnest(CAST(:ids AS bigint[]), CAST(:tokens AS timestamptz[]), CAST(:sents AS timestamptz[]),
    CAST(:attempts AS integer[])) AS h(id, token, sent, attempt)
WHERE t."job_id" = h.id AND t."locked_until" IN (h.token, h.sent) AND t."attempt" = h.attempt
    AND t."processed_at" IS NULL
RETURNING t."job_id";

-- name: shorten
-- Moves the expiry of rows nearer whose handlers run on after their worker's end, and gives their attempt back. A row that is locked is skipped: it is tried again.
--   :ids  list of ids
--   :tokens  list of timestamptz, one for each id: the expiries held
--   :sents  list of timestamptz, one for each id: expiries sent and not answered, or the tokens
--   :attempts  list of integers, one for each id: as the rows hold them
--   :soon  timestamptz, the new expiry: nearer than the one held
-- Transaction: its own, at READ COMMITTED.
-- Locks: the rows of the lists, until its commit.
-- Index: the primary key.
-- Runs: when a worker ends whose handlers do not.
WITH held AS (
    SELECT * FROM unnest(CAST(:ids AS bigint[]), CAST(:tokens AS timestamptz[]),
        CAST(:sents AS timestamptz[]), CAST(:attempts AS integer[])) AS h(id, token, sent, attempt)
), locked AS (
    SELECT h.* FROM "report_jobs" AS t JOIN held AS h ON t."job_id" = h.id
    WHERE t."locked_until" IN (h.token, h.sent) AND t."attempt" = h.attempt
        AND t."processed_at" IS NULL
    FOR NO KEY UPDATE OF t SKIP LOCKED
)
UPDATE "report_jobs" AS t
SET "locked_until" = :soon, "attempt" = t."attempt" - 1
FROM locked AS h
WHERE t."job_id" = h.id AND t."locked_until" IN (h.token, h.sent) AND t."attempt" = h.attempt
    AND t."processed_at" IS NULL
RETURNING t."job_id";

-- name: ack
-- Finishes the row: it stays, marked. No row: the lease is lost.
--   :now  timestamptz, the host's clock
--   :id  bigint
--   :token  timestamptz, the expiry held
--   :sent  timestamptz, an expiry sent and not answered, or the token again
--   :attempt  integer, as the row holds it: one more than the delivery's
-- Transaction: the caller's when one is open, else its own.
-- Locks: one row, until the commit.
-- Index: the primary key.
-- Runs: once per delivery.
UPDATE "report_jobs"
SET "processed_at" = :now, "locked_until" = NULL
WHERE "job_id" = :id AND "locked_until" IN (:token, :sent) AND "attempt" = :attempt
    AND "processed_at" IS NULL;

-- name: retry
-- Makes the row due now, behind the rows of its priority that are due, or claimed at once if none are. No row: the lease is lost.
--   :now  timestamptz, the host's clock
--   :id  bigint
--   :token  timestamptz, the expiry held
--   :sent  timestamptz, an expiry sent and not answered, or the token again
--   :attempt  integer, as the row holds it: one more than the delivery's
-- Transaction: the caller's when one is open, else its own.
-- Locks: one row, until the commit.
-- Index: the primary key.
-- Runs: once per delivery that is retried.
UPDATE "report_jobs"
SET "retry_after" = :now, "locked_until" = NULL
WHERE "job_id" = :id AND "locked_until" IN (:token, :sent) AND "attempt" = :attempt
    AND "processed_at" IS NULL;

-- name: retry_after
-- Makes the row due at :due. No row: the lease is lost.
--   :due  timestamptz, when the row is due again
--   :id  bigint
--   :token  timestamptz, the expiry held
--   :sent  timestamptz, an expiry sent and not answered, or the token again
--   :attempt  integer, as the row holds it: one more than the delivery's
-- Transaction: the caller's when one is open, else its own.
-- Locks: one row, until the commit.
-- Index: the primary key.
-- Runs: once per delivery that is retried.
UPDATE "report_jobs"
SET "retry_after" = :due, "locked_until" = NULL
WHERE "job_id" = :id AND "locked_until" IN (:token, :sent) AND "attempt" = :attempt
    AND "processed_at" IS NULL;

-- name: dead_letter
-- Moves the row into the dead-letter table, in one statement. An older one of the same id is replaced. No row: the lease is lost.
--   :id  bigint
--   :token  timestamptz, the expiry held
--   :sent  timestamptz, an expiry sent and not answered, or the token again
--   :attempt  integer, as the row holds it: one more than the delivery's
--   :reason  text, why the row is given up
--   :error  text or NULL, what went wrong
--   :now  timestamptz, the host's clock
-- Transaction: the caller's when one is open, else its own.
-- Locks: one row, until the commit.
-- Index: the primary key.
-- Runs: once per dead letter.
WITH moved AS (
    DELETE FROM "report_jobs"
    WHERE "job_id" = :id AND "locked_until" IN (:token, :sent) AND "attempt" = :attempt
        AND "processed_at" IS NULL
    RETURNING "job_id", "queue", "urgency", "customer", "retry_after", "attempt", "locked_until",
        "processed_at", "payload", "note"
)
INSERT INTO "report_jobs_dead" ("job_id", "queue", "urgency", "customer", "retry_after", "attempt",
    "locked_until", "processed_at", "payload", "note", "reason", "error", "died_at")
SELECT "job_id", "queue", "urgency", "customer", "retry_after", "attempt" - 1, NULL, "processed_at",
    "payload", "note", CAST(:reason AS text), CAST(:error AS text), :now
FROM moved
ON CONFLICT ("job_id") DO UPDATE
SET "queue" = excluded."queue", "urgency" = excluded."urgency", "customer" = excluded."customer",
    "retry_after" = excluded."retry_after", "attempt" = excluded."attempt",
    "locked_until" = excluded."locked_until", "processed_at" = excluded."processed_at",
    "payload" = excluded."payload", "note" = excluded."note", "reason" = excluded."reason",
    "error" = excluded."error", "died_at" = excluded."died_at";

-- name: present
-- Whether the row is still this delivery's, and unchanged: then a trigger cancelled the write, and its holder is told so.
--   :id  bigint
--   :token  timestamptz, the expiry held
--   :sent  timestamptz, an expiry sent and not answered, or the token again
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
--   :queue  varchar(40)
--   :urgency  smallint
--   :customer  varchar(80)
--   :payload  jsonb
--   :remark  text or NULL
--   :retry_after  timestamptz(6)
-- Transaction: the producer's; it never commits.
-- Locks: the new row, which nobody else sees before the commit.
-- Index: none.
-- Runs: once per row.
INSERT INTO "report_jobs" ("queue", "urgency", "customer", "payload", "note", "attempt",
    "retry_after")
VALUES (:queue, :urgency, :customer, CAST(:payload AS jsonb), :remark, 1, :retry_after)
RETURNING "job_id";

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
--   :ids  list of ids
--   :now  timestamptz, the host's clock
-- Transaction: the caller's when one is open, else its own.
-- Locks: the rows, in both tables, until the commit; in order of their ids.
-- Index: the primary keys of both tables.
-- Runs: when an operator brings dead letters back; where it is refused, again for each half.
WITH chosen AS (
    SELECT "job_id", "queue", "urgency", "customer", "retry_after", "attempt", "locked_until",
        "processed_at", "payload", "note" FROM "report_jobs_dead"
    WHERE "job_id" = ANY(CAST(:ids AS bigint[]))
    ORDER BY "job_id"
    FOR UPDATE
), moved AS (
    INSERT INTO "report_jobs" ("job_id", "queue", "urgency", "customer", "retry_after", "attempt",
        "locked_until", "processed_at", "payload", "note") OVERRIDING SYSTEM VALUE
    SELECT d."job_id", d."queue", COALESCE(d."urgency", 0), d."customer", :now, 1, NULL, NULL,
        d."payload", d."note"
    FROM chosen AS d
    ON CONFLICT DO NOTHING
    RETURNING "job_id"
)
DELETE FROM "report_jobs_dead" AS d USING moved AS c
WHERE d."job_id" = c."job_id"
RETURNING d."job_id";

-- name: redrive_number
-- Moves the numbering of ids past :id, where it has not come so far: after a TRUNCATE .. RESTART IDENTITY the
-- next enqueue would take the id of a row that came back.
--   :id  bigint
-- Transaction: the same, after redrive. The numbering keeps its value when that is rolled back.
-- Locks: none.
-- Index: none.
-- Runs: once per page of dead letters, with the greatest id that came back.
SELECT setval(s.numbers, :id) FROM (SELECT CAST(pg_get_serial_sequence('"report_jobs"',
    'job_id') AS regclass) AS numbers) AS s
WHERE CASE WHEN has_sequence_privilege(s.numbers, 'USAGE') AND has_sequence_privilege(s.numbers,
    'UPDATE')
    THEN COALESCE(pg_sequence_last_value(s.numbers), 0) < :id ELSE FALSE END;

-- name: dead_among
-- Which of these rows are dead letters still: after a redrive that brought back fewer than it was given.
--   :ids  list of ids
-- Transaction: that of redrive, after it.
-- Locks: none.
-- Index: the primary key of the dead-letter table.
-- Runs: when redrive left rows behind.
SELECT d."job_id" FROM "report_jobs_dead" AS d
WHERE d."job_id" = ANY(CAST(:ids AS bigint[]));

-- name: purge_oldest
-- Lists and locks up to :limit rows that were finished before :before, the oldest first.
--   :before  timestamptz, rows that were finished earlier
--   :limit  integer, at most so many rows
-- Transaction: its own; committed before the next page. Before purge.
-- Locks: the rows it returns, until the commit. A row that is locked is passed over.
-- Index: report_jobs_purge
-- Runs: first, when an operator or a timer purges.
SELECT t."job_id", t."processed_at" FROM "report_jobs" AS t
WHERE t."processed_at" < :before
ORDER BY t."processed_at"
LIMIT :limit
FOR UPDATE SKIP LOCKED;

-- name: purge_next
-- Lists the next ones, from :since on. So a row that cannot be deleted does not hold up those after it.
--   :before  timestamptz, rows that were finished earlier
--   :since  timestamptz, when the last row of the page before was finished
--   :limit  integer, at most so many rows
-- Transaction: its own; committed before the next page. Before purge.
-- Locks: the rows it returns, until the commit. A row that is locked is passed over.
-- Index: report_jobs_purge
-- Runs: for each further page.
SELECT t."job_id", t."processed_at" FROM "report_jobs" AS t
WHERE t."processed_at" < :before AND t."processed_at" >= :since
ORDER BY t."processed_at"
LIMIT :limit
FOR UPDATE SKIP LOCKED;

-- name: purge
-- Deletes rows that were listed.
--   :ids  list of ids
-- Transaction: the same, after the list.
-- Locks: rows that are locked already; and what foreign keys and triggers need.
-- Index: the primary key.
-- Runs: once per page; where the database refuses it, again for each half, down to the rows that it refuses.
DELETE FROM "report_jobs"
WHERE "job_id" = ANY(CAST(:ids AS bigint[]));

-- name: purge_left
-- Which of the rows are there still: a trigger can cancel a DELETE without an error.
--   :ids  list of ids
-- Transaction: the same, after purge.
-- Locks: none.
-- Index: the primary key.
-- Runs: when purge deleted fewer rows than it was given.
SELECT t."job_id" FROM "report_jobs" AS t
WHERE t."job_id" = ANY(CAST(:ids AS bigint[]));

-- name: stats_priorities
-- Lists the priorities of one group that unfinished rows have, by steps through the index.
--   :group  varchar(40)
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
--   :now  timestamptz, the host's clock
--   :group  varchar(40)
--   :priority  smallint
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
--   :group  varchar(40)
--   :priority  smallint
--   :now  timestamptz, the host's clock
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
--   :now  timestamptz, the host's clock
--   :priority  smallint
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
--   :priority  smallint
--   :now  timestamptz, the host's clock
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

-- name: row_security
-- Whether row level security decides which rows this login sees, of the table or of its dead letters.
-- Transaction: any, or none.
-- Locks: none.
-- Index: none.
-- Runs: once per look at the table.
SELECT row_security_active('"report_jobs"')
    OR row_security_active('"report_jobs_dead"');
