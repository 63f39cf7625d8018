{% import "pieces.sql" as p with context %}
-- name: extend
-- Moves the expiry of every delivery in work, and returns those whose rows it wrote. A row that is locked is skipped,
-- not waited for, and is tried again. An outcome of a row that this statement has locked waits for its commit.
-- Transaction: its own, at READ COMMITTED; before held, when rows are missing from its answer.
-- Locks: the rows of the lists, until its commit.
-- Index: the primary key.
-- Runs: every half lease.
WITH held{{ t.x }} AS (
    SELECT * FROM {{ p.lists() }}
), locked{{ t.x }} AS (
    SELECT h.* FROM {{ t.table }} AS t JOIN held{{ t.x }} AS h ON t.{{ t.id }} = h.id
    WHERE {{ p.fenced("t.", "h.") | trim }}
    FOR NO KEY UPDATE OF t SKIP LOCKED
)
UPDATE {{ t.table }} AS t
SET {{ t.locked_until }} = :locked_until
FROM locked{{ t.x }} AS h
WHERE t.{{ t.id }} = h.id AND {{ p.fenced("t.", "h.") | trim }}
RETURNING t.{{ t.id }};

-- name: held
-- Reads which of the rows that extend left out still hold their token, or an expiry that was sent, and which of
-- the two. A row that does not come back is lost.
-- Transaction: that of extend.
-- Locks: none.
-- Index: the primary key.
-- Runs: when extend returned fewer rows than it was given.
SELECT t.{{ t.id }}, t.{{ t.locked_until }}
FROM {{ t.table }} AS t JOIN {{ p.lists() }}
    ON t.{{ t.id }} = h.id AND {{ p.fenced("t.", "h.") | trim }};
