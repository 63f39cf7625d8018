-- From tables.toml: edit that and run `sqlclaimgen build`.
-- format 1 · form lease · postgres

-- name: walk_first
-- Looks at the groups from the first on, :window of them, and tells which have a head that can be claimed
-- and nothing in work; no group is beyond while :until is NULL.
--   :window  integer, at most so many due rows are read
--   :now  timestamptz, the host's clock
--   :set_aside  list of ids, the rows that are left out: none, or those that the database refused lately
--   :until  bigint
-- Transaction: the claim's, before guard: what it says is decided again by claim_table.
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
        AND y."entry" <> ALL(CAST(:set_aside AS bigint[])) FROM "ledger" AS y
        WHERE y."booked_at" IS NULL AND y."account" = seen.candidate_group
        ORDER BY y."account", y."entry" LIMIT 1), FALSE)
    AND NOT EXISTS (
        SELECT 1 FROM "ledger" AS b
        WHERE b."booked_at" IS NULL AND b."account" = seen.candidate_group
            AND b."locked_until" > :now
    ) AS ready,
    COALESCE(seen.candidate_group > CAST(:until AS bigint), FALSE) AS beyond
FROM seen AS seen
ORDER BY seen.candidate_group;

-- name: walk
-- Looks at the groups after :after, :window of them, as walk_first does; those after :until are beyond the
-- circle, which began there.
--   :after  bigint
--   :window  integer, at most so many due rows are read
--   :now  timestamptz, the host's clock
--   :set_aside  list of ids, the rows that are left out: none, or those that the database refused lately
--   :until  bigint
-- Transaction: the claim's, before guard: what it says is decided again by claim_table.
-- Locks: none.
-- Index: ledger_claim, ledger_work
-- Runs: once per poll, and again while groups are wanted.
WITH RECURSIVE step(candidate_group) AS (
    SELECT (SELECT t."account" FROM "ledger" AS t
            WHERE t."booked_at" IS NULL AND t."account" > CAST(:after AS bigint)
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
        AND y."entry" <> ALL(CAST(:set_aside AS bigint[])) FROM "ledger" AS y
        WHERE y."booked_at" IS NULL AND y."account" = seen.candidate_group
        ORDER BY y."account", y."entry" LIMIT 1), FALSE)
    AND NOT EXISTS (
        SELECT 1 FROM "ledger" AS b
        WHERE b."booked_at" IS NULL AND b."account" = seen.candidate_group
            AND b."locked_until" > :now
    ) AS ready,
    COALESCE(seen.candidate_group > CAST(:until AS bigint), FALSE) AS beyond
FROM seen AS seen
ORDER BY seen.candidate_group;

-- name: guard
-- Locks up to :limit of these groups against other claims, without waiting, and tells which: their places in
-- the list. The lock is on the table and the group, by the group's own equality. What decides is a statement
-- of its own after it: only what begins after the lock sees what its last holder committed.
--   :groups  list of groups
--   :limit  integer, at most so many rows
-- Transaction: the claim's, at READ COMMITTED; before claim and claim_table.
-- Locks: advisory, until the end of the transaction.
-- Index: none.
-- Runs: once per poll, and again while groups are wanted.
SELECT g.place
FROM unnest(CAST(:groups AS bigint[])) WITH ORDINALITY AS g(candidate_group, place)
WHERE pg_try_advisory_xact_lock(
    hash_array_extended(ARRAY[g.candidate_group], hashtextextended('ledger', 0)))
LIMIT :limit;

-- name: claim
-- Takes the head of a group that guard granted, and counts the attempt.
-- The head is the first row, due or not: one that is not due holds its group.
-- It is chosen first and locked by id: SKIP LOCKED where it is chosen would hand out the row behind a locked head.
-- A group of which a row is in work yields nothing, whatever has come before that row since.
--   :group  bigint
--   :now  timestamptz, the host's clock
--   :set_aside  list of ids, the rows that are left out: none, or those that the database refused lately
--   :locked_until  timestamptz, the new expiry: now + 30 s
-- Transaction: that of guard, at READ COMMITTED; after it. Rows are the claim's after COMMIT only.
-- Locks: the rows it returns, until the commit. NO KEY: a child row's foreign-key check never waits.
-- Index: ledger_claim, ledger_work and the primary key.
-- Runs: once per poll.
WITH head(candidate_id) AS (
    SELECT (SELECT y."entry" FROM "ledger" AS y
        WHERE y."booked_at" IS NULL AND y."account" = :group
        ORDER BY y."entry" LIMIT 1)
    WHERE NOT EXISTS (
        SELECT 1 FROM "ledger" AS b
        WHERE b."booked_at" IS NULL AND b."account" = :group AND b."locked_until" > :now
    )
), candidate AS (
    SELECT t."entry"
    FROM head AS h JOIN "ledger" AS t ON t."entry" = h.candidate_id
    WHERE t."booked_at" IS NULL AND t."book_after" <= :now
        AND t."entry" <> ALL(CAST(:set_aside AS bigint[]))
        AND (t."locked_until" IS NULL OR t."locked_until" <= :now)
    FOR NO KEY UPDATE OF t SKIP LOCKED
)
, taken AS (
    UPDATE "ledger" AS t
    SET "locked_until" = :locked_until, "attempt" = LEAST(t."attempt", 2147483646) + 1
    WHERE t."entry" = ANY(ARRAY(SELECT c."entry" FROM candidate AS c))
    RETURNING t."entry", t."account", t."book_after", t."cents", t."text",
        t."attempt" - 1 AS "attempt"
)
SELECT "entry", "account", "book_after", "cents", "text", "attempt"
FROM taken
ORDER BY "book_after", "entry";

