{% import "pieces.sql" as p with context %}
-- name: extend
-- Locks the deliveries in work whose rows still hold their token. A row that is locked is skipped, not waited for:
-- it is tried again. An outcome of a row that this statement has locked waits for the commit.
-- Transaction: its own, at READ COMMITTED; before extend_write.
-- Locks: the rows it returns, until the commit.
-- Index: the primary key.
-- Runs: every half lease.
SELECT {{ t.id }} FROM {{ t.table }}{{ t.dialect.by_id }}
WHERE {{ p.tuples() | trim }}
FOR UPDATE SKIP LOCKED;

-- name: extend_write
-- Moves their expiry.
-- Transaction: that of extend, after it.
-- Locks: rows that extend holds already.
-- Index: the primary key.
-- Runs: every half lease.
UPDATE {{ t.table }}{{ t.dialect.by_id }}
SET {{ t.locked_until }} = :locked_until
WHERE {{ p.tuples() | trim }};

-- name: held
-- Reads which of the rows that extend left out still hold their token, or an expiry that was sent, and which of
-- the two. A row that does not come back is lost.
-- Transaction: that of extend.
-- Locks: none.
-- Index: the primary key.
-- Runs: when extend returned fewer rows than it was given.
SELECT {{ t.id }}, {{ t.locked_until }} FROM {{ t.table }}{{ t.dialect.by_id }}
WHERE {{ p.tuples() | trim }};
