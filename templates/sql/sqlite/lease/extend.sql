{% import "pieces.sql" as p with context %}
-- name: extend
-- Moves the expiry of every delivery in work, and returns those whose rows it wrote.
-- Transaction: its own, BEGIN IMMEDIATE; before held, when rows are missing from its answer.
-- Locks: the one writer's lock, until its commit.
-- Index: the primary key.
-- Runs: every half lease.
UPDATE {{ t.table }} AS t
SET {{ t.locked_until }} = :locked_until
FROM {{ p.json_lists() }}
WHERE t.{{ t.id }} = h.id AND {{ p.fenced("t.", "h.") | trim }}
RETURNING {{ t.id }};

-- name: held
-- Which of these rows still hold a delivery's token, and what it is. After an extension that got no answer.
-- Transaction: that of extend.
-- Locks: none.
-- Index: the primary key.
-- Runs: when an extension brought back fewer rows than it named.
SELECT t.{{ t.id }}, t.{{ t.locked_until }}
FROM {{ p.json_lists() }}
JOIN {{ t.table }} AS t ON t.{{ t.id }} = h.id AND {{ p.fenced("t.", "h.") | trim }};
