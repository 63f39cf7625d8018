-- From tables.toml: edit that and run `sqlclaimgen build`.
-- format 1 · form lease · sqlite

-- name: walk_first
-- Looks at the groups from the first on, :window of them, and tells which have a head that can be claimed
-- and nothing in work; no group is beyond while :until is NULL.
--   :window  integer, at most so many due rows are read
--   :now  microseconds since 1970, UTC, the host's clock
--   :set_aside  list of ids, the rows that are left out: none, or those that the database refused lately
--   :until  INTEGER
-- Transaction: the claim's, before claim_table: what it says is decided again by claim_table.
-- Locks: none.
-- Index: ledger_claim, ledger_work
-- Runs: once per circle through the groups.
WITH RECURSIVE step(candidate_group) AS (
    SELECT (SELECT t."account" FROM "ledger" AS t
            WHERE t."booked_at" IS NULL
            ORDER BY t."account" LIMIT 1)
    UNION ALL
    SELECT (SELECT t."account" FROM "ledger" AS t
            WHERE t."booked_at" IS NULL AND t."account" > step.candidate_group
            ORDER BY t."account" LIMIT 1)
    FROM step WHERE step.candidate_group IS NOT NULL
), seen AS (
    SELECT candidate_group FROM step WHERE candidate_group IS NOT NULL LIMIT :window
)
SELECT seen.candidate_group,
    COALESCE((SELECT y."book_after" <= :now
        AND y."entry" NOT IN (SELECT value FROM json_each(:set_aside)) FROM "ledger" AS y
        WHERE y."booked_at" IS NULL AND y."account" = seen.candidate_group
        ORDER BY y."account", y."entry" LIMIT 1), 0)
    AND NOT EXISTS (
        SELECT 1 FROM "ledger" AS b
        WHERE b."booked_at" IS NULL AND b."account" = seen.candidate_group
            AND b."locked_until" > :now
    ) AS ready,
    COALESCE(seen.candidate_group > :until, 0) AS beyond
FROM seen AS seen
ORDER BY seen.candidate_group;

-- name: walk
-- Looks at the groups after :after, :window of them, as walk_first does; those after :until are beyond the
-- circle, which began there.
--   :after  INTEGER
--   :window  integer, at most so many due rows are read
--   :now  microseconds since 1970, UTC, the host's clock
--   :set_aside  list of ids, the rows that are left out: none, or those that the database refused lately
--   :until  INTEGER
-- Transaction: the claim's, before claim_table: what it says is decided again by claim_table.
-- Locks: none.
-- Index: ledger_claim, ledger_work
-- Runs: once per poll, and again while groups are wanted.
WITH RECURSIVE step(candidate_group) AS (
    SELECT (SELECT t."account" FROM "ledger" AS t
            WHERE t."booked_at" IS NULL AND t."account" > :after
            ORDER BY t."account" LIMIT 1)
    UNION ALL
    SELECT (SELECT t."account" FROM "ledger" AS t
            WHERE t."booked_at" IS NULL AND t."account" > step.candidate_group
            ORDER BY t."account" LIMIT 1)
    FROM step WHERE step.candidate_group IS NOT NULL
), seen AS (
    SELECT candidate_group FROM step WHERE candidate_group IS NOT NULL LIMIT :window
)
SELECT seen.candidate_group,
    COALESCE((SELECT y."book_after" <= :now
        AND y."entry" NOT IN (SELECT value FROM json_each(:set_aside)) FROM "ledger" AS y
        WHERE y."booked_at" IS NULL AND y."account" = seen.candidate_group
        ORDER BY y."account", y."entry" LIMIT 1), 0)
    AND NOT EXISTS (
        SELECT 1 FROM "ledger" AS b
        WHERE b."booked_at" IS NULL AND b."account" = seen.candidate_group
            AND b."locked_until" > :now
    ) AS ready,
    COALESCE(seen.candidate_group > :until, 0) AS beyond
FROM seen AS seen
ORDER BY seen.candidate_group;