-- name: candidates
-- Locks the rows that claim would take, and returns them as they are.
--   :group  bigint
--   :now  timestamptz, the host's clock
--   :set_aside  list of ids, the rows that are left out: none, or those that the database refused lately
-- Transaction: that of guard, at READ COMMITTED; after it and before candidates_take.
-- Locks: the rows it returns, until the commit. NO KEY: a child row's foreign-key check never waits.
-- Index: ledger_claim, ledger_work and the primary key.
-- Runs: when the database refused claim because of one row.
WITH head(candidate_id) AS (
    SELECT (SELECT y."entry" FROM "ledger" AS y
        WHERE y."booked_at" IS NULL AND y."account" = :group
        ORDER BY y."entry" LIMIT 1)
    WHERE NOT EXISTS (
        SELECT 1 FROM "ledger" AS b
        WHERE b."booked_at" IS NULL AND b."account" = :group AND b."locked_until" > :now
    )
)
SELECT t."entry", t."account", t."book_after", t."cents", t."text", t."attempt"
FROM head AS h JOIN "ledger" AS t ON t."entry" = h.candidate_id
WHERE t."booked_at" IS NULL AND t."book_after" <= :now
    AND t."entry" <> ALL(CAST(:set_aside AS bigint[]))
    AND (t."locked_until" IS NULL OR t."locked_until" <= :now)
FOR NO KEY UPDATE OF t SKIP LOCKED;

-- name: claim_table
-- Takes the heads of the groups that guard granted, and counts the attempt.
-- The head is the first row, due or not: one that is not due holds its group.
-- It is chosen first and locked by id: SKIP LOCKED where it is chosen would hand out the row behind a locked head.
-- A group of which a row is in work yields nothing, whatever has come before that row since.
--   :groups  list of groups
--   :now  timestamptz, the host's clock
--   :set_aside  list of ids, the rows that are left out: none, or those that the database refused lately
--   :locked_until  timestamptz, the new expiry: now + 30 s
-- Transaction: that of guard, at READ COMMITTED; after it. Rows are the claim's after COMMIT only.
-- Locks: the rows it returns, until the commit. NO KEY: a child row's foreign-key check never waits.
-- Index: ledger_claim, ledger_work and the primary key.
-- Runs: once per poll.
WITH head(candidate_id) AS (
    SELECT (SELECT y."entry" FROM "ledger" AS y
        WHERE y."booked_at" IS NULL AND y."account" = g.candidate_group
        ORDER BY y."account", y."entry" LIMIT 1)
    FROM unnest(CAST(:groups AS bigint[])) AS g(candidate_group)
    WHERE NOT EXISTS (
        SELECT 1 FROM "ledger" AS b
        WHERE b."booked_at" IS NULL AND b."account" = g.candidate_group AND b."locked_until" > :now
    )
), candidate AS (
    SELECT t."entry"
    FROM head AS h JOIN "ledger" AS t ON t."entry" = h.candidate_id
    WHERE t."booked_at" IS NULL AND t."book_after" <= :now
        AND t."entry" <> ALL(CAST(:set_aside AS bigint[]))
        AND (t."locked_until" IS NULL OR t."locked_until" <= :now)
    FOR NO KEY UPDATE OF t SKIP LOCKED
)
, taken AS (
    UPDATE "ledger" AS t
    SET "locked_until" = :locked_until, "attempt" = LEAST(t."attempt", 2147483646) + 1
    WHERE t."entry" = ANY(ARRAY(SELECT c."entry" FROM candidate AS c))
    RETURNING t."entry", t."account", t."book_after", t."cents", t."text",
        t."attempt" - 1 AS "attempt"
)
SELECT "entry", "account", "book_after", "cents", "text", "attempt"
FROM taken
ORDER BY "book_after", "entry";

