{% import "care/pieces.sql" as k with context %}
{% if purge_index %}
-- name: purge_lock
-- Locks up to :limit rows that were finished before :before, the oldest first. One that is locked is passed over.
-- Transaction: its own, at READ COMMITTED; before purge.
-- Locks: the rows it returns, until the commit.
-- Index: {{ purge_index }}
-- Runs: when an operator or a timer purges, until it finds fewer than :limit.
SELECT t.{{ t.id }} FROM {{ t.table }} AS t
WHERE {{ k.finished_before() }}
ORDER BY t.{{ t.processed_at }}
LIMIT :limit
{% include "locking/skipping.sql" %};

-- name: purge
-- Deletes the rows that purge_lock found.
-- Transaction: that of purge_lock, after it; committed before the next batch.
-- Locks: rows that purge_lock holds already.
-- Index: the primary key.
-- Runs: once per purge_lock that found rows.
DELETE FROM {{ t.table }}
WHERE {{ k.among() }};
{% endif %}
