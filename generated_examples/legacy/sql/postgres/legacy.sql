-- From tables.toml: edit that and run `sqlclaimgen build`.
-- format 1 · form lease · postgres

-- name: claim
-- Takes up to :limit due rows, in claim order, and counts the attempt.
--   :now  timestamptz, the host's clock
--   :set_aside  list of ids, the rows that are left out: none, or those that the database refused lately
--   :limit  integer, at most so many rows
--   :locked_until  timestamptz, the new expiry: now + 120 s
-- Transaction: its own, at READ COMMITTED; the only statement. Rows are the claim's after COMMIT only.
-- Locks: the rows it returns, until its commit. NO KEY: a child row's foreign-key check never waits.
-- Index: Job Queue_claim, and the primary key.
-- Runs: once per poll.
WITH candidate AS (
    SELECT "Job No" FROM "Job Queue"
    WHERE "State" = 0 AND "Due" <= :now AND ("Locked" IS NULL OR "Locked" <= :now)
        AND "Job No" <> ALL(CAST(:set_aside AS varchar(40)[]))
    ORDER BY "Due", "Job No"
    LIMIT :limit
    FOR NO KEY UPDATE SKIP LOCKED
)
, taken AS (
    UPDATE "Job Queue" AS t
    SET "Locked" = :locked_until, "tries" = LEAST(t."tries", 2147483646) + 1
    WHERE t."Job No" = ANY(ARRAY(SELECT c."Job No" FROM candidate AS c))
    RETURNING t."Job No", t."class", t."Due", t."last error", t."reply-to", t."tries" - 1 AS "tries"
)
SELECT "Job No", "class", "Due", "last error", "reply-to", "tries"
FROM taken
ORDER BY "Due", "Job No";

-- name: candidates
-- Locks the rows that claim would take, and returns their ids in claim order.
--   :now  timestamptz, the host's clock
--   :set_aside  list of ids, the rows that are left out: none, or those that the database refused lately
--   :limit  integer, at most so many rows
-- Transaction: the claim's, at READ COMMITTED; before candidates_take.
-- Locks: the rows it returns, until the commit. NO KEY: a child row's foreign-key check never waits.
-- Index: Job Queue_claim
-- Runs: when the database refused claim because of one row.
SELECT "Job No" FROM "Job Queue"
WHERE "State" = 0 AND "Due" <= :now AND ("Locked" IS NULL OR "Locked" <= :now)
    AND "Job No" <> ALL(CAST(:set_aside AS varchar(40)[]))
ORDER BY "Due", "Job No"
LIMIT :limit
FOR NO KEY UPDATE SKIP LOCKED;

-- name: candidates_take
-- Takes rows that the statement before it locked, and counts the attempt. They come back in no order.
--   :locked_until  timestamptz, the new expiry: now + 120 s
--   :ids  list of ids
-- Transaction: that of candidates, after it, behind a savepoint.
-- Locks: rows that the transaction holds already.
-- Index: the primary key.
-- Runs: when the database refused a claim because of one row; where it is refused, again for each half.
UPDATE "Job Queue"
SET "Locked" = :locked_until, "tries" = LEAST("tries", 2147483646) + 1
WHERE "Job No" = ANY(CAST(:ids AS varchar(40)[]))
RETURNING "Job No", "class", "Due", "last error", "reply-to", "tries" - 1 AS "tries";

-- name: extend
-- Moves the expiry of every delivery in work, and returns those whose rows it wrote. A row that is locked is skipped,
-- not waited for, and is tried again. An outcome of a row that this statement has locked waits for its commit.
--   :ids  list of ids
--   :tokens  list of timestamptz, one for each id: the expiries held
--   :sents  list of timestamptz, one for each id: expiries sent and not answered, or the tokens
--   :attempts  list of integers, one for each id: as the rows hold them
--   :locked_until  timestamptz, the new expiry: now + 120 s
-- Transaction: its own, at READ COMMITTED; before held, when rows are missing from its answer.
-- Locks: the rows of the lists, until its commit.
-- Index: the primary key.
-- Runs: every half lease.
WITH held AS (
    SELECT * FROM unnest(CAST(:ids AS varchar(40)[]), CAST(:tokens AS timestamptz[]),
        CAST(:sents AS timestamptz[]), CAST(:attempts AS integer[])) AS h(id, token, sent, attempt)
), locked AS (
    SELECT h.* FROM "Job Queue" AS t JOIN held AS h ON t."Job No" = h.id
    WHERE t."Locked" IN (h.token, h.sent) AND t."tries" = h.attempt AND t."State" = 0
    FOR NO KEY UPDATE OF t SKIP LOCKED
)
UPDATE "Job Queue" AS t
SET "Locked" = :locked_until
FROM locked AS h
WHERE t."Job No" = h.id AND t."Locked" IN (h.token, h.sent) AND t."tries" = h.attempt
    AND t."State" = 0