-- name: candidates_table
-- Locks the rows that claim_table would take, and returns them as they are.
--   :groups  list of groups
--   :now  timestamptz, the host's clock
--   :set_aside  list of ids, the rows that are left out: none, or those that the database refused lately
-- Transaction: that of guard, at READ COMMITTED; after it and before candidates_take.
-- Locks: the rows it returns, until the commit. NO KEY: a child row's foreign-key check never waits.
-- Index: ledger_claim, ledger_work and the primary key.
-- Runs: when the database refused claim_table because of one row.
WITH head(candidate_id) AS (
    SELECT (SELECT y."entry" FROM "ledger" AS y
        WHERE y."booked_at" IS NULL AND y."account" = g.candidate_group
        ORDER BY y."account", y."entry" LIMIT 1)
    FROM unnest(CAST(:groups AS bigint[])) AS g(candidate_group)
    WHERE NOT EXISTS (
        SELECT 1 FROM "ledger" AS b
        WHERE b."booked_at" IS NULL AND b."account" = g.candidate_group AND b."locked_until" > :now
    )
)
SELECT t."entry", t."account", t."book_after", t."cents", t."text", t."attempt"
FROM head AS h JOIN "ledger" AS t ON t."entry" = h.candidate_id
WHERE t."booked_at" IS NULL AND t."book_after" <= :now
    AND t."entry" <> ALL(CAST(:set_aside AS bigint[]))
    AND (t."locked_until" IS NULL OR t."locked_until" <= :now)
FOR NO KEY UPDATE OF t SKIP LOCKED;

-- name: candidates_take
-- Takes rows that the statement before it locked, and counts the attempt. They come back in no order.
--   :locked_until  timestamptz, the new expiry: now + 30 s
--   :ids  list of ids
-- Transaction: that of candidates, after it, behind a savepoint.
-- Locks: rows that the transaction holds already.
-- Index: the primary key.
-- Runs: when the database refused a claim because of one row; where it is refused, again for each half.
UPDATE "ledger"
SET "locked_until" = :locked_until, "attempt" = LEAST("attempt", 2147483646) + 1
WHERE "entry" = ANY(CAST(:ids AS bigint[]))
RETURNING "entry", "account", "book_after", "cents", "text", "attempt" - 1 AS "attempt";

-- name: extend
-- Moves the expiry of every delivery in work, and returns those whose rows it wrote. A row that is locked is skipped,
-- not waited for, and is tried again. An outcome of a row that this statement has locked waits for its commit.
--   :ids  list of ids
--   :tokens  list of timestamptz, one for each id: the expiries held
--   :sents  list of timestamptz, one for each id: expiries sent and not answered, or the tokens
--   :attempts  list of integers, one for each id: as the rows hold them
--   :locked_until  timestamptz, the new expiry: now + 30 s
-- Transaction: its own, at READ COMMITTED; before held, when rows are missing from its answer.
-- Locks: the rows of the lists, until its commit.
-- Index: the primary key.
-- Runs: every half lease.
WITH held AS (
    SELECT * FROM unnest(CAST(:ids AS bigint[]), CAST(:tokens AS timestamptz[]),
        CAST(:sents AS timestamptz[]), CAST(:attempts AS integer[])) AS h(id, token, sent, attempt)
), locked AS (
    SELECT h.* FROM "ledger" AS t JOIN held AS h ON t."entry" = h.id
    WHERE t."locked_until" IN (h.token, h.sent) AND t."attempt" = h.attempt
        AND t."booked_at" IS NULL
    FOR NO KEY UPDATE OF t SKIP LOCKED
)
UPDATE "ledger" AS t
SET "locked_until" = :locked_until
FROM locked AS h
WHERE t."entry" = h.id AND t."locked_until" IN (h.token, h.sent) AND t."attempt" = h.attempt
    AND t."booked_at" IS NULL
RETURNING t."entry";

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
SELECT t."entry", t."locked_until"
FROM "ledger" AS t JOIN unnest(CAST(:ids AS bigint[]), CAST(:tokens AS timestamptz[]),
    CAST(:sents AS timestamptz[]), CAST(:attempts AS integer[])) AS h(id, token, sent, attempt)
    ON t."entry" = h.id AND t."locked_until" IN (h.token, h.sent) AND t."attempt" = h.attempt
        AND t."booked_at" IS NULL;

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
UPDATE "ledger" AS t
SET "locked_until" = NULL
FROM unnest(CAST(:ids AS bigint[]), CAST(:tokens AS timestamptz[]), CAST(:sents AS timestamptz[]),
    CAST(:attempts AS integer[])) AS h(id, token, sent, attempt)
