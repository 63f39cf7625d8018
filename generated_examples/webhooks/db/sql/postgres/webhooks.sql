-- From tables.toml: edit that and run `sqlclaimgen build`.
-- format 1 · form lease · postgres

-- name: claim
-- Takes up to :limit due rows of one group, in claim order, and counts the attempt.
--   :group  varchar(80)
--   :now  timestamptz, the host's clock
--   :set_aside  list of ids, the rows that are left out: none, or those that the database refused lately
--   :limit  integer, at most so many rows
--   :locked_until  timestamptz, the new expiry: now + 20 s
-- Transaction: its own, at READ COMMITTED; the only statement. Rows are the claim's after COMMIT only.
-- Locks: the rows it returns, until its commit. NO KEY: a child row's foreign-key check never waits.
-- Index: calls_claim, and the primary key.
-- Runs: once per poll.
WITH candidate AS (
    SELECT "id" FROM "hooks"."calls"
    WHERE "target" = :group AND "due" <= :now AND ("held_until" IS NULL OR "held_until" <= :now)
        AND "id" <> ALL(CAST(:set_aside AS bigint[]))
    ORDER BY "due", "id"
    LIMIT :limit
    FOR NO KEY UPDATE SKIP LOCKED
)
, taken AS (
    UPDATE "hooks"."calls" AS t
    SET "held_until" = :locked_until, "attempt" = LEAST(t."attempt", 2147483646) + 1
    WHERE t."id" = ANY(ARRAY(SELECT c."id" FROM candidate AS c))
    RETURNING t."id", t."target", t."due", t."error", CAST(t."headers" AS text) AS "headers",
        CAST(t."body" AS text) AS "body", t."attempt" - 1 AS "attempt"
)
SELECT "id", "target", "due", "error", "headers", "body", "attempt"
FROM taken
ORDER BY "due", "id";

-- name: candidates
-- Locks the rows that claim would take, and returns their ids in claim order.
--   :group  varchar(80)
--   :now  timestamptz, the host's clock
--   :set_aside  list of ids, the rows that are left out: none, or those that the database refused lately
--   :limit  integer, at most so many rows
-- Transaction: the claim's, at READ COMMITTED; before candidates_take.
-- Locks: the rows it returns, until the commit. NO KEY: a child row's foreign-key check never waits.
-- Index: calls_claim
-- Runs: when the database refused claim because of one row.
SELECT "id" FROM "hooks"."calls"
WHERE "target" = :group AND "due" <= :now AND ("held_until" IS NULL OR "held_until" <= :now)
    AND "id" <> ALL(CAST(:set_aside AS bigint[]))
ORDER BY "due", "id"
LIMIT :limit
FOR NO KEY UPDATE SKIP LOCKED;

-- name: candidates_take
-- Takes rows that the statement before it locked, and counts the attempt. They come back in no order.
--   :locked_until  timestamptz, the new expiry: now + 20 s
--   :ids  list of ids
-- Transaction: that of candidates, after it, behind a savepoint.
-- Locks: rows that the transaction holds already.
-- Index: the primary key.
-- Runs: when the database refused a claim because of one row; where it is refused, again for each half.
UPDATE "hooks"."calls"
SET "held_until" = :locked_until, "attempt" = LEAST("attempt", 2147483646) + 1
WHERE "id" = ANY(CAST(:ids AS bigint[]))
RETURNING "id", "target", "due", "error", CAST("headers" AS text) AS "headers",
    CAST("body" AS text) AS "body", "attempt" - 1 AS "attempt";

-- name: extend
-- Moves the expiry of every delivery in work, and returns those whose rows it wrote. A row that is locked is skipped,
-- not waited for, and is tried again. An outcome of a row that this statement has locked waits for its commit.
--   :ids  list of ids
--   :tokens  list of timestamptz, one for each id: the expiries held
--   :sents  list of timestamptz, one for each id: expiries sent and not answered, or the tokens
--   :attempts  list of integers, one for each id: as the rows hold them
--   :locked_until  timestamptz, the new expiry: now + 20 s
-- Transaction: its own, at READ COMMITTED; before held, when rows are missing from its answer.
-- Locks: the rows of the lists, until its commit.
-- Index: the primary key.
-- Runs: every half lease.
WITH held AS (
    SELECT * FROM unnest(CAST(:ids AS bigint[]), CAST(:tokens AS timestamptz[]),
        CAST(:sents AS timestamptz[]), CAST(:attempts AS integer[])) AS h(id, token, sent, attempt)
), locked AS (
    SELECT h.* FROM "hooks"."calls" AS t JOIN held AS h ON t."id" = h.id
    WHERE t."held_until" IN (h.token, h.sent) AND t."attempt" = h.attempt
    FOR NO KEY UPDATE OF t SKIP LOCKED
)
UPDATE "hooks"."calls" AS t
SET "held_until" = :locked_until
FROM locked AS h
WHERE t."id" = h.id AND t."held_until" IN (h.token, h.sent) AND t."attempt" = h.attempt
RETURNING t."id";

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
SELECT t."id", t."held_until"
FROM "hooks"."calls" AS t JOIN unnest(CAST(:ids AS bigint[]), CAST(:tokens AS timestamptz[]),
    CAST(:sents AS timestamptz[]), CAST(:attempts AS integer[])) AS h(id, token, sent, attempt)
    ON t."id" = h.id AND t."held_until" IN (h.token, h.sent) AND t."attempt" = h.attempt;

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
UPDATE "hooks"."calls" AS t
SET "held_until" = NULL
FROM unnest(CAST(:ids AS bigint[]), CAST(:tokens AS timestamptz[]), CAST(:sents AS timestamptz[]),
    CAST(:attempts AS integer[])) AS h(id, token, sent, attempt)
