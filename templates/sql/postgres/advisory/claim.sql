{% import "pieces.sql" as p with context %}
{% import "advisory/windows.sql" as w with context %}
{% if t.stepped %}
{% include "advisory/due_priorities.sql" %}

{% endif %}
{% for further in (False, True) %}
{% set claims = name | replace("claim", "claim_further", 1) if further else name %}
{% if further %}
-- name: {{ name | replace("claim", "by_index", 1) }}
-- Has the claim's index read from a row on: where few rows are expected the planner reads all of them, and sorts.
-- Transaction: the claim's, before {{ name | replace("claim", "claim_further", 1) }}. The settings end with it.
-- Locks: none.
-- Index: none.
-- Runs: where all keys of the first window are in use.
SELECT set_config('enable_sort', 'off', TRUE), set_config('enable_bitmapscan', 'off', TRUE),
    set_config('enable_seqscan', 'off', TRUE);

{% endif %}
-- name: {{ claims }}
{% if further %}
-- As {{ name }}, in the next :window due rows: those behind the row that the last probe told.
{% else %}
-- Reads the first :window due rows{{ of_scope }}{{ ", of one priority" if t.stepped }}, in claim order, finds the first whose key nobody holds, and locks the key.
{% endif %}
-- The inner LIMIT is a fence: no key is tried in other rows, keys are tried one after another, and the first that
-- is won ends the statement with one lock held.
-- Transaction: the claim's, at READ COMMITTED; before {{ name | replace("claim", "take", 1) }}.
-- Locks: one key, of the session: until unlock, whatever becomes of the transaction.
-- Index: {{ claim_index }}
{% if further %}
-- Runs: where all keys before it are in use, a bounded number of times. The next claim goes on behind them.
{% else %}
-- Runs: once per poll{{ " and priority" if t.stepped }}, and again for each row that was settled meanwhile.
{% endif %}
SELECT c.candidate_id, c.candidate_key, {{ t.dialect.lock("c.candidate_key") }}, pg_backend_pid()
FROM (
{{ w.rows(further, "t." ~ t.id ~ " AS candidate_id, " ~ t.key("t.") ~ " AS candidate_key") | trim | indent(4, true) }}
    LIMIT :window
) AS c
WHERE CASE WHEN {{ t.dialect.lock("c.candidate_key") }} = ANY(CAST(:locks AS bigint[])) THEN FALSE
    ELSE pg_try_advisory_lock({{ t.dialect.lock("c.candidate_key") }}) END
LIMIT 1;

{% include "advisory/probe.sql" %}

{% endfor %}