-- name: claim
-- Takes the head of a group, and counts the attempt.
-- The head is the first row, due or not: one that is not due holds its group.
-- A group of which a row is in work yields nothing, whatever has come before that row since.
-- One writer at a time: no guard is needed.
--   :locked_until  microseconds since 1970, UTC, the new expiry: now + 30 s
--   :group  INTEGER
--   :now  microseconds since 1970, UTC, the host's clock
--   :set_aside  list of ids, the rows that are left out: none, or those that the database refused lately
-- Transaction: its own, BEGIN IMMEDIATE. Rows are the claim's after COMMIT only.
-- Locks: the one writer's lock, until its commit.
-- Index: ledger_claim, ledger_work and the primary key.
-- Runs: once per poll.
UPDATE "ledger"
SET "locked_until" = :locked_until, "attempt" = MIN("attempt", 9223372036854775806) + 1
WHERE "entry" = (
        SELECT y."entry" FROM "ledger" AS y
        WHERE y."booked_at" IS NULL AND y."account" = :group
        ORDER BY y."entry" LIMIT 1
    )
    AND "booked_at" IS NULL AND "book_after" <= :now
        AND "entry" NOT IN (SELECT value FROM json_each(:set_aside))
        AND ("locked_until" IS NULL OR "locked_until" <= :now)
    AND NOT EXISTS (
        SELECT 1 FROM "ledger" AS b
        WHERE b."booked_at" IS NULL AND b."account" = :group AND b."locked_until" > :now
    )
RETURNING +"entry", +"account", "book_after", +"cents", "text", "attempt" - 1 AS "attempt";

-- name: candidates
-- Returns the rows that claim would take, as they are.
--   :group  INTEGER
--   :now  microseconds since 1970, UTC, the host's clock
--   :set_aside  list of ids, the rows that are left out: none, or those that the database refused lately
-- Transaction: the claim's, BEGIN IMMEDIATE; before candidates_take.
-- Locks: the one writer's lock, until the commit.
-- Index: ledger_claim, ledger_work and the primary key.
-- Runs: when the database refused claim because of one row.
SELECT +t."entry", +t."account", t."book_after", +t."cents", t."text", t."attempt"
FROM "ledger" AS t
WHERE t."entry" = (
        SELECT y."entry" FROM "ledger" AS y
        WHERE y."booked_at" IS NULL AND y."account" = :group
        ORDER BY y."entry" LIMIT 1
    )
    AND t."booked_at" IS NULL AND t."book_after" <= :now
        AND t."entry" NOT IN (SELECT value FROM json_each(:set_aside))
        AND (t."locked_until" IS NULL OR t."locked_until" <= :now)
    AND NOT EXISTS (
        SELECT 1 FROM "ledger" AS b
        WHERE b."booked_at" IS NULL AND b."account" = :group AND b."locked_until" > :now
    );

-- name: claim_table
-- Takes the heads of the groups that walk found, and counts the attempt.
-- The head is the first row, due or not: one that is not due holds its group.
-- A group of which a row is in work yields nothing, whatever has come before that row since.
-- One writer at a time: no guard is needed.
--   :locked_until  microseconds since 1970, UTC, the new expiry: now + 30 s
--   :groups  list of groups
--   :now  microseconds since 1970, UTC, the host's clock
--   :set_aside  list of ids, the rows that are left out: none, or those that the database refused lately
-- Transaction: its own, BEGIN IMMEDIATE, after walk. Rows are the claim's after COMMIT only.
-- Locks: the one writer's lock, until its commit.
-- Index: ledger_claim, ledger_work and the primary key.
-- Runs: once per poll.
UPDATE "ledger"
SET "locked_until" = :locked_until, "attempt" = MIN("attempt", 9223372036854775806) + 1
WHERE "entry" IN (
    SELECT (SELECT y."entry" FROM "ledger" AS y
        WHERE y."booked_at" IS NULL AND y."account" = g.candidate_group
        ORDER BY y."account", y."entry" LIMIT 1)
    FROM (SELECT value AS candidate_group FROM json_each(:groups)) AS g
    WHERE NOT EXISTS (
        SELECT 1 FROM "ledger" AS b
        WHERE b."booked_at" IS NULL AND b."account" = g.candidate_group AND b."locked_until" > :now
    )
)
    AND "booked_at" IS NULL AND "book_after" <= :now
        AND "entry" NOT IN (SELECT value FROM json_each(:set_aside))
        AND ("locked_until" IS NULL OR "locked_until" <= :now)
RETURNING +"entry", +"account", "book_after", +"cents", "text", "attempt" - 1 AS "attempt";