WHERE t."id" = h.id AND t."held_until" IN (h.token, h.sent) AND t."attempt" = h.attempt
RETURNING t."id";

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
UPDATE "hooks"."calls" AS t
SET "held_until" = NULL, "attempt" = t."attempt" - 1
FROM unnest(CAST(:ids AS bigint[]), CAST(:tokens AS timestamptz[]), CAST(:sents AS timestamptz[]),
    CAST(:attempts AS integer[])) AS h(id, token, sent, attempt)
WHERE t."id" = h.id AND t."held_until" IN (h.token, h.sent) AND t."attempt" = h.attempt
RETURNING t."id";

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
    SELECT h.* FROM "hooks"."calls" AS t JOIN held AS h ON t."id" = h.id
    WHERE t."held_until" IN (h.token, h.sent) AND t."attempt" = h.attempt
    FOR NO KEY UPDATE OF t SKIP LOCKED
)
UPDATE "hooks"."calls" AS t
SET "held_until" = :soon, "attempt" = t."attempt" - 1
FROM locked AS h
WHERE t."id" = h.id AND t."held_until" IN (h.token, h.sent) AND t."attempt" = h.attempt
RETURNING t."id";

-- name: ack
-- Finishes the row: it is deleted. No row: the lease is lost.
--   :id  bigint
--   :token  timestamptz, the expiry held
--   :sent  timestamptz, an expiry sent and not answered, or the token again
--   :attempt  integer, as the row holds it: one more than the delivery's
-- Transaction: the caller's when one is open, else its own.
-- Locks: one row, until the commit.
-- Index: the primary key.
-- Runs: once per delivery.
DELETE FROM "hooks"."calls"
WHERE "id" = :id AND "held_until" IN (:token, :sent) AND "attempt" = :attempt;

-- name: retry
-- Makes the row due now, behind the rows that are due, or claimed at once if none are. No row: the lease is lost.
--   :now  timestamptz, the host's clock
--   :error  text or NULL, what went wrong
--   :id  bigint
--   :token  timestamptz, the expiry held
--   :sent  timestamptz, an expiry sent and not answered, or the token again
--   :attempt  integer, as the row holds it: one more than the delivery's
-- Transaction: the caller's when one is open, else its own.
-- Locks: one row, until the commit.
-- Index: the primary key.
-- Runs: once per delivery that is retried.
UPDATE "hooks"."calls"
SET "due" = :now, "held_until" = NULL, "error" = :error
WHERE "id" = :id AND "held_until" IN (:token, :sent) AND "attempt" = :attempt;

-- name: retry_after
-- Makes the row due at :due. No row: the lease is lost.
--   :due  timestamptz, when the row is due again
--   :error  text or NULL, what went wrong
--   :id  bigint
--   :token  timestamptz, the expiry held
--   :sent  timestamptz, an expiry sent and not answered, or the token again
--   :attempt  integer, as the row holds it: one more than the delivery's
-- Transaction: the caller's when one is open, else its own.
-- Locks: one row, until the commit.
-- Index: the primary key.
-- Runs: once per delivery that is retried.
UPDATE "hooks"."calls"
SET "due" = :due, "held_until" = NULL, "error" = :error
WHERE "id" = :id AND "held_until" IN (:token, :sent) AND "attempt" = :attempt;

-- name: dead_letter
-- Moves the row to the group 'escalated', from its first attempt again. No row: the lease is lost.
--   :now  timestamptz, the host's clock
--   :error  text or NULL, what went wrong
--   :reason  text, why the row is given up
--   :id  bigint
--   :token  timestamptz, the expiry held
--   :sent  timestamptz, an expiry sent and not answered, or the token again
--   :attempt  integer, as the row holds it: one more than the delivery's
-- Transaction: the caller's when one is open, else its own.
-- Locks: one row, until the commit.
-- Index: the primary key.
-- Runs: once per dead letter.
UPDATE "hooks"."calls"
SET "origin" = "target", "target" = 'escalated', "attempt" = 1, "due" = :now, "held_until" = NULL,
    "error" = COALESCE(CAST(:error AS text), CAST(:reason AS text))
