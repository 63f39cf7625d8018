{% import "pieces.sql" as p with context %}
{# The ids of due rows. #}
{% macro chosen() %}
{% if t.stepped %}
    WITH RECURSIVE step{{ t.x }}(priority) AS (
        SELECT MIN({{ t.priority }}) FROM {{ t.table }}{% if p.scoped(scope) | trim %} WHERE {{ p.scoped(scope) | trim }}{% endif %}

        UNION ALL
        SELECT (SELECT MIN(t.{{ t.priority }}) FROM {{ t.table }} AS t
                WHERE {{ (p.scoped(scope, "t.") | trim ~ " AND ") if p.scoped(scope) | trim }}t.{{ t.priority }} > step{{ t.x }}.priority)
        FROM step{{ t.x }} WHERE step{{ t.x }}.priority IS NOT NULL
    )
    SELECT due.value FROM step{{ t.x }} CROSS JOIN json_each((
        SELECT json_group_array(one.id) FROM (
            SELECT t.{{ t.id }} AS id FROM {{ t.table }} AS t
            WHERE {{ p.due(scope, "t.", priority="step" ~ t.x ~ ".priority", aside=True) | trim }}
            ORDER BY {{ p.order_within("t.") }}
            LIMIT :limit
        ) AS one
    )) AS due
    LIMIT :limit
{% else %}
    SELECT {{ t.id }} FROM {{ t.table }}
    WHERE {{ p.due(scope, aside=True) | trim }}
    ORDER BY {{ p.order() }}
    LIMIT :limit
{% endif %}
{%- endmacro %}
-- name: {{ name }}
-- Takes up to :limit due rows{{ of_scope }}{{ " and counts the attempt" if t.attempt }}. They come back in no order: the caller sorts them.
{% if t.stepped %}
-- It steps from priority to priority, so that rows delayed at a better one are not walked by every claim.
-- Each priority's rows come as a JSON list: a join would leave their order to the planner, which may also
-- read the whole table for a Bloom filter first.
{% endif %}
-- Transaction: its own, BEGIN IMMEDIATE; the only statement. Rows are the claim's after COMMIT only.
-- Locks: the one writer's lock, until its commit.
-- Index: {{ claim_index }}, and the primary key.
-- Runs: once per poll.
UPDATE {{ t.table }}
SET {{ p.take() }}
WHERE {{ t.id }} IN (
{{ chosen() }}
)
RETURNING {{ p.returned("", " - 1") | trim }};

-- name: {{ name | replace("claim", "candidates", 1) }}
-- Returns the ids of the rows that {{ name }} would take, in claim order.
-- Transaction: the claim's, BEGIN IMMEDIATE; before candidates_take.
-- Locks: the one writer's lock, until the commit.
-- Index: {{ claim_index }}
-- Runs: when the database refused {{ name }} because of one row.
{{ chosen() | replace("\n    ", "\n") | trim }};