-- name: candidates_table
-- Returns the rows that claim_table would take, as they are.
--   :groups  list of groups
--   :now  microseconds since 1970, UTC, the host's clock
--   :set_aside  list of ids, the rows that are left out: none, or those that the database refused lately
-- Transaction: the claim's, BEGIN IMMEDIATE; before candidates_take.
-- Locks: the one writer's lock, until the commit.
-- Index: ledger_claim, ledger_work and the primary key.
-- Runs: when the database refused claim_table because of one row.
SELECT +t."entry", +t."account", t."book_after", +t."cents", t."text", t."attempt"
FROM "ledger" AS t
WHERE t."entry" IN (
    SELECT (SELECT y."entry" FROM "ledger" AS y
        WHERE y."booked_at" IS NULL AND y."account" = g.candidate_group
        ORDER BY y."account", y."entry" LIMIT 1)
    FROM (SELECT value AS candidate_group FROM json_each(:groups)) AS g
    WHERE NOT EXISTS (
        SELECT 1 FROM "ledger" AS b
        WHERE b."booked_at" IS NULL AND b."account" = g.candidate_group AND b."locked_until" > :now
    )
)
    AND t."booked_at" IS NULL AND t."book_after" <= :now
        AND t."entry" NOT IN (SELECT value FROM json_each(:set_aside))
        AND (t."locked_until" IS NULL OR t."locked_until" <= :now);

-- name: candidates_take
-- Takes rows that the statement before it locked, and counts the attempt. They come back in no order.
--   :locked_until  microseconds since 1970, UTC, the new expiry: now + 30 s
--   :ids  list of ids
-- Transaction: that of candidates, after it, behind a savepoint.
-- Locks: the one writer's lock, until the commit.
-- Index: the primary key.
-- Runs: when the database refused a claim because of one row; where it is refused, again for each half.
UPDATE "ledger"
SET "locked_until" = :locked_until, "attempt" = MIN("attempt", 9223372036854775806) + 1
WHERE "entry" IN (SELECT value FROM json_each(:ids))
RETURNING +"entry", +"account", "book_after", +"cents", "text", "attempt" - 1 AS "attempt";

-- name: extend
-- Moves the expiry of every delivery in work, and returns those whose rows it wrote.
--   :locked_until  microseconds since 1970, UTC, the new expiry: now + 30 s
--   :held  list of id, token and attempt
-- Transaction: its own, BEGIN IMMEDIATE; before held, when rows are missing from its answer.
-- Locks: the one writer's lock, until its commit.
-- Index: the primary key.
-- Runs: every half lease.
UPDATE "ledger" AS t
SET "locked_until" = :locked_until
WHERE t."entry" IN (    SELECT r."entry" FROM (
    SELECT json_extract(value, '$[0]') AS id, json_extract(value, '$[1]') AS token,
        json_extract(value, '$[2]') AS sent, json_extract(value, '$[3]') AS attempt
    FROM json_each(:held)
) AS h CROSS JOIN "ledger" AS r
    ON r."entry" = h.id AND r."locked_until" IN (h.token, h.sent) AND r."attempt" = h.attempt
        AND r."booked_at" IS NULL
)
RETURNING +"entry";

-- name: held
-- Reads which of the rows that extend left out still hold their token, or an expiry that was sent, and which of
-- the two. A row that does not come back is lost.
--   :held  list of id, token and attempt
-- Transaction: that of extend.
-- Locks: none.
-- Index: the primary key.
-- Runs: when extend returned fewer rows than it was given.
SELECT t."entry", t."locked_until"
FROM (
    SELECT json_extract(value, '$[0]') AS id, json_extract(value, '$[1]') AS token,
        json_extract(value, '$[2]') AS sent, json_extract(value, '$[3]') AS attempt
    FROM json_each(:held)
) AS h
CROSS JOIN "ledger" AS t ON t."entry" = h.id AND t."locked_until" IN (h.token, h.sent)
    AND t."attempt" = h.attempt AND t."booked_at" IS NULL;

