{% import "care/pieces.sql" as k with context %}
-- name: dead_among
-- Which of these rows are dead letters still: after a redrive that brought back fewer than it was given.
-- Transaction: that of redrive, after it.
-- Locks: none.
-- Index: the primary key of the dead-letter table.
-- Runs: when redrive left rows behind.
SELECT d.{{ t.id }} FROM {{ t.dead_table }} AS d
WHERE {{ k.among("d.") }};
