{% import "pieces.sql" as p with context %}
{% import "care/pieces.sql" as k with context %}
{% import "care/dead_group.sql" as d with context %}
{% if t.fate == "table" or (t.fate and dead_counted) %}
-- name: stats_dead
-- Counts the dead letters, as far as :most.
-- Transaction: any, or none.
-- Locks: none.
-- Index: {{ "any of the dead-letter table, or none: it stops at :most rows" if t.fate == "table" else oldest_index }}
-- Runs: once per look at the table.
{% if t.fate == "table" %}
SELECT COUNT(*) FROM (SELECT {{ t.id }} FROM {{ t.dead_table }} LIMIT :most) AS looked;
{% elif t.fate == "group" %}
{% set u = p.unfinished() | trim %}
SELECT COUNT(*) FROM (
    SELECT {{ t.id }} FROM {{ t.table }}{{ t.dialect.forced(oldest_index) }}
    WHERE {{ d.is_dead_group() }}{{ " AND " ~ u if u }}
    {{ d.counted_in_order() ~ "\n    " if d.counted_in_order() }}LIMIT :most
) AS looked;
{% else %}
SELECT COUNT(*) FROM (
    SELECT {{ t.id }} FROM {{ t.table }}{{ t.dialect.forced(oldest_index) }}
    WHERE {{ t.status }} = {{ t.dead }}
    ORDER BY {% if t.processed_at %}{{ t.processed_at }}, {% endif %}{{ t.id }}
    LIMIT :most
) AS looked;
{% endif %}
{% endif %}
