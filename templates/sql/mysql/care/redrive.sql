{% import "pieces.sql" as p with context %}
{% import "care/pieces.sql" as k with context %}
{% if redrives %}
-- name: redrive_lock
-- Locks those of the rows that are dead letters{{ "; one that is locked is passed over" if t.fate != "table" }}.
-- Transaction: {{ settles }} Before redrive.
-- Locks: the rows it returns, until the commit.
-- Index: the primary key.
-- Runs: when an operator brings dead letters back.
SELECT t.{{ t.id }} FROM {{ t.dead_table if t.fate == "table" else t.table }} AS t{{ t.dialect.by_id }}
WHERE {{ k.among("t.") }}{% if t.fate != "table" %} AND {{ k.given_up("t.") | trim }}{% endif %}

ORDER BY t.{{ t.id }}
{% if t.fate == "table" %}FOR UPDATE{% else %}{% include "locking/skipping.sql" %}{% endif %};

-- name: redrive
{{ k.redrive_says() | trim }}
-- Transaction: the same, after redrive_lock{{ " and before redrive_remove" if t.fate == "table" }}.
-- Locks: the rows, until the commit.
-- Index: the primary key{{ ", " ~ dedupe_index if t.dedupe_key and t.fate == "table" }}.
-- Runs: when an operator brings dead letters back; where it is refused, again for each half.
{% if t.fate == "table" %}
INSERT INTO {{ t.table }} ({{ p.all() }})
SELECT {{ k.values_back("d.") | trim }}
FROM {{ t.dead_table }} AS d
WHERE {{ k.among("d.") }}
FOR UPDATE;

-- name: redrive_remove
-- Removes the dead letters that redrive brought back.
-- Transaction: the same, after redrive.
-- Locks: rows that redrive_lock holds already.
-- Index: the primary key of the dead-letter table.
-- Runs: when an operator brings dead letters back.
{% set emptied = t.dead_table %}
{% include "removing.sql" %};
{% else %}
UPDATE {{ t.table }}
SET {{ k.brought_back() | trim }}
WHERE {{ k.among() }};
{% endif %}
{% endif %}
