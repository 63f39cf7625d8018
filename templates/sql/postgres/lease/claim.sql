{% import "pieces.sql" as p with context %}
-- name: {{ name }}
-- Takes up to :limit due rows{{ of_scope }}, in claim order{{ ", and counts the attempt" if t.attempt }}.
{% if t.stepped %}
-- It steps from priority to priority, so that rows delayed at a better one are not walked by every claim.
{% endif %}
-- Transaction: its own, at READ COMMITTED; the only statement. Rows are the claim's after COMMIT only.
-- Locks: the rows it returns, until its commit. NO KEY: a child row's foreign-key check never waits.
-- Index: {{ claim_index }}, and the primary key.
-- Runs: once per poll.
WITH {% if t.stepped %}RECURSIVE step{{ t.x }}(priority) AS (
    (SELECT {{ t.priority }} FROM {{ t.table }}
     WHERE {{ p.scoped(scope) | trim or "TRUE" }}
     ORDER BY {{ t.priority }} LIMIT 1)
    UNION ALL
    SELECT (SELECT t.{{ t.priority }} FROM {{ t.table }} AS t
            WHERE {{ (p.scoped(scope, "t.") | trim ~ " AND ") if p.scoped(scope) | trim }}t.{{ t.priority }} > step{{ t.x }}.priority
            ORDER BY t.{{ t.priority }} LIMIT 1)
    FROM step{{ t.x }} WHERE step{{ t.x }}.priority IS NOT NULL
), candidate{{ t.x }} AS (
    SELECT one.* FROM step{{ t.x }} CROSS JOIN LATERAL (
        SELECT t.{{ t.id }} FROM {{ t.table }} AS t
        WHERE {{ p.due(scope, "t.", priority="step" ~ t.x ~ ".priority") | trim }}
        ORDER BY {{ p.order_within("t.") }}
        LIMIT :limit
        FOR NO KEY UPDATE SKIP LOCKED
    ) AS one
    LIMIT :limit
){% else %}candidate{{ t.x }} AS (
    SELECT {{ t.id }} FROM {{ t.table }}
    WHERE {{ p.due(scope) | trim }}
    ORDER BY {{ p.order() }}
    LIMIT :limit
    FOR NO KEY UPDATE SKIP LOCKED
){% endif %}
{% include "lease/taken.sql" %}
