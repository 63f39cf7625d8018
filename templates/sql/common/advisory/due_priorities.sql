{% import "pieces.sql" as p with context %}
{% macro listed(a) %}{{ p.scoped(scope, a) | trim }}{% endmacro %}
-- name: {{ name | replace("claim", "due_priorities", 1) }}
-- Lists the priorities{{ of_scope }} that have due rows, most urgent first, so that rows delayed at a better
-- one are not walked.
-- Transaction: the claim's; the first statement.
-- Locks: {{ t.dialect.locked("none") }}{{ ", held already" if t.dialect.keys_in_process }}.
-- Index: {{ claim_index }}
-- Runs: once per poll.
WITH RECURSIVE step{{ t.x }}(priority) AS (
    SELECT MIN(t.{{ t.priority }}) FROM {{ t.table }} AS t{% if listed("t.") %} WHERE {{ listed("t.") }}{% endif %}

    UNION ALL
    SELECT (SELECT MIN(t.{{ t.priority }}) FROM {{ t.table }} AS t
            WHERE {{ listed("t.") ~ " AND " if listed("t.") }}t.{{ t.priority }} > step{{ t.x }}.priority)
    FROM step{{ t.x }} WHERE step{{ t.x }}.priority IS NOT NULL
)
SELECT step{{ t.x }}.priority FROM step{{ t.x }}
WHERE (SELECT MIN(t.{{ t.retry_after }}) FROM {{ t.table }} AS t
       WHERE {{ listed("t.") ~ " AND " if listed("t.") }}t.{{ t.priority }} = step{{ t.x }}.priority) <= :now
ORDER BY step{{ t.x }}.priority;