RETURNING t."Job No";

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
SELECT t."Job No", t."Locked"
FROM "Job Queue" AS t JOIN unnest(CAST(:ids AS varchar(40)[]), CAST(:tokens AS timestamptz[]),
    CAST(:sents AS timestamptz[]), CAST(:attempts AS integer[])) AS h(id, token, sent, attempt)
    ON t."Job No" = h.id AND t."Locked" IN (h.token, h.sent) AND t."tries" = h.attempt
        AND t."State" = 0;

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
UPDATE "Job Queue" AS t
SET "Locked" = NULL
FROM unnest(CAST(:ids AS varchar(40)[]), CAST(:tokens AS timestamptz[]),
    CAST(:sents AS timestamptz[]), CAST(:attempts AS integer[])) AS h(id, token, sent, attempt)
WHERE t."Job No" = h.id AND t."Locked" IN (h.token, h.sent) AND t."tries" = h.attempt
    AND t."State" = 0
RETURNING t."Job No";

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
UPDATE "Job Queue" AS t
SET "Locked" = NULL, "tries" = t."tries" - 1
FROM unnest(CAST(:ids AS varchar(40)[]), CAST(:tokens AS timestamptz[]),
    CAST(:sents AS timestamptz[]), CAST(:attempts AS integer[])) AS h(id, token, sent, attempt)
WHERE t."Job No" = h.id AND t."Locked" IN (h.token, h.sent) AND t."tries" = h.attempt
    AND t."State" = 0
RETURNING t."Job No";

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
    SELECT * FROM unnest(CAST(:ids AS varchar(40)[]), CAST(:tokens AS timestamptz[]),
        CAST(:sents AS timestamptz[]), CAST(:attempts AS integer[])) AS h(id, token, sent, attempt)
), locked AS (
    SELECT h.* FROM "Job Queue" AS t JOIN held AS h ON t."Job No" = h.id
    WHERE t."Locked" IN (h.token, h.sent) AND t."tries" = h.attempt AND t."State" = 0
    FOR NO KEY UPDATE OF t SKIP LOCKED
)
UPDATE "Job Queue" AS t
SET "Locked" = :soon, "tries" = t."tries" - 1
FROM locked AS h
WHERE t."Job No" = h.id AND t."Locked" IN (h.token, h.sent) AND t."tries" = h.attempt
    AND t."State" = 0
RETURNING t."Job No";

-- name: ack
-- Finishes the row: it stays, marked. No row: the lease is lost.
--   :now  timestamptz, the host's clock
--   :id  varchar(40)
--   :token  timestamptz, the expiry held
--   :sent  timestamptz, an expiry sent and not answered, or the token again
--   :attempt  integer, as the row holds it: one more than the delivery's
-- Transaction: the caller's when one is open, else its own.
-- Locks: one row, until the commit.
-- Index: the primary key.
-- Runs: once per delivery.
UPDATE "Job Queue"
SET "Done At" = :now, "State" = 1, "Locked" = NULL
WHERE "Job No" = :id AND "Locked" IN (:token, :sent) AND "tries" = :attempt AND "State" = 0;

-- name: retry
-- Makes the row due now, behind the rows that are due, or claimed at once if none are. No row: the lease is lost.
--   :now  timestamptz, the host's clock
--   :error  text or NULL, what went wrong
--   :id  varchar(40)
--   :token  timestamptz, the expiry held
--   :sent  timestamptz, an expiry sent and not answered, or the token again
--   :attempt  integer, as the row holds it: one more than the delivery's
-- Transaction: the caller's when one is open, else its own.
-- Locks: one row, until the commit.
-- Index: the primary key.
-- Runs: once per delivery that is retried.
UPDATE "Job Queue"
SET "Due" = :now, "Locked" = NULL, "last error" = :error
WHERE "Job No" = :id AND "Locked" IN (:token, :sent) AND "tries" = :attempt AND "State" = 0;

-- name: retry_after
-- Makes the row due at :due. No row: the lease is lost.
--   :due  timestamptz, when the row is due again
--   :error  text or NULL, what went wrong
--   :id  varchar(40)
--   :token  timestamptz, the expiry held
--   :sent  timestamptz, an expiry sent and not answered, or the token again
--   :attempt  integer, as the row holds it: one more than the delivery's
-- Transaction: the caller's when one is open, else its own.
-- Locks: one row, until the commit.
-- Index: the primary key.
-- Runs: once per delivery that is retried.
UPDATE "Job Queue"
SET "Due" = :due, "Locked" = NULL, "last error" = :error
WHERE "Job No" = :id AND "Locked" IN (:token, :sent) AND "tries" = :attempt AND "State" = 0;