-- name: release
-- Gives rows back at once that were handed out and not settled: the attempt stays counted. Rows that another claim holds are passed over.
--   :held  list of id, token and attempt
-- Transaction: the caller's when one is open, else its own.
-- Locks: the one writer's lock, until the commit.
-- Index: the primary key.
-- Runs: when a claim's block is left; when a handler that ran on after its worker's end has ended.
UPDATE "ledger" AS t
SET "locked_until" = NULL
WHERE t."entry" IN (    SELECT r."entry" FROM (
    SELECT json_extract(value, '$[0]') AS id, json_extract(value, '$[1]') AS token,
        json_extract(value, '$[2]') AS sent, json_extract(value, '$[3]') AS attempt
    FROM json_each(:held)
) AS h CROSS JOIN "ledger" AS r
    ON r."entry" = h.id AND r."locked_until" IN (h.token, h.sent) AND r."attempt" = h.attempt
        AND r."booked_at" IS NULL
)
RETURNING +"entry";

-- name: give_back
-- Gives rows back at once that a worker's stop, or a caller's decision, keeps from being settled, with their attempt.
--   :held  list of id, token and attempt
-- Transaction: the caller's when one is open, else its own.
-- Locks: the one writer's lock, until the commit.
-- Index: the primary key.
-- Runs: when a worker stops, before a handler or once it has ended; on a release; when a claim's block is left, for what was not handed out.
UPDATE "ledger" AS t
SET "locked_until" = NULL, "attempt" = t."attempt" - 1
WHERE t."entry" IN (    SELECT r."entry" FROM (
    SELECT json_extract(value, '$[0]') AS id, json_extract(value, '$[1]') AS token,
        json_extract(value, '$[2]') AS sent, json_extract(value, '$[3]') AS attempt
    FROM json_each(:held)
) AS h CROSS JOIN "ledger" AS r
    ON r."entry" = h.id AND r."locked_until" IN (h.token, h.sent) AND r."attempt" = h.attempt
        AND r."booked_at" IS NULL
)
RETURNING +"entry";

-- name: shorten
-- Moves the expiry of rows nearer whose handlers run on after their worker's end, and gives their attempt back.
--   :soon  microseconds since 1970, UTC, the new expiry: nearer than the one held
--   :held  list of id, token and attempt
-- Transaction: its own, BEGIN IMMEDIATE.
-- Locks: the one writer's lock, until its commit.
-- Index: the primary key.
-- Runs: when a worker ends whose handlers do not.
UPDATE "ledger" AS t
SET "locked_until" = :soon, "attempt" = t."attempt" - 1
WHERE t."entry" IN (    SELECT r."entry" FROM (
    SELECT json_extract(value, '$[0]') AS id, json_extract(value, '$[1]') AS token,
        json_extract(value, '$[2]') AS sent, json_extract(value, '$[3]') AS attempt
    FROM json_each(:held)
) AS h CROSS JOIN "ledger" AS r
    ON r."entry" = h.id AND r."locked_until" IN (h.token, h.sent) AND r."attempt" = h.attempt
        AND r."booked_at" IS NULL
)
RETURNING +"entry";

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
UPDATE "ledger"
SET "booked_at" = :now, "locked_until" = NULL
WHERE "entry" = :id AND "locked_until" IN (:token, :sent) AND "attempt" = :attempt
    AND "booked_at" IS NULL;

-- name: retry
-- Makes the row due now, in its place: the next claim of its group takes it again. No row: the lease is lost.
--   :now  microseconds since 1970, UTC, the host's clock
--   :id  INTEGER
--   :token  microseconds since 1970, UTC, the expiry held
--   :sent  microseconds since 1970, UTC, an expiry sent and not answered, or the token again
--   :attempt  integer, as the row holds it: one more than the delivery's
-- Transaction: the caller's when one is open, else its own.
-- Locks: the one writer's lock, until the commit.
-- Index: the primary key.
-- Runs: once per delivery that is retried.
UPDATE "ledger"
SET "book_after" = :now, "locked_until" = NULL
WHERE "entry" = :id AND "locked_until" IN (:token, :sent) AND "attempt" = :attempt
    AND "booked_at" IS NULL;

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
UPDATE "ledger"
SET "book_after" = :due, "locked_until" = NULL
WHERE "entry" = :id AND "locked_until" IN (:token, :sent) AND "attempt" = :attempt
    AND "booked_at" IS NULL;

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
INSERT INTO "ledger_rejected" ("entry", "account", "book_after", "attempt", "locked_until",
    "booked_at", "cents", "text", "reason", "error", "died_at")
