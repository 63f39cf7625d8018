{% import "care/pieces.sql" as k with context %}
{% if purge_index %}
-- name: purge
-- Deletes up to :limit rows that were finished before :before, the oldest first.
-- Transaction: its own, BEGIN IMMEDIATE; committed before the next batch.
-- Locks: the one writer's lock, until its commit.
-- Index: {{ purge_index }}
-- Runs: when an operator or a timer purges, until it deletes fewer than :limit.
DELETE FROM {{ t.table }}
WHERE {{ t.id }} IN (
    SELECT {{ t.id }} FROM {{ t.table }}
    WHERE {{ k.finished_before() }}
    ORDER BY {{ t.processed_at }}
    LIMIT :limit
);
{% endif %}
