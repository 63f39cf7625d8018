{% import "pieces.sql" as p with context %}
{% if t.stepped %}
{% include "row_lock/due_priorities.sql" %}

{% endif %}
-- name: {{ name }}
-- Locks up to :limit due rows{{ of_scope }}{{ ", of one priority" if t.stepped }}, in claim order, and passes over rows that others hold.
-- Transaction: the claim's, at READ COMMITTED unless the table says otherwise; open until the rows have their outcome.
-- Locks: the rows it returns, until the commit.
-- Index: {{ claim_index }}: a sort would lock every row it reads.
-- Runs: once per poll{{ " and priority" if t.stepped }}.
SELECT {{ p.returned() | trim }} FROM {{ t.table }}
WHERE {{ p.due(scope, priority=":priority" if t.stepped else none) | trim }}
ORDER BY {{ p.order_within() if t.stepped else p.order() }}
LIMIT :limit
FOR UPDATE SKIP LOCKED;
