{% import "pieces.sql" as p with context %}
{% import "fifo/pieces.sql" as f with context %}
{% import "fifo/idle.sql" as i with context %}
{% set many = scope == "table" %}
{% set candidates = name | replace("claim", "candidates", 1) %}
{% set the_group = "g.candidate_group" if many else ":group" %}
{# The heads of the groups of which nothing is in work. #}
{% macro heads() %}
WITH head{{ t.x }}(candidate_id) AS (
    SELECT ({{ f.head(the_group, "y." ~ t.id) }})
{% if many %}
    FROM unnest(CAST(:groups AS {{ t.type_of("group") }}[])) AS g(candidate_group)
{% endif %}
{% if t.locked_until %}
    WHERE {{ i.idle(the_group) }}
{% endif %}
)
{%- endmacro %}
{# Those that can be claimed, locked. #}
{% macro locked() %}
    FROM head{{ t.x }} AS h JOIN {{ t.table }} AS t ON t.{{ t.id }} = h.candidate_id
    WHERE {{ f.claimable("t.") | trim }}
    FOR NO KEY UPDATE OF t SKIP LOCKED
{%- endmacro %}
{{ f.claim_facts() -}}
-- Transaction: that of guard, at READ COMMITTED; after it.{{ " Rows are the claim's after COMMIT only." if t.locked_until }}
-- Locks: the rows it returns, until the commit. NO KEY: a child row's foreign-key check never waits.
-- Index: {{ order_index }}{{ ", " ~ work_index if work_index }} and the primary key.
-- Runs: once per poll.
{{ heads() }}{% if t.locked_until %}, candidate{{ t.x }} AS (
    SELECT t.{{ t.id }}
{{ locked() }}
)
{% include "lease/taken.sql" %}

-- name: {{ candidates }}
-- Locks the rows that {{ name }} would take, and returns them as they are.
-- Transaction: that of guard, at READ COMMITTED; after it and before candidates_take.
-- Locks: the rows it returns, until the commit. NO KEY: a child row's foreign-key check never waits.
-- Index: {{ order_index }}{{ ", " ~ work_index if work_index }} and the primary key.
-- Runs: when the database refused {{ name }} because of one row.
{{ heads() }}
SELECT {{ p.returned("t.") | trim }}
{{ locked() | replace("\n    ", "\n") | trim }};
{% else %}

SELECT {{ p.returned("c.") | trim }}, txid_current_if_assigned()
FROM (
    SELECT {{ p.bare("t.") | trim }}
{{ locked() }}
) AS c;
{% endif %}
