{% import "pieces.sql" as p with context %}
{% if t.fate == "table" %}
-- name: dead_letter
-- Moves the row into the dead-letter table, in one statement. An older one of the same id is replaced.{{ no_row }}
-- Transaction: {{ settlement }}
-- Locks: one row, until the commit.
-- Index: the primary key.
-- Runs: once per dead letter.
WITH moved{{ t.x }} AS (
    DELETE FROM {{ t.table }}
    WHERE {{ p.fence() | trim }}
    RETURNING {{ p.all() }}
)
INSERT INTO {{ t.dead_table }} ({{ p.dead_columns() | trim }})
SELECT {{ p.dead_values() | trim }}
FROM moved{{ t.x }}{% include "settle/superseding.sql" %};
{% else %}
{% include "settle/dead_letter_in_place.sql" %}
{% endif %}
