{% import "pieces.sql" as p with context %}
{% import "care/pieces.sql" as k with context %}
{% import "care/dead_group.sql" as d with context %}
{% if redrives and oldest_index %}
-- name: redrive_oldest
-- Lists up to :limit dead letters that can be brought back, the oldest first, for redrive.
{% if t.fate == "table" %}
-- A subselect per row, not NOT EXISTS: that may become a join that reads both tables through.
{% endif %}
-- Transaction: that of redrive, before it.
-- Locks: none.
-- Index: {{ oldest_index }}
-- Runs: when an operator brings dead letters back.
{% if t.fate == "table" %}
{% set time = t.dead_extra("time") %}
SELECT d.{{ t.id }} FROM {{ t.dead_table }} AS d{{ t.dialect.forced(oldest_index) }}
WHERE (SELECT 1 FROM {{ t.table }} AS q WHERE q.{{ t.id }} = d.{{ t.id }} LIMIT 1) IS NULL
{% if t.dedupe_key %}
    AND (SELECT 1 FROM {{ t.table }} AS q WHERE q.{{ t.dedupe_key }} = d.{{ t.dedupe_key }} LIMIT 1) IS NULL
{% endif %}
ORDER BY {% if time %}d.{{ time }}, {% endif %}d.{{ t.id }}
LIMIT :limit;
{% elif t.fate == "group" %}
SELECT {{ t.id }} FROM {{ t.table }}{{ t.dialect.forced(oldest_index) }}
WHERE {{ k.given_up(dead_group=d.is_dead_group()) | trim }}
ORDER BY {{ d.first_in_order() }}{{ k.order_in_group() }}
LIMIT :limit;
{% else %}
SELECT {{ t.id }} FROM {{ t.table }}{{ t.dialect.forced(oldest_index) }}
WHERE {{ k.given_up() | trim }}
ORDER BY {% if t.processed_at %}{{ t.processed_at }}, {% endif %}{{ t.id }}
LIMIT :limit;
{% endif %}
{% endif %}
