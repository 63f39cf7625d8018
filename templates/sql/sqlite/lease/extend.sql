{% import "pieces.sql" as p with context %}
-- name: extend
-- Moves the expiry of every delivery in work, and returns those whose rows it wrote.
-- Transaction: its own, BEGIN IMMEDIATE; before held, when rows are missing from its answer.
-- Locks: the one writer's lock, until its commit.
-- Index: the primary key.
-- Runs: every half lease.
UPDATE {{ t.table }} AS t
SET {{ t.locked_until }} = :locked_until
WHERE t.{{ t.id }} IN ({{ p.json_held() }})
RETURNING {{ t.returned_id }};

-- name: held
-- Reads which of the rows that extend left out still hold their token, or an expiry that was sent, and which of
-- the two. A row that does not come back is lost.
-- Transaction: that of extend.
-- Locks: none.
-- Index: the primary key.
-- Runs: when extend returned fewer rows than it was given.
SELECT t.{{ t.id }}, t.{{ t.locked_until }}
FROM {{ p.json_lists() }}
CROSS JOIN {{ t.table }} AS t ON t.{{ t.id }} = h.id AND {{ p.fenced("t.", "h.") | trim }};