WHERE t."entry" = h.id AND t."locked_until" IN (h.token, h.sent) AND t."attempt" = h.attempt
    AND t."booked_at" IS NULL
RETURNING t."entry";

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
UPDATE "ledger" AS t
SET "locked_until" = NULL, "attempt" = t."attempt" - 1
FROM unnest(CAST(:ids AS bigint[]), CAST(:tokens AS timestamptz[]), CAST(:sents AS timestamptz[]),
    CAST(:attempts AS integer[])) AS h(id, token, sent, attempt)
WHERE t."entry" = h.id AND t."locked_until" IN (h.token, h.sent) AND t."attempt" = h.attempt
    AND t."booked_at" IS NULL
RETURNING t."entry";

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
    SELECT h.* FROM "ledger" AS t JOIN held AS h ON t."entry" = h.id
    WHERE t."locked_until" IN (h.token, h.sent) AND t."attempt" = h.attempt
        AND t."booked_at" IS NULL
    FOR NO KEY UPDATE OF t SKIP LOCKED
)
UPDATE "ledger" AS t
SET "locked_until" = :soon, "attempt" = t."attempt" - 1
FROM locked AS h
WHERE t."entry" = h.id AND t."locked_until" IN (h.token, h.sent) AND t."attempt" = h.attempt
    AND t."booked_at" IS NULL
RETURNING t."entry";

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
UPDATE "ledger"
SET "booked_at" = :now, "locked_until" = NULL
WHERE "entry" = :id AND "locked_until" IN (:token, :sent) AND "attempt" = :attempt
    AND "booked_at" IS NULL;

-- name: retry
-- Makes the row due now, in its place: the next claim of its group takes it again. No row: the lease is lost.
--   :now  timestamptz, the host's clock
--   :id  bigint
--   :token  timestamptz, the expiry held
--   :sent  timestamptz, an expiry sent and not answered, or the token again
--   :attempt  integer, as the row holds it: one more than the delivery's
-- Transaction: the caller's when one is open, else its own.
-- Locks: one row, until the commit.
-- Index: the primary key.
-- Runs: once per delivery that is retried.
UPDATE "ledger"
SET "book_after" = :now, "locked_until" = NULL
WHERE "entry" = :id AND "locked_until" IN (:token, :sent) AND "attempt" = :attempt
    AND "booked_at" IS NULL;

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
UPDATE "ledger"
SET "book_after" = :due, "locked_until" = NULL
WHERE "entry" = :id AND "locked_until" IN (:token, :sent) AND "attempt" = :attempt
    AND "booked_at" IS NULL;

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
    DELETE FROM "ledger"
    WHERE "entry" = :id AND "locked_until" IN (:token, :sent) AND "attempt" = :attempt
        AND "booked_at" IS NULL
    RETURNING "entry", "account", "book_after", "attempt", "locked_until", "booked_at", "cents",
        "text"
)
INSERT INTO "ledger_rejected" ("entry", "account", "book_after", "attempt", "locked_until",
    "booked_at", "cents", "text", "reason", "error", "died_at")
SELECT "entry", "account", "book_after", "attempt" - 1, NULL, "booked_at", "cents", "text",
    CAST(:reason AS text), CAST(:error AS text), :now
FROM moved
ON CONFLICT ("entry") DO UPDATE
SET "account" = excluded."account", "book_after" = excluded."book_after",
    "attempt" = excluded."attempt", "locked_until" = excluded."locked_until",
    "booked_at" = excluded."booked_at", "cents" = excluded."cents", "text" = excluded."text",
    "reason" = excluded."reason", "error" = excluded."error", "died_at" = excluded."died_at";

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
SELECT "entry" FROM "ledger"
WHERE "entry" = :id AND "locked_until" IN (:token, :sent) AND "attempt" = :attempt
    AND "booked_at" IS NULL;