-- name: dead_letter
-- Gives the row up: it stays, marked dead. No row: the lease is lost.
--   :now  timestamptz, the host's clock
--   :error  text or NULL, what went wrong
--   :reason  text, why the row is given up
--   :id  varchar(40)
--   :token  timestamptz, the expiry held
--   :sent  timestamptz, an expiry sent and not answered, or the token again
--   :attempt  integer, as the row holds it: one more than the delivery's
-- Transaction: the caller's when one is open, else its own.
-- Locks: one row, until the commit.
-- Index: the primary key.
-- Runs: once per dead letter.
UPDATE "Job Queue"
SET "Done At" = :now, "State" = 9, "Locked" = NULL, "last error" = COALESCE(CAST(:error AS text),
    CAST(:reason AS text))
WHERE "Job No" = :id AND "Locked" IN (:token, :sent) AND "tries" = :attempt AND "State" = 0;

-- name: present
-- Whether the row is still this delivery's, and unchanged: then a trigger cancelled the write, and its holder is told so.
--   :id  varchar(40)
--   :token  timestamptz, the expiry held
--   :sent  timestamptz, an expiry sent and not answered, or the token again
--   :attempt  integer, as the row holds it: one more than the delivery's
-- Transaction: the settlement's, after it.
-- Locks: none.
-- Index: the primary key.
-- Runs: after a settlement that counted no row.
SELECT "Job No" FROM "Job Queue"
WHERE "Job No" = :id AND "Locked" IN (:token, :sent) AND "tries" = :attempt AND "State" = 0;

-- name: enqueue
-- Adds one row.
--   :Job_No  varchar(40)
--   :class_  varchar(40)
--   :reply_to  varchar(200) or NULL
--   :due  timestamptz(6)
-- Transaction: the producer's; it never commits.
-- Locks: the new row, which nobody else sees before the commit; another insert of the same id waits for the commit.
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
--   :ids  list of ids
--   :now  timestamptz, the host's clock
-- Transaction: the caller's when one is open, else its own.
-- Locks: the rows it returns, until the commit. A row that is locked is passed over.
-- Index: the primary key.
-- Runs: when an operator brings dead letters back; where it is refused, again for each half.
WITH chosen AS (
    SELECT "Job No" FROM "Job Queue"
    WHERE "Job No" = ANY(CAST(:ids AS varchar(40)[])) AND "State" = 9
    FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE "Job Queue" AS t
SET "State" = 0, "Done At" = NULL, "tries" = 1, "Due" = :now, "Locked" = NULL
FROM chosen AS c
WHERE t."Job No" = c."Job No"
RETURNING t."Job No";

-- name: purge_oldest
-- Lists and locks up to :limit rows that were finished before :before, the oldest first.
--   :before  timestamptz, rows that were finished earlier
--   :limit  integer, at most so many rows
-- Transaction: its own; committed before the next page. Before purge.
-- Locks: the rows it returns, until the commit. A row that is locked is passed over.
-- Index: Job Queue_purge
-- Runs: first, when an operator or a timer purges.
SELECT t."Job No", t."Done At" FROM "Job Queue" AS t
WHERE t."Done At" < :before AND t."State" = 1
ORDER BY t."Done At"
LIMIT :limit
FOR UPDATE SKIP LOCKED;

-- name: purge_next
-- Lists the next ones, from :since on. So a row that cannot be deleted does not hold up those after it.
--   :before  timestamptz, rows that were finished earlier
--   :since  timestamptz, when the last row of the page before was finished
--   :limit  integer, at most so many rows
-- Transaction: its own; committed before the next page. Before purge.
-- Locks: the rows it returns, until the commit. A row that is locked is passed over.
-- Index: Job Queue_purge
-- Runs: for each further page.
SELECT t."Job No", t."Done At" FROM "Job Queue" AS t
WHERE t."Done At" < :before AND t."State" = 1 AND t."Done At" >= :since
ORDER BY t."Done At"
LIMIT :limit
FOR UPDATE SKIP LOCKED;

-- name: purge
-- Deletes rows that were listed.
--   :ids  list of ids
-- Transaction: the same, after the list.
-- Locks: rows that are locked already; and what foreign keys and triggers need.
-- Index: the primary key.
-- Runs: once per page; where the database refuses it, again for each half, down to the rows that it refuses.
DELETE FROM "Job Queue"
WHERE "Job No" = ANY(CAST(:ids AS varchar(40)[]));

-- name: purge_left
-- Which of the rows are there still: a trigger can cancel a DELETE without an error.
--   :ids  list of ids
-- Transaction: the same, after purge.
-- Locks: none.
-- Index: the primary key.
-- Runs: when purge deleted fewer rows than it was given.
SELECT t."Job No" FROM "Job Queue" AS t
WHERE t."Job No" = ANY(CAST(:ids AS varchar(40)[]));

-- name: stats_due
-- Counts the rows that are due or in work, and finds the oldest due time.
-- It looks at the first :most rows whose time has come only; the last column says at how many.
--   :now  timestamptz, the host's clock
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
--   :now  timestamptz, the host's clock
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

-- name: row_security
-- Whether row level security decides which rows this login sees.
-- Transaction: any, or none.
-- Locks: none.
-- Index: none.
-- Runs: once per look at the table.
SELECT row_security_active('"Job Queue"');
