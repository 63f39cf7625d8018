{% import "pieces.sql" as p with context %}
{% set pr = ":priority" if t.stepped else none %}
{% set condition = p.due(scope, priority=pr, aside=True) | trim %}
{% macro by(c) %}{% for o in t.order[:-1] %}{{ c }}candidate_{{ loop.index }}, {% endfor %}{{ c }}candidate_id{% endmacro %}
{% if t.stepped %}
{% include "row_lock/due_priorities.sql" %}

{% endif %}
-- name: {{ name }}
-- Locks up to :limit due rows{{ of_scope }}{{ ", of one priority" if t.stepped }}, in claim order, and passes over rows that others hold.
-- A locking read of the index itself would lock more: every row of the table when the optimizer sorts, as it does
-- on small tables, and rows that it only passes over. So a window of candidates is read without locks first, and
-- locked by the primary key, which MariaDB has to be told.
-- Transaction: the claim's, at READ COMMITTED unless the table says otherwise; open until the rows have their outcome.
-- Locks: the rows it returns, until the commit.
-- Index: {{ claim_index }}, and the primary key.
-- Runs: once per poll{{ " and priority" if t.stepped }}.
SELECT {{ p.returned("t.") | trim }}
FROM (
    SELECT {{ t.id }} AS candidate_id{% for c in t.order[:-1] %}, {{ c.name }} AS candidate_{{ loop.index }}{% endfor %} FROM {{ t.table }}{{ t.dialect.forced(claim_index) }}
    WHERE {{ condition }}
    ORDER BY {{ p.order_within() if t.stepped else p.order() }} LIMIT :window
) AS c
STRAIGHT_JOIN {{ t.table }} AS t{{ t.dialect.by_id }} ON t.{{ t.id }} = c.candidate_id
{% if p.due(scope, "t.", priority=pr) | trim != "TRUE" %}
WHERE {{ p.due(scope, "t.", priority=pr) | trim }}
{% endif %}
ORDER BY {{ by("c.") }}
LIMIT :limit
{% include "locking/skipping.sql" %};

-- name: {{ name | replace("claim", "probe", 1) }}
-- Whether anything is due beyond the window of {{ name }}.
-- Transaction: the claim's, after {{ name }}.
-- Locks: none.
-- Index: {{ claim_index }}
-- Runs: after a claim that brought nothing.
SELECT 1 FROM {{ t.table }}{{ t.dialect.forced(claim_index) }}
WHERE {{ condition }}
ORDER BY {{ p.order_within() if t.stepped else p.order() }}
LIMIT 1 OFFSET :last;
