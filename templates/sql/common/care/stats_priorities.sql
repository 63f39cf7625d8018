{% import "pieces.sql" as p with context %}
{% if t.stepped and not (t.described.fifo and scope != "ungrouped") %}
{% macro listed(a) %}{% if scope == "group" %}{{ a }}{{ t.group }} = :group{% elif scope == "ungrouped" %}{{ a }}{{ t.group }} IS NULL{% endif %}{% set u = p.unfinished(a) | trim %}{% if u %}{{ " AND " if scope != "table" }}{{ u }}{% endif %}{% endmacro %}
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
