{% import "pieces.sql" as p with context %}
{% set pr = ":priority" if t.stepped else none %}
{% macro branch(lease) %}
SELECT {{ t.id }} AS candidate_id{% for c in t.order[:-1] %}, {{ c.name }} AS candidate_{{ loop.index }}{% endfor %} FROM {{ t.table }}{{ t.dialect.forced(claim_index) }}
         WHERE {{ p.due(scope, "", lease, pr, aside=True) | trim }}
         ORDER BY {{ p.order_within() if t.stepped else p.order() }} LIMIT :window
{%- endmacro %}
{% macro union() %}
(
        ({{ branch("null") }})
        UNION ALL
        ({{ branch("expired") }})
        ORDER BY {{ by("") }} LIMIT :window
    )
{%- endmacro %}
{% macro by(c) %}{% for o in t.order[:-1] %}{{ c }}candidate_{{ loop.index }}, {% endfor %}{{ c }}candidate_id{% endmacro %}
{# Dead letters in a group of this table are not left out of the list: the index could not be stepped through. #}
{% set walked = (p.unfinished() if scope == "table" else p.scoped(scope)) | trim %}
{% if t.stepped %}
-- name: {{ name | replace("claim", "due_priorities", 1) }}
-- Lists the priorities{{ of_scope }} that have due rows, most urgent first, so that rows delayed at a better
-- one are not walked. The GROUP BY names the index's leading columns: only so is it read by steps.
-- Transaction: the claim's, at READ COMMITTED; the first statement.
-- Locks: none.
-- Index: {{ claim_index }}
-- Runs: once per poll.
SELECT priority FROM (
    (SELECT {{ t.priority }} AS priority, MIN({{ t.retry_after }}) FROM {{ t.table }}{{ t.dialect.forced(claim_index) }}
     WHERE {{ walked ~ " AND " if walked }}{{ t.locked_until }} IS NULL
     GROUP BY {{ lead | join(", ") }}{{ ", " if lead }}{{ t.locked_until }}, {{ t.priority }} HAVING MIN({{ t.retry_after }}) <= :now)
    UNION
    (SELECT {{ t.priority }}, NULL FROM {{ t.table }}{{ t.dialect.forced(claim_index) }}
     WHERE {{ walked ~ " AND " if walked }}{{ t.locked_until }} <= :now AND {{ t.retry_after }} <= :now)
) AS listed
GROUP BY priority ORDER BY priority;

{% endif %}
-- name: {{ name }}
-- Takes up to :limit due rows{{ of_scope }}{{ ", of one priority" if t.stepped }}, in claim order. Candidates are read without locks, a window of
-- them, and locked by id with the condition again: so no row is locked that is not taken.
-- Transaction: the claim's, at READ COMMITTED; before claim_write. Rows are the claim's after COMMIT only.
-- Locks: the rows it returns, until the commit.
-- Index: {{ claim_index }}, and the primary key.
-- Runs: once per poll{{ " and priority" if t.stepped }}.
SELECT {{ p.returned("t.", counts=True) | trim }}
FROM {{ union() }} AS c
STRAIGHT_JOIN {{ t.table }} AS t{{ t.dialect.by_id }} ON t.{{ t.id }} = c.candidate_id
WHERE {{ p.due(scope, "t.", "free", pr) | trim }}
ORDER BY {{ by("c.") }}
LIMIT :limit
{% include "locking/skipping.sql" %};

-- name: {{ name | replace("claim", "probe", 1) }}
-- Whether anything is due beyond the window of {{ name }}, which came back empty.
-- Transaction: the claim's, after {{ name }}.
-- Locks: none.
-- Index: {{ claim_index }}
-- Runs: after a claim that brought nothing.
SELECT 1 FROM {{ union() }} AS c
LIMIT 1 OFFSET :last;