SELECT "entry", "account", "book_after", "attempt" - 1, NULL, "booked_at", "cents", "text", :reason,
    :error, :now
FROM "ledger"
WHERE "entry" = :id AND "locked_until" IN (:token, :sent) AND "attempt" = :attempt
    AND "booked_at" IS NULL
ON CONFLICT ("entry") DO UPDATE
SET "account" = excluded."account", "book_after" = excluded."book_after",
    "attempt" = excluded."attempt", "locked_until" = excluded."locked_until",
    "booked_at" = excluded."booked_at", "cents" = excluded."cents", "text" = excluded."text",
    "reason" = excluded."reason", "error" = excluded."error", "died_at" = excluded."died_at";

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
DELETE FROM "ledger"
WHERE "entry" = :id AND "locked_until" IN (:token, :sent) AND "attempt" = :attempt
    AND "booked_at" IS NULL;

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
SELECT "entry" FROM "ledger"
WHERE "entry" = :id AND "locked_until" IN (:token, :sent) AND "attempt" = :attempt
    AND "booked_at" IS NULL;

-- name: enqueue
-- Adds one row.
--   :account  INTEGER
--   :cents  INTEGER
--   :text  TEXT
--   :book_after  INTEGER
-- Transaction: the producer's; it never commits.
-- Locks: the one writer's lock, until the commit.
-- Index: none.
-- Runs: once per row.
INSERT INTO "ledger" ("account", "cents", "text", "attempt", "book_after")
VALUES (:account, :cents, :text, 1, :book_after)
RETURNING +"entry";

-- name: redrive_oldest
-- Lists up to :limit dead letters that can be brought back, the oldest first, for redrive.
-- A subselect per row, not NOT EXISTS: that may become a join that reads both tables through.
--   :limit  integer, at most so many rows
-- Transaction: that of redrive, before it.
-- Locks: none.
-- Index: ledger_rejected_oldest
-- Runs: when an operator brings dead letters back.
SELECT d."entry" FROM "ledger_rejected" AS d
WHERE (SELECT 1 FROM "ledger" AS q WHERE q."entry" = d."entry" LIMIT 1) IS NULL
ORDER BY d."died_at", d."entry"
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
INSERT INTO "ledger" ("entry", "account", "book_after", "attempt", "locked_until", "booked_at",
    "cents", "text")
SELECT d."entry", d."account", :now, 1, NULL, NULL, d."cents", COALESCE(d."text", '')
FROM "ledger_rejected" AS d
WHERE d."entry" IN (SELECT value FROM json_each(:ids))
ON CONFLICT DO NOTHING
RETURNING +"entry";

-- name: redrive_remove
-- Removes the dead letters that redrive brought back.
--   :ids  list of ids
-- Transaction: the same, after redrive.
-- Locks: the one writer's lock, until the commit.
-- Index: the primary key of the dead-letter table.
-- Runs: when an operator brings dead letters back.
DELETE FROM "ledger_rejected"
WHERE "entry" IN (SELECT value FROM json_each(:ids));

-- name: dead_among
-- Which of these rows are dead letters still: after a redrive that brought back fewer than it was given.
--   :ids  list of ids
-- Transaction: that of redrive, after it.
-- Locks: none.
-- Index: the primary key of the dead-letter table.
-- Runs: when redrive left rows behind.
SELECT d."entry" FROM "ledger_rejected" AS d
WHERE d."entry" IN (SELECT value FROM json_each(:ids));

-- name: purge_oldest
-- Lists up to :limit rows that were finished before :before, the oldest first.
--   :before  microseconds since 1970, UTC, rows that were finished earlier
--   :limit  integer, at most so many rows
-- Transaction: its own, BEGIN IMMEDIATE; committed before the next page. Before purge.
-- Locks: the one writer's lock, until the commit.
-- Index: ledger_purge
-- Runs: first, when an operator or a timer purges.
SELECT t."entry", t."booked_at" FROM "ledger" AS t
WHERE t."booked_at" < :before
ORDER BY t."booked_at"
LIMIT :limit;

