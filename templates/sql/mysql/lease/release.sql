{% import "pieces.sql" as p with context %}
-- name: release
-- Gives rows back at once whose handler had started: the attempt stays counted. Rows that another claim holds are passed over.
-- Transaction: {{ settles }}
-- Locks: the rows of the lists, until the commit.
-- Index: the primary key.
-- Runs: when a claim's block is left, or a worker stops.
UPDATE {{ t.table }}{{ t.dialect.by_id }}
SET {{ t.locked_until }} = NULL
WHERE {{ p.tuples() | trim }};

-- name: give_back
-- Gives rows back at once whose handler never started{{ ", with their attempt" if t.attempt and not t.coarse_token }}.
{% if t.attempt and t.coarse_token %}
-- The attempt stays counted: tokens of whole seconds would repeat with it.
{% endif %}
-- Transaction: {{ settles }}
-- Locks: the rows of the lists, until the commit.
-- Index: the primary key.
-- Runs: when a claim's block is left, or a worker stops.
UPDATE {{ t.table }}{{ t.dialect.by_id }}
SET {{ t.locked_until }} = NULL{% if t.attempt and not t.coarse_token %}, {{ t.attempt }} = {{ t.attempt }} - 1{% endif %}

WHERE {{ p.tuples() | trim }};
