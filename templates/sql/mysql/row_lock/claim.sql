{% import "pieces.sql" as p with context %}
{% set condition = p.due(scope, priority=":priority" if t.stepped else none) | trim %}
{% if t.stepped %}
{% include "row_lock/due_priorities.sql" %}

{% endif %}
-- name: {{ name }}
-- Locks up to :limit due rows{{ of_scope }}{{ ", of one priority" if t.stepped }}, in claim order, and passes over rows that others hold.
-- The index has to give the order: a sort would lock every row it reads.
-- Transaction: the claim's, at READ COMMITTED unless the table says otherwise; open until the rows have their outcome.
-- Locks: the rows it returns, until the commit.
-- Index: {{ claim_index }}
-- Runs: once per poll{{ " and priority" if t.stepped }}.
SELECT {{ p.returned() | trim }} FROM {{ t.table }}
{% if condition != "TRUE" %}
WHERE {{ condition }}
{% endif %}
ORDER BY {{ p.order_within() if t.stepped else p.order() }}
LIMIT :limit
FOR UPDATE SKIP LOCKED;
