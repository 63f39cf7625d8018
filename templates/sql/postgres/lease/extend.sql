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
-- Which of these rows still hold a delivery's token, and what it is. After an extension that skipped rows, or got no answer.
-- Transaction: that of extend.
-- Locks: none.
-- Index: the primary key.
-- Runs: when an extension brought back fewer rows than it named.
SELECT t.{{ t.id }}, t.{{ t.locked_until }}
FROM {{ t.table }} AS t JOIN {{ p.lists() }}
    ON t.{{ t.id }} = h.id AND {{ p.fenced("t.", "h.") | trim }};
