{% import "pieces.sql" as p with context %}
{% import "advisory/windows.sql" as w with context %}
{% if t.stepped %}
{% include "row_lock/due_priorities.sql" %}

{% endif %}
{% for further in (False, True) %}
{% set claims = name | replace("claim", "claim_further", 1) if further else name %}
-- name: {{ claims }}
{% if further %}
-- As {{ name }}, in the next :window due rows: those behind the row that the last probe told.
{% else %}
-- Reads the first :window due rows{{ of_scope }}{{ ", of one priority" if t.stepped }}, in claim order, finds the first whose key nobody holds, and locks the key.
{% endif %}
-- The LIMITs are fences: no key is looked at in other rows, keys are tried one after another, and the first that
-- is won ends the statement with one lock held.
-- The lock's name is the key behind the database's name, or the SHA-256 of both where that is not short, plain and lower-case.
-- A NULL in the last column: GET_LOCK gave no answer.
-- Transaction: the claim's, at READ COMMITTED; before {{ name | replace("claim", "take", 1) }}.
-- Locks: one key, of the session: until unlock, whatever becomes of the transaction. No row.
-- Index: {{ claim_index }}
{% if further %}
-- Runs: where all keys before it are in use, a bounded number of times. The next claim goes on behind them.
{% else %}
-- Runs: once per poll{{ " and priority" if t.stepped }}, and again for each row that was settled meanwhile.
{% endif %}
SELECT c.candidate_id, CAST(c.candidate_key AS BINARY), c.candidate_lock,
    IF(IS_USED_LOCK(c.candidate_lock) = CONNECTION_ID(), CONNECTION_ID(), NULL)
FROM (
    SELECT k.candidate_id, k.candidate_key, {{ t.dialect.lock("k.candidate_key") }} AS candidate_lock
    FROM (
{{ w.rows(further, "t." ~ t.id ~ " AS candidate_id, " ~ t.key("t.") ~ " AS candidate_key") | trim | indent(8, true) }}
        LIMIT :window
    ) AS k
    WHERE IS_FREE_LOCK({{ t.dialect.lock("k.candidate_key") }}) = 1
    LIMIT :window
) AS c
WHERE COALESCE(GET_LOCK(c.candidate_lock, 0), 2) > 0
LIMIT 1;

{% include "advisory/probe.sql" %}

{% endfor %}
