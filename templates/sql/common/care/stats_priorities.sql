{% import "pieces.sql" as p with context %}
{% if t.stepped and not (t.described.fifo and scope != "ungrouped") %}
{% macro listed(a) %}{{ p.scoped(scope, a) | trim }}{% endmacro %}
-- name: stats_priorities{{ name | replace("claim", "", 1) }}
-- Lists the priorities{{ of_scope }} that unfinished rows have, by steps through the index.
-- Transaction: any, or none.
-- Locks: none.
-- Index: {{ claim_index }}
-- Runs: once per look at the table.
WITH RECURSIVE step{{ t.x }}(priority) AS (
    SELECT MIN(t.{{ t.priority }}) FROM {{ t.table }} AS t{% if listed("t.") %} WHERE {{ listed("t.") }}{% endif %}

    UNION ALL
    SELECT (SELECT MIN(t.{{ t.priority }}) FROM {{ t.table }} AS t
            WHERE {{ listed("t.") ~ " AND " if listed("t.") }}t.{{ t.priority }} > step{{ t.x }}.priority)
    FROM step{{ t.x }} WHERE step{{ t.x }}.priority IS NOT NULL
)
SELECT priority FROM step{{ t.x }} WHERE priority IS NOT NULL;
{% endif %}
