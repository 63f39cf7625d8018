{% import "pieces.sql" as p with context %}
{# The priorities, one after another. #}
{% macro steps() %}
RECURSIVE step{{ t.x }}(priority) AS (
    (SELECT {{ t.priority }} FROM {{ t.table }}
     WHERE {{ p.scoped(scope) | trim or "TRUE" }}
     ORDER BY {{ t.priority }} LIMIT 1)
    UNION ALL
    SELECT (SELECT t.{{ t.priority }} FROM {{ t.table }} AS t
            WHERE {{ (p.scoped(scope, "t.") | trim ~ " AND ") if p.scoped(scope) | trim }}t.{{ t.priority }} > step{{ t.x }}.priority
            ORDER BY t.{{ t.priority }} LIMIT 1)
    FROM step{{ t.x }} WHERE step{{ t.x }}.priority IS NOT NULL
)
{%- endmacro %}
{# The ids of due rows, locked. #}
{% macro chosen() %}
{% if t.stepped %}
    SELECT one.* FROM step{{ t.x }} CROSS JOIN LATERAL (
        SELECT t.{{ t.id }} FROM {{ t.table }} AS t
        WHERE {{ p.due(scope, "t.", priority="step" ~ t.x ~ ".priority", aside=True) | trim }}
        ORDER BY {{ p.order_within("t.") }}
        LIMIT :limit
        FOR NO KEY UPDATE SKIP LOCKED
    ) AS one
    LIMIT :limit
{%- else %}
    SELECT {{ t.id }} FROM {{ t.table }}
    WHERE {{ p.due(scope, aside=True) | trim }}
    ORDER BY {{ p.order() }}
    LIMIT :limit
    FOR NO KEY UPDATE SKIP LOCKED
{%- endif %}
{%- endmacro %}
-- name: {{ name }}
-- Takes up to :limit due rows{{ of_scope }}, in claim order{{ ", and counts the attempt" if t.attempt }}.
{% if t.stepped %}
-- It steps from priority to priority, so that rows delayed at a better one are not walked by every claim.
{% endif %}
-- Transaction: its own, at READ COMMITTED; the only statement. Rows are the claim's after COMMIT only.
-- Locks: the rows it returns, until its commit. NO KEY: a child row's foreign-key check never waits.
-- Index: {{ claim_index }}, and the primary key.
-- Runs: once per poll.
WITH {% if t.stepped %}{{ steps() }}, {% endif %}candidate{{ t.x }} AS (
{{ chosen() }}
)
{% include "lease/taken.sql" %}

-- name: {{ name | replace("claim", "candidates", 1) }}
-- Locks the rows that {{ name }} would take, and returns their ids in claim order.
-- Transaction: the claim's, at READ COMMITTED; before candidates_take.
-- Locks: the rows it returns, until the commit. NO KEY: a child row's foreign-key check never waits.
-- Index: {{ claim_index }}
-- Runs: when the database refused {{ name }} because of one row.
{% if t.stepped %}
WITH {{ steps() }}
{% endif %}
{{ chosen() | replace("\n    ", "\n") | trim }};
