{% import "pieces.sql" as p with context %}
-- name: {{ name }}
-- Finds the first due row{{ of_scope }}, in claim order, whose key this process does not hold.
{% if t.stepped %}
-- It steps from priority to priority, so that rows delayed at a better one are not walked by every claim;
-- CROSS JOIN fixes that order, and the index gives the rest.
{% endif %}
-- Transaction: the claim's, BEGIN IMMEDIATE; before {{ name | replace("claim", "take", 1) }}.
-- Locks: the one writer's lock, until the commit. The process then holds the key, until the row is settled.
-- Index: {{ claim_index }}
-- Runs: once per poll.
{% if t.stepped %}
WITH RECURSIVE step{{ t.x }}(priority) AS (
    SELECT MIN({{ t.priority }}) FROM {{ t.table }}{% if p.scoped(scope) | trim %} WHERE {{ p.scoped(scope) | trim }}{% endif %}

    UNION ALL
    SELECT (SELECT MIN(t.{{ t.priority }}) FROM {{ t.table }} AS t
            WHERE {{ (p.scoped(scope, "t.") | trim ~ " AND ") if p.scoped(scope) | trim }}t.{{ t.priority }} > step{{ t.x }}.priority)
    FROM step{{ t.x }} WHERE step{{ t.x }}.priority IS NOT NULL
)
SELECT t.{{ t.id }}, {{ t.key("t.") }} FROM step{{ t.x }} CROSS JOIN {{ t.table }} AS t
ON {{ p.due(scope, "t.", priority="step" ~ t.x ~ ".priority", aside=True) | trim }}
    AND {{ t.key("t.") }} NOT IN (SELECT value FROM json_each(:keys))
LIMIT 1;
{% else %}
SELECT t.{{ t.id }}, {{ t.key("t.") }} FROM {{ t.table }} AS t
WHERE {{ p.due(scope, "t.", aside=True) | trim }}
    AND {{ t.key("t.") }} NOT IN (SELECT value FROM json_each(:keys))
ORDER BY {{ p.order("t.") }}
LIMIT 1;
{% endif %}
