{% import "pieces.sql" as p with context %}
{% import "advisory/windows.sql" as w with context %}
{% if t.stepped %}
{% include "advisory/due_priorities.sql" %}

{% endif %}
{% for further in (False, True) %}
{% set claims = name | replace("claim", "claim_further", 1) if further else name %}
-- name: {{ claims }}
{% if further %}
-- As {{ name }}, in the next :window due rows: those behind the row that the last probe told.
{% else %}
-- Reads the first :window due rows{{ of_scope }}{{ ", of one priority" if t.stepped }}, in claim order, and finds the first whose key this process does not hold.
{% endif %}
-- Transaction: the claim's, BEGIN IMMEDIATE; before {{ name | replace("claim", "take", 1) }}.
-- Locks: the one writer's lock, until the commit. The process then holds the key, until the row is settled.
-- Index: {{ claim_index }}
{% if further %}
-- Runs: where all keys before it are in use, a bounded number of times. The next claim goes on behind them.
{% else %}
-- Runs: once per poll{{ " and priority" if t.stepped }}.
{% endif %}
SELECT c.candidate_id, c.candidate_key
FROM (
{{ w.rows(further, "t." ~ t.id ~ " AS candidate_id, " ~ t.key("t.") ~ " AS candidate_key") | trim | indent(4, true) }}
    LIMIT :window
) AS c
WHERE c.candidate_key NOT IN (SELECT value FROM json_each(:keys))
LIMIT 1;

{% include "advisory/probe.sql" %}

{% endfor %}