-- name: purge_next
-- Lists the next ones, from :since on. So a row that cannot be deleted does not hold up those after it.
--   :before  microseconds since 1970, UTC, rows that were finished earlier
--   :since  microseconds since 1970, UTC, when the last row of the page before was finished
--   :limit  integer, at most so many rows
-- Transaction: its own, BEGIN IMMEDIATE; committed before the next page. Before purge.
-- Locks: the one writer's lock, until the commit.
-- Index: ledger_purge
-- Runs: for each further page.
SELECT t."entry", t."booked_at" FROM "ledger" AS t
WHERE t."booked_at" < :before AND t."booked_at" >= :since
ORDER BY t."booked_at"
LIMIT :limit;

-- name: purge
-- Deletes rows that were listed.
--   :ids  list of ids
-- Transaction: the same, after the list.
-- Locks: the one writer's lock; and what foreign keys and triggers need.
-- Index: the primary key.
-- Runs: once per page; where the database refuses it, again for each half, down to the rows that it refuses.
DELETE FROM "ledger"
WHERE "entry" IN (SELECT value FROM json_each(:ids));

-- name: purge_left
-- Which of the rows are there still: a trigger can cancel a DELETE without an error.
--   :ids  list of ids
-- Transaction: the same, after purge.
-- Locks: none.
-- Index: the primary key.
-- Runs: when purge deleted fewer rows than it was given.
SELECT t."entry" FROM "ledger" AS t
WHERE t."entry" IN (SELECT value FROM json_each(:ids));

-- name: stats_due
-- Counts the rows of one group that are due, delayed or in work, and finds the oldest due time.
-- It looks at the first :most unfinished rows only; the last column says at how many.
-- They come in the order of the group, so the oldest due time is known only where there are no more.
--   :now  microseconds since 1970, UTC, the host's clock
--   :group  INTEGER
--   :most  integer, where counting stops
-- Transaction: any, or none.
-- Locks: none.
-- Index: ledger_claim
-- Runs: once per look at the table.
SELECT COUNT(CASE WHEN "book_after" <= :now
    AND ("locked_until" IS NULL OR "locked_until" <= :now) THEN 1 END) AS due_rows,
    COUNT(CASE WHEN "book_after" > :now THEN 1 END) AS delayed_rows,
    COUNT(CASE WHEN "locked_until" > :now THEN 1 END) AS rows_in_work,
    MIN(CASE WHEN "book_after" <= :now
        AND ("locked_until" IS NULL OR "locked_until" <= :now) THEN "book_after" END) AS oldest,
    COUNT(*) AS looked_at
FROM (
    SELECT "entry", "book_after", "locked_until" FROM "ledger"
    WHERE "account" = :group AND "booked_at" IS NULL
    ORDER BY "entry" LIMIT :most
) AS looked;

-- name: stats_due_table
-- Counts the rows that are due, delayed or in work, and finds the oldest due time.
-- It looks at the first :most unfinished rows only; the last column says at how many.
-- They come in the order of the groups, so the oldest due time is known only where there are no more.
--   :now  microseconds since 1970, UTC, the host's clock
--   :most  integer, where counting stops
-- Transaction: any, or none.
-- Locks: none.
-- Index: ledger_claim
-- Runs: once per look at the table.
SELECT COUNT(CASE WHEN "book_after" <= :now
    AND ("locked_until" IS NULL OR "locked_until" <= :now) THEN 1 END) AS due_rows,
    COUNT(CASE WHEN "book_after" > :now THEN 1 END) AS delayed_rows,
    COUNT(CASE WHEN "locked_until" > :now THEN 1 END) AS rows_in_work,
    MIN(CASE WHEN "book_after" <= :now
        AND ("locked_until" IS NULL OR "locked_until" <= :now) THEN "book_after" END) AS oldest,
    COUNT(*) AS looked_at
FROM (
    SELECT "entry", "book_after", "locked_until" FROM "ledger"
    WHERE "booked_at" IS NULL
    ORDER BY "account", "entry" LIMIT :most
) AS looked;

-- name: stats_dead
-- Counts the dead letters, as far as :most.
--   :most  integer, where counting stops
-- Transaction: any, or none.
-- Locks: none.
-- Index: any of the dead-letter table, or none: it stops at :most rows
-- Runs: once per look at the table.
SELECT COUNT(*) FROM (SELECT "entry" FROM "ledger_rejected" LIMIT :most) AS looked;
