{% import "pieces.sql" as p with context %}
-- name: release
-- Gives rows back at once that were handed out and not settled: the attempt stays counted. Rows that another claim holds are passed over.
-- Transaction: {{ settles }}
-- Locks: the one writer's lock, until the commit.
-- Index: the primary key.
-- Runs: when a claim's block is left; when a handler that ran on after its worker's end has ended.
UPDATE {{ t.table }} AS t
SET {{ t.locked_until }} = NULL
WHERE t.{{ t.id }} IN ({{ p.json_held() }})
RETURNING {{ t.returned_id }};

-- name: give_back
-- Gives rows back at once that a worker's stop, or a caller's decision, keeps from being settled{{ ", with their attempt" if t.attempt and not t.coarse_token }}.
{% if t.attempt and t.coarse_token %}
-- The attempt stays counted: tokens of whole seconds would repeat with it.
{% endif %}
-- Transaction: {{ settles }}
-- Locks: the one writer's lock, until the commit.
-- Index: the primary key.
-- Runs: when a worker stops, before a handler or once it has ended; on a release; when a claim's block is left, for what was not handed out.
UPDATE {{ t.table }} AS t
SET {{ t.locked_until }} = NULL{% if t.attempt and not t.coarse_token %}, {{ t.attempt }} = t.{{ t.attempt }} - 1{% endif %}

WHERE t.{{ t.id }} IN ({{ p.json_held() }})
RETURNING {{ t.returned_id }};

-- name: shorten
-- Moves the expiry of rows nearer whose handlers run on after their worker's end{{ ", and gives their attempt back" if t.attempt }}.
-- Transaction: its own, BEGIN IMMEDIATE.
-- Locks: the one writer's lock, until its commit.
-- Index: the primary key.
-- Runs: when a worker ends whose handlers do not.
UPDATE {{ t.table }} AS t
SET {{ t.locked_until }} = :soon{% if t.attempt %}, {{ t.attempt }} = t.{{ t.attempt }} - 1{% endif %}

WHERE t.{{ t.id }} IN ({{ p.json_held() }})
RETURNING {{ t.returned_id }};
