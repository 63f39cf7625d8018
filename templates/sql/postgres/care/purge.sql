{% import "care/pieces.sql" as k with context %}
{% if purge_index %}
-- name: purge
-- Deletes up to :limit rows that were finished before :before, the oldest first.
-- Transaction: its own; committed before the next batch.
-- Locks: the rows it deletes, until its commit. A row that is locked is passed over.
-- Index: {{ purge_index }}
-- Runs: when an operator or a timer purges, until it deletes fewer than :limit.
WITH chosen{{ t.x }} AS (
    SELECT {{ t.id }} FROM {{ t.table }}
    WHERE {{ k.finished_before() }}
    ORDER BY {{ t.processed_at }}
    LIMIT :limit
    FOR UPDATE SKIP LOCKED
)
DELETE FROM {{ t.table }} AS t USING chosen{{ t.x }} AS c
WHERE t.{{ t.id }} = c.{{ t.id }};
{% endif %}
