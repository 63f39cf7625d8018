{% import "pieces.sql" as p with context %}
-- name: {{ name }}
-- Locks up to :limit due rows{{ of_scope }}, in claim order, and passes over rows that others hold.
{% if t.stepped %}
-- It steps from priority to priority, so that rows delayed at a better one are not walked by every claim.
{% endif %}
-- Transaction: the claim's, open until the rows have their outcome; the first statement. Its number is the last column.
-- Locks: the rows it returns, until the commit. NO KEY: a child row's foreign-key check never waits.
-- Index: {{ claim_index }}
-- Runs: once per poll.
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
SELECT {{ p.returned("c.") | trim }}, txid_current_if_assigned()
FROM (
    SELECT one.* FROM step{{ t.x }} CROSS JOIN LATERAL (
        SELECT {{ p.bare("t.") | trim }} FROM {{ t.table }} AS t
        WHERE {{ p.due(scope, "t.", priority="step" ~ t.x ~ ".priority", aside=True) | trim }}
        ORDER BY {{ p.order_within("t.") }}
        LIMIT :limit
        FOR NO KEY UPDATE SKIP LOCKED
    ) AS one
    LIMIT :limit
) AS c
ORDER BY {{ p.order("c.") }};
{% else %}
SELECT {{ p.returned("c.") | trim }}, txid_current_if_assigned()
FROM (
    SELECT {{ p.bare() | trim }} FROM {{ t.table }}
    WHERE {{ p.due(scope, aside=True) | trim }}
    ORDER BY {{ p.order() }}
    LIMIT :limit
    FOR NO KEY UPDATE SKIP LOCKED
) AS c
ORDER BY {{ p.order("c.") }};
{% endif %}