WHERE "id" = :id AND "held_until" IN (:token, :sent) AND "attempt" = :attempt;

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
SELECT "id" FROM "hooks"."calls"
WHERE "id" = :id AND "held_until" IN (:token, :sent) AND "attempt" = :attempt;

-- name: enqueue
-- Adds one row.
--   :target  varchar(80)
--   :headers  jsonb or NULL
--   :body  json
--   :due  timestamptz(6)
-- Transaction: the producer's; it never commits.
-- Locks: the new row, which nobody else sees before the commit.
-- Index: none.
-- Runs: once per row.
INSERT INTO "hooks"."calls" ("target", "headers", "body", "attempt", "due")
VALUES (:target, CAST(:headers AS jsonb), CAST(:body AS json), 1, :due)
RETURNING "id";

-- name: redrive_oldest
-- Lists up to :limit dead letters that can be brought back, the oldest first, for redrive.
--   :now  timestamptz, the host's clock
--   :limit  integer, at most so many rows
-- Transaction: that of redrive, before it.
-- Locks: none.
-- Index: calls_claim
-- Runs: when an operator brings dead letters back.
SELECT "id" FROM "hooks"."calls"
WHERE "target" >= 'escalated' AND "target" <= 'escalated' AND "origin" IS NOT NULL
    AND ("held_until" IS NULL OR "held_until" <= :now)
ORDER BY "target", "due", "id"
LIMIT :limit;

-- name: redrive
-- Brings dead letters back to the group they came from: due now, from their first attempt.
-- A row without origin stays: nothing says where it came from.
--   :ids  list of ids
--   :now  timestamptz, the host's clock
-- Transaction: the caller's when one is open, else its own.
-- Locks: the rows it returns, until the commit. A row that is locked is passed over.
-- Index: the primary key.
-- Runs: when an operator brings dead letters back; where it is refused, again for each half.
WITH chosen AS (
    SELECT "id" FROM "hooks"."calls"
    WHERE "id" = ANY(CAST(:ids AS bigint[])) AND "target" = 'escalated' AND "origin" IS NOT NULL
        AND ("held_until" IS NULL OR "held_until" <= :now)
    FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE "hooks"."calls" AS t
SET "target" = t."origin", "origin" = NULL, "attempt" = 1, "due" = :now, "held_until" = NULL
FROM chosen AS c
WHERE t."id" = c."id"
RETURNING t."id";

-- name: stats_due
-- Counts the rows of one group that are due or in work, and finds the oldest due time.
-- It looks at the first :most rows whose time has come only; the last column says at how many.
--   :now  timestamptz, the host's clock
--   :group  varchar(80)
--   :most  integer, where counting stops
-- Transaction: any, or none.
-- Locks: none.
-- Index: calls_claim
-- Runs: once per look at the table.
SELECT COUNT(CASE WHEN ("held_until" IS NULL OR "held_until" <= :now) THEN 1 END) AS due_rows,
    COUNT(CASE WHEN "held_until" > :now THEN 1 END) AS rows_in_work,
    MIN(CASE WHEN ("held_until" IS NULL OR "held_until" <= :now) THEN "due" END) AS oldest,
    COUNT(*) AS looked_at
FROM (
    SELECT "id", "due", "held_until" FROM "hooks"."calls"
    WHERE "target" = :group AND "due" <= :now
    ORDER BY "due", "id" LIMIT :most
) AS looked;

-- name: stats_delayed
-- Counts the rows of one group that are not due yet, as far as :most.
--   :group  varchar(80)
--   :now  timestamptz, the host's clock
--   :most  integer, where counting stops
-- Transaction: any, or none.
-- Locks: none.
-- Index: calls_claim
-- Runs: once per look at the table.
SELECT COUNT(*) FROM (
    SELECT "id" FROM "hooks"."calls"
    WHERE "target" = :group AND "due" > :now
    ORDER BY "due", "id" LIMIT :most
) AS looked;

-- name: stats_dead
-- Counts the dead letters, as far as :most.
--   :most  integer, where counting stops
-- Transaction: any, or none.
-- Locks: none.
-- Index: calls_claim
-- Runs: once per look at the table.
SELECT COUNT(*) FROM (
    SELECT "id" FROM "hooks"."calls"
    WHERE "target" >= 'escalated' AND "target" <= 'escalated'
    ORDER BY "target", "due", "id"
    LIMIT :most
) AS looked;

-- name: row_security
-- Whether row level security decides which rows this login sees.
-- Transaction: any, or none.
-- Locks: none.
-- Index: none.
-- Runs: once per look at the table.
SELECT row_security_active('"hooks"."calls"');
