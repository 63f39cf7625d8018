{% import "pieces.sql" as p with context %}
{% import "care/pieces.sql" as k with context %}
{% if redrives and t.fate == "table" %}
-- name: redrive
{{ k.redrive_says() | trim }}
-- Transaction: {{ settles }}
-- Locks: the rows, in both tables, until the commit; in order of their ids.
-- Index: the primary keys of both tables{{ ", " ~ dedupe_index if t.dedupe_key }}.
-- Runs: when an operator brings dead letters back; where it is refused, again for each half.
WITH chosen{{ t.x }} AS (
    SELECT {{ p.all() }} FROM {{ t.dead_table }}
    WHERE {{ k.among() }}
    ORDER BY {{ t.id }}
    FOR UPDATE
), moved{{ t.x }} AS (
    INSERT INTO {{ t.table }} ({{ p.all() }}){% if t.described.id.generated %} OVERRIDING SYSTEM VALUE{% endif %}

    SELECT {{ k.values_back("d.") | trim }}
    FROM chosen{{ t.x }} AS d
    ON CONFLICT DO NOTHING
    RETURNING {{ t.id }}
)
DELETE FROM {{ t.dead_table }} AS d USING moved{{ t.x }} AS c
WHERE d.{{ t.id }} = c.{{ t.id }}
RETURNING d.{{ t.id }};

{% if t.described.id.generated and t.type_of("id") != "uuid" %}
{% set numbers = "CAST(pg_get_serial_sequence(" ~ t.dialect.literal(t.table) ~ ", " ~ t.dialect.literal(t.described.id.name) ~ ") AS regclass)" %}
-- name: redrive_number
-- Moves the numbering of ids past :id, where it has not come so far: after a TRUNCATE .. RESTART IDENTITY the
-- next enqueue would take the id of a row that came back.
-- Transaction: the same, after redrive. The numbering keeps its value when that is rolled back.
-- Locks: none.
-- Index: none.
-- Runs: once per page of dead letters, with the greatest id that came back.
SELECT setval(s.numbers, :id) FROM (SELECT {{ numbers }} AS numbers) AS s
WHERE CASE WHEN has_sequence_privilege(s.numbers, 'USAGE') AND has_sequence_privilege(s.numbers, 'UPDATE')
    THEN COALESCE(pg_sequence_last_value(s.numbers), 0) < :id ELSE FALSE END;

{% endif %}
{% include "care/dead_among.sql" %}
{% elif redrives %}
-- name: redrive
{{ k.redrive_says() | trim }}
-- Transaction: {{ settles }}
-- Locks: the rows it returns, until the commit. A row that is locked is passed over.
-- Index: the primary key.
-- Runs: when an operator brings dead letters back; where it is refused, again for each half.
WITH chosen{{ t.x }} AS (
    SELECT {{ t.id }} FROM {{ t.table }}
    WHERE {{ k.among() }} AND {{ k.given_up() | trim }}
    FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE {{ t.table }} AS t
SET {{ k.brought_back("t.") | trim }}
FROM chosen{{ t.x }} AS c
WHERE t.{{ t.id }} = c.{{ t.id }}
RETURNING t.{{ t.id }};
{% endif %}
