{% import "pieces.sql" as p with context %}
-- name: ack
{% if t.finished_by %}
-- Finishes the row: it stays, marked.{{ no_row }}
{% else %}
-- Finishes the row: it is deleted.{{ no_row }}
{% endif %}
-- Transaction: {{ settlement }}
-- Locks: {{ t.dialect.locked("one row") }}, until the commit.
-- Index: the primary key.
-- Runs: once per delivery.
{% if t.finished_by %}
UPDATE {{ t.table }}{{ t.dialect.by_id }}
SET {{ p.finished(t.done if t.status) | trim }}
WHERE {{ p.fence() | trim }};
{% else %}
{{ t.dialect.deleting(t.table) }}
WHERE {{ p.fence() | trim }};
{% endif %}
