{% import "pieces.sql" as p with context %}
{% macro candidates() %}
{% if t.stepped %}
WITH RECURSIVE step{{ t.x }}(priority) AS (
    (SELECT {{ t.priority }} FROM {{ t.table }}
     WHERE {{ p.scoped(scope) | trim or "TRUE" }}
     ORDER BY {{ t.priority }} LIMIT 1)
    UNION ALL
    SELECT (SELECT t.{{ t.priority }} FROM {{ t.table }} AS t
            WHERE {{ (p.scoped(scope, "t.") | trim ~ " AND ") if p.scoped(scope) | trim }}t.{{ t.priority }} > step{{ t.x }}.priority
            ORDER BY t.{{ t.priority }} LIMIT 1)
    FROM step{{ t.x }} WHERE step{{ t.x }}.priority IS NOT NULL
)
{% endif %}
{% endmacro %}
{% macro window() %}
{% if t.stepped %}
    SELECT one.* FROM step{{ t.x }} CROSS JOIN LATERAL (
        SELECT t.{{ t.id }} AS candidate_id, {{ t.key("t.") }} AS candidate_key
        FROM {{ t.table }} AS t
        WHERE {{ p.due(scope, "t.", priority="step" ~ t.x ~ ".priority", aside=True) | trim }}
            AND {{ t.lock("t.") }} <> ALL(CAST(:locks AS bigint[]))
        ORDER BY {{ p.order_within("t.") }}
        LIMIT :window
    ) AS one
    LIMIT :window
{% else %}
    SELECT t.{{ t.id }} AS candidate_id, {{ t.key("t.") }} AS candidate_key
    FROM {{ t.table }} AS t
    WHERE {{ p.due(scope, "t.", aside=True) | trim }}
        AND {{ t.lock("t.") }} <> ALL(CAST(:locks AS bigint[]))
    ORDER BY {{ p.order("t.") }}
    LIMIT :window
{% endif %}
{% endmacro %}
-- name: {{ name }}
-- Finds the first due row{{ of_scope }}, in claim order, whose key nobody holds, and locks the key. The inner LIMIT is a
-- fence: keys are tried one after another, and the first that is won ends the statement with one lock held.
{% if t.stepped %}
-- It steps from priority to priority, so that rows delayed at a better one are not walked by every claim.
{% endif %}
-- Transaction: the claim's, at READ COMMITTED; before {{ name | replace("claim", "take", 1) }}.
-- Locks: one key, of the session: until unlock, whatever becomes of the transaction.
-- Index: {{ claim_index }}
-- Runs: once per poll, and again for each row that was settled meanwhile.
{{ candidates() -}}
SELECT c.candidate_id, c.candidate_key, {{ t.dialect.lock("c.candidate_key") }}, pg_backend_pid()
FROM (
{{ window() -}}
) AS c
WHERE pg_try_advisory_lock({{ t.dialect.lock("c.candidate_key") }})
LIMIT 1;

-- name: {{ name | replace("claim", "probe", 1) }}
-- Whether anything is due beyond the window of {{ name }}, which brought nothing.
-- Transaction: the claim's, after {{ name }}.
-- Locks: none.
-- Index: {{ claim_index }}
-- Runs: after a claim that brought nothing.
{{ candidates() -}}
SELECT 1 FROM (
{{ window() -}}
) AS c
LIMIT 1 OFFSET :last;