-- name: enqueue
-- Adds one row.
--   :account  bigint
--   :cents  bigint
--   :text  varchar(200)
--   :book_after  timestamptz(6)
-- Transaction: the producer's; it never commits.
-- Locks: the new row, which nobody else sees before the commit.
-- Index: none.
-- Runs: once per row.
INSERT INTO "ledger" ("account", "cents", "text", "attempt", "book_after")
VALUES (:account, :cents, :text, 1, :book_after)
RETURNING "entry";

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
--   :ids  list of ids
--   :now  timestamptz, the host's clock
-- Transaction: the caller's when one is open, else its own.
-- Locks: the rows, in both tables, until the commit; in order of their ids.
-- Index: the primary keys of both tables.
-- Runs: when an operator brings dead letters back; where it is refused, again for each half.
WITH chosen AS (
    SELECT "entry", "account", "book_after", "attempt", "locked_until", "booked_at", "cents",
        "text" FROM "ledger_rejected"
    WHERE "entry" = ANY(CAST(:ids AS bigint[]))
    ORDER BY "entry"
    FOR UPDATE
), moved AS (
    INSERT INTO "ledger" ("entry", "account", "book_after", "attempt", "locked_until", "booked_at",
        "cents", "text") OVERRIDING SYSTEM VALUE
    SELECT d."entry", d."account", :now, 1, NULL, NULL, d."cents", COALESCE(d."text", '')
    FROM chosen AS d
    ON CONFLICT DO NOTHING
    RETURNING "entry"
)
DELETE FROM "ledger_rejected" AS d USING moved AS c
WHERE d."entry" = c."entry"
RETURNING d."entry";

-- name: redrive_number
-- Moves the numbering of ids past :id, where it has not come so far: after a TRUNCATE .. RESTART IDENTITY the
-- next enqueue would take the id of a row that came back.
--   :id  bigint
-- Transaction: the same, after redrive. The numbering keeps its value when that is rolled back.
-- Locks: none.
-- Index: none.
-- Runs: once per page of dead letters, with the greatest id that came back.
SELECT setval(s.numbers, :id) FROM (SELECT CAST(pg_get_serial_sequence('"ledger"',
    'entry') AS regclass) AS numbers) AS s
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
SELECT d."entry" FROM "ledger_rejected" AS d
WHERE d."entry" = ANY(CAST(:ids AS bigint[]));

-- name: purge_oldest
-- Lists and locks up to :limit rows that were finished before :before, the oldest first.
--   :before  timestamptz, rows that were finished earlier
--   :limit  integer, at most so many rows
-- Transaction: its own; committed before the next page. Before purge.
-- Locks: the rows it returns, until the commit. A row that is locked is passed over.
-- Index: ledger_purge
-- Runs: first, when an operator or a timer purges.
SELECT t."entry", t."booked_at" FROM "ledger" AS t
WHERE t."booked_at" < :before
ORDER BY t."booked_at"
LIMIT :limit
FOR UPDATE SKIP LOCKED;

-- name: purge_next
-- Lists the next ones, from :since on. So a row that cannot be deleted does not hold up those after it.
--   :before  timestamptz, rows that were finished earlier
--   :since  timestamptz, when the last row of the page before was finished
--   :limit  integer, at most so many rows
-- Transaction: its own; committed before the next page. Before purge.
-- Locks: the rows it returns, until the commit. A row that is locked is passed over.
-- Index: ledger_purge
-- Runs: for each further page.
SELECT t."entry", t."booked_at" FROM "ledger" AS t
WHERE t."booked_at" < :before AND t."booked_at" >= :since
ORDER BY t."booked_at"
LIMIT :limit
FOR UPDATE SKIP LOCKED;

-- name: purge
-- Deletes rows that were listed.
--   :ids  list of ids
-- Transaction: the same, after the list.
-- Locks: rows that are locked already; and what foreign keys and triggers need.
-- Index: the primary key.
-- Runs: once per page; where the database refuses it, again for each half, down to the rows that it refuses.
DELETE FROM "ledger"
WHERE "entry" = ANY(CAST(:ids AS bigint[]));

-- name: purge_left
-- Which of the rows are there still: a trigger can cancel a DELETE without an error.
--   :ids  list of ids
-- Transaction: the same, after purge.
-- Locks: none.
-- Index: the primary key.
-- Runs: when purge deleted fewer rows than it was given.
SELECT t."entry" FROM "ledger" AS t
WHERE t."entry" = ANY(CAST(:ids AS bigint[]));

-- name: stats_due
-- Counts the rows of one group that are due, delayed or in work, and finds the oldest due time.
-- It looks at the first :most unfinished rows only; the last column says at how many.
-- They come in the order of the group, so the oldest due time is known only where there are no more.
--   :now  timestamptz, the host's clock
--   :group  bigint
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
--   :now  timestamptz, the host's clock
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

-- name: row_security
-- Whether row level security decides which rows this login sees, of the table or of its dead letters.
-- Transaction: any, or none.
-- Locks: none.
-- Index: none.
-- Runs: once per look at the table.
SELECT row_security_active('"ledger"')
    OR row_security_active('"ledger_rejected"');
