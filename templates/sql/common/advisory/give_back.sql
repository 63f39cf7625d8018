{% import "pieces.sql" as p with context %}
{% if t.attempt %}
-- name: give_back
-- Gives the attempt of a row back whose handler never started.{{ no_row }}
-- Transaction: its own, on the claim's connection, before its key is free.
-- Locks: {{ t.dialect.locked("one row") }}, until the commit.
-- Index: the primary key.
-- Runs: when a claim's block is left, or a worker stops, before the handler.
UPDATE {{ t.table }}
SET {{ t.attempt }} = {{ t.attempt }} - 1
WHERE {{ p.fence() | trim }};
{% endif %}
