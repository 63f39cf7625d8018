{% import "pieces.sql" as p with context %}
{% set pr = ":priority" if t.stepped else none %}
{% set before_id = t.order[1:-1] if t.stepped else t.order[:-1] %}
{% macro window() %}
    SELECT k.candidate_id, k.candidate_key, {{ t.dialect.lock("k.candidate_key") }} AS candidate_lock
    FROM (
        SELECT t.{{ t.id }} AS candidate_id{% for c in before_id %}, t.{{ c.name }} AS candidate_{{ loop.index }}{% endfor %},
            {{ t.key("t.") }} AS candidate_key
        FROM {{ t.table }} AS t
        WHERE {{ p.due(scope, "t.", priority=pr, aside=True) | trim }}
    ) AS k
    WHERE IS_FREE_LOCK({{ t.dialect.lock("k.candidate_key") }}) = 1
    ORDER BY {% for c in before_id %}k.candidate_{{ loop.index }}, {% endfor %}k.candidate_id
    LIMIT :window
{% endmacro %}
{% if t.stepped %}
{% include "row_lock/due_priorities.sql" %}

{% endif %}
-- name: {{ name }}
-- Finds the first due row{{ of_scope }}{{ ", of one priority" if t.stepped }}, in claim order, whose key nobody holds, and locks the key. The inner LIMIT is a
-- fence: keys are tried one after another, and the first that is won ends the statement with one lock held.
-- The lock's name is the key behind the database's name, or the SHA-256 of both where that is not short, plain and lower-case.
-- A NULL in the last column: GET_LOCK gave no answer.
-- Transaction: the claim's, at READ COMMITTED; before {{ name | replace("claim", "take", 1) }}.
-- Locks: one key, of the session: until unlock, whatever becomes of the transaction. No row.
-- Index: {{ claim_index }}
-- Runs: once per poll{{ " and priority" if t.stepped }}, and again for each row that was settled meanwhile.
SELECT c.candidate_id, CAST(c.candidate_key AS BINARY), c.candidate_lock,
    IF(IS_USED_LOCK(c.candidate_lock) = CONNECTION_ID(), CONNECTION_ID(), NULL)
FROM (
{{ window() -}}
) AS c
WHERE COALESCE(GET_LOCK(c.candidate_lock, 0), 2) > 0
LIMIT 1;

-- name: {{ name | replace("claim", "probe", 1) }}
-- Whether anything is due beyond the window of {{ name }}, which brought nothing.
-- Transaction: the claim's, after {{ name }}.
-- Locks: none.
-- Index: {{ claim_index }}
-- Runs: after a claim that brought nothing.
SELECT 1 FROM (
{{ window() -}}
) AS c
LIMIT 1 OFFSET :last;
