{% import "pieces.sql" as p with context %}
{% if spent and t.fate == "table" %}
-- name: exhaust
-- Copies rows whose crashes used their attempts up into the dead-letter table.{{ "" if t.column_of("id").generated else " An older one of the same id is replaced." }}
-- Transaction: the claim's, after {{ "claim" }}.
-- Locks: {{ t.dialect.locked("rows of the claim") }}, held already.
-- Index: the primary key.
-- Runs: when a claim met such rows.
INSERT INTO {{ t.dead_table }} ({{ p.dead_columns() | trim }})
SELECT {{ p.dead_values("", exhaust_off) | trim }}
FROM {{ t.table }}
WHERE {{ t.id }} IN ({{ ids }}){% include "settle/superseding.sql" %};

-- name: exhaust_remove
-- Removes the rows that exhaust copied.
-- Transaction: the claim's, after exhaust.
-- Locks: {{ t.dialect.locked("rows of the claim") }}, held already.
-- Index: the primary key.
-- Runs: when a claim met such rows.
{% set emptied = t.table %}
{% include "removing.sql" %};
{% elif spent %}
-- name: exhaust
{% if t.fate == "group" %}
-- Moves rows whose crashes used their attempts up to the group {{ t.dead_group }}.
{% else %}
-- Gives up rows whose crashes used their attempts up: they stay, marked dead.
{% endif %}
-- Transaction: the claim's, after {{ "claim" }}.
-- Locks: {{ t.dialect.locked("rows of the claim") }}, held already.
-- Index: the primary key.
-- Runs: when a claim met such rows.
UPDATE {{ t.table }}
SET {{ (p.buried() if t.fate == "group" else p.marked()) | trim }}
WHERE {{ t.id }} IN ({{ ids }});
{% endif %}
