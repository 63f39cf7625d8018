{% import "care/pieces.sql" as k with context %}
{% if purge_index %}
-- name: purge
-- Deletes up to :limit rows that were finished before :before, the oldest first. The join fixes the plan: a
-- DELETE by a list of ids may read a small table through, and wait for rows that others hold.
-- Transaction: its own, at READ COMMITTED; committed before the next batch.
-- Locks: the rows it deletes, until its commit. A row that is locked is passed over.
-- Index: {{ purge_index }}, and the primary key.
-- Runs: when an operator or a timer purges, until it deletes fewer than :limit.
DELETE t FROM (
    SELECT {{ t.id }} FROM {{ t.table }}
    WHERE {{ k.finished_before() }}
    ORDER BY {{ t.processed_at }}
    LIMIT :limit
    FOR UPDATE SKIP LOCKED
) AS c
STRAIGHT_JOIN {{ t.table }} AS t FORCE INDEX (PRIMARY) ON t.{{ t.id }} = c.{{ t.id }};
{% endif %}
