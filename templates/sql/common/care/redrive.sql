{% import "pieces.sql" as p with context %}
{% import "care/pieces.sql" as k with context %}
{% if redrives and t.fate == "table" %}
-- name: redrive
{{ k.redrive_says() | trim }}
-- Transaction: {{ settles }} Before redrive_remove.
-- Locks: the one writer's lock, until the commit.
-- Index: the primary keys of both tables.
-- Runs: when an operator brings dead letters back; where it is refused, again for each half.
INSERT INTO {{ t.table }} ({{ p.all() }})
SELECT {{ k.values_back("d.") | trim }}
FROM {{ t.dead_table }} AS d
WHERE {{ k.among("d.") }}
ON CONFLICT DO NOTHING
RETURNING {{ t.returned_id }};

-- name: redrive_remove
-- Removes the dead letters that redrive brought back.
-- Transaction: the same, after redrive.
-- Locks: the one writer's lock, until the commit.
-- Index: the primary key of the dead-letter table.
-- Runs: when an operator brings dead letters back.
{% set emptied = t.dead_table %}
{% include "removing.sql" %};

{% include "care/dead_among.sql" %}
{% elif redrives %}
-- name: redrive
{{ k.redrive_says() | trim }}
-- Transaction: {{ settles }}
-- Locks: the one writer's lock, until the commit.
-- Index: the primary key.
-- Runs: when an operator brings dead letters back; where it is refused, again for each half.
UPDATE {{ t.table }}
SET {{ k.brought_back() | trim }}
WHERE {{ k.among() }} AND {{ k.given_up() | trim }}
RETURNING {{ t.returned_id }};
{% endif %}
