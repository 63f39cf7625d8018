{% import "pieces.sql" as p with context %}
{% if t.fate %}
-- name: dead_letter
{% if t.fate == "group" %}
-- Moves the row to the group {{ t.dead_group }}, from its first attempt again.{{ no_row }}
{% else %}
-- Gives the row up: it stays, marked dead.{{ no_row }}
{% endif %}
-- Transaction: {{ settlement }}
-- Locks: {{ t.dialect.locked("one row") }}, until the commit.
-- Index: the primary key.
-- Runs: once per dead letter.
UPDATE {{ t.table }}{{ t.dialect.by_id }}
SET {{ (p.buried() if t.fate == "group" else p.marked()) | trim }}
WHERE {{ p.fence() | trim }};
{% endif %}
