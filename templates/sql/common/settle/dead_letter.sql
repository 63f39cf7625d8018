{% import "pieces.sql" as p with context %}
{% if t.fate == "table" %}
-- name: dead_letter
-- Copies the row into the dead-letter table. An older one of the same id is replaced.{{ no_row }}
-- Transaction: {{ settlement }} First of two statements; dead_letter_remove is the second.
-- Locks: {{ t.dialect.locked("one row") }}, until the commit.
-- Index: the primary key.
-- Runs: once per dead letter.
INSERT INTO {{ t.dead_table }} ({{ p.dead_columns() | trim }})
SELECT {{ p.dead_values() | trim }}
FROM {{ t.table }}{{ t.dialect.by_id }}
WHERE {{ p.fence() | trim }}{% include "locking/copied.sql" %}{% include "settle/superseding.sql" %};

-- name: dead_letter_remove
-- Removes the row that dead_letter copied.
-- Transaction: the same. Second of two statements.
-- Locks: {{ t.dialect.locked("the row") }}, held already.
-- Index: the primary key.
-- Runs: once per dead letter.
{{ t.dialect.deleting(t.table) }}
WHERE {{ p.fence() | trim }};
{% else %}
{% include "settle/dead_letter_in_place.sql" %}
{% endif %}
