{% import "pieces.sql" as p with context %}
{% if spent and t.fate == "table" %}
-- name: exhaust
-- Copies rows whose crashes used their attempts up into the dead-letter table.
-- Transaction: the claim's, after {{ "claim" }}.
-- Locks: rows the claim holds already.
-- Index: the primary key.
-- Runs: when a claim met such rows.
INSERT INTO {{ t.dead_table }} ({{ p.dead_columns() | trim }})
SELECT {{ p.dead_values("", exhaust_off) | trim }}
FROM {{ t.table }}
WHERE {{ t.id }} IN ({{ ids }});

-- name: exhaust_remove
-- Removes the rows that exhaust copied.
-- Transaction: the claim's, after exhaust.
-- Locks: rows the claim holds already.
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
-- Locks: rows the claim holds already.
-- Index: the primary key.
-- Runs: when a claim met such rows.
UPDATE {{ t.table }}
SET {{ (p.buried() if t.fate == "group" else p.marked()) | trim }}
WHERE {{ t.id }} IN ({{ ids }});
{% endif %}
