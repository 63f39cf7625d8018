{% import "pieces.sql" as p with context %}
{% import "fifo/pieces.sql" as f with context %}
{% import "fifo/idle.sql" as i with context %}
{# The heads of the groups of which nothing is in work. #}
{% macro of_heads(a) %}
{% if scope == "table" %}
WHERE {{ a }}{{ t.id }} IN (
    SELECT ({{ f.head("g.candidate_group", "y." ~ t.id) }})
    FROM (SELECT value AS candidate_group FROM json_each(:groups)) AS g
    WHERE {{ i.idle("g.candidate_group") }}
)
    AND {{ f.claimable(a) | trim }}
{%- else %}
WHERE {{ a }}{{ t.id }} = (
        {{ f.head(":group", "y." ~ t.id) | trim }}
    )
    AND {{ f.claimable(a) | trim }}
    AND {{ i.idle(":group") }}
{%- endif %}
{% endmacro %}
{{ f.claim_facts(False) | replace(" that guard granted", " that walk found" if scope == "table" else "") -}}
-- One writer at a time: no guard is needed.
-- Transaction: its own, BEGIN IMMEDIATE{{ ", after walk" if scope == "table" }}. Rows are the claim's after COMMIT only.
-- Locks: the one writer's lock, until its commit.
-- Index: {{ order_index }}{{ ", " ~ work_index if work_index }} and the primary key.
-- Runs: once per poll.
UPDATE {{ t.table }}
SET {{ p.take() }}
{{ of_heads("") | trim }}
RETURNING {{ p.returned("", " - 1") | trim }};

-- name: {{ name | replace("claim", "candidates", 1) }}
-- Returns the rows that {{ name }} would take, as they are.
-- Transaction: the claim's, BEGIN IMMEDIATE; before candidates_take.
-- Locks: the one writer's lock, until the commit.
-- Index: {{ order_index }}{{ ", " ~ work_index if work_index }} and the primary key.
-- Runs: when the database refused {{ name }} because of one row.
SELECT {{ p.returned("t.") | trim }}
FROM {{ t.table }} AS t
{{ of_heads("t.") | trim }};
