{% import "pieces.sql" as p with context %}
{% import "fifo/pieces.sql" as f with context %}
{% import "fifo/idle.sql" as i with context %}
{% set many = scope == "table" %}
{{ f.claim_facts(counts=False) -}}
-- Transaction: that of guard, at READ COMMITTED; after it{{ " and before claim_write. Rows are the claim's after COMMIT only" if t.locked_until }}.
-- Locks: the rows it returns, until the commit.
-- Index: {{ order_index }}{{ ", " ~ work_index if work_index }} and the primary key.
-- Runs: once per poll.
SELECT {{ p.returned("t.", counts=t.locked_until) | trim }}
{% if many %}
FROM (
    SELECT ({{ f.head("g.candidate_group", "y." ~ t.id) }}) AS candidate_id
    FROM (
        SELECT DISTINCT {{ t[t.finished_by] ~ ", " if t.finished_by }}{{ t.group }} AS candidate_group FROM {{ t.table }}{{ t.dialect.forced(order_index) }}
        WHERE {{ p.unfinished() | trim ~ " AND " if p.unfinished() | trim }}{{ t.group }} IN (:groups)
    ) AS g
{% if t.locked_until %}
    WHERE {{ i.idle("g.candidate_group") }}
{% endif %}
) AS head
{% else %}
FROM (
        {{ f.head(":group", "y." ~ t.id ~ " AS candidate_id") | trim }}
) AS head
{% endif %}
STRAIGHT_JOIN {{ t.table }} AS t{{ t.dialect.by_id }} ON t.{{ t.id }} = head.candidate_id
WHERE {{ f.claimable("t.") | trim }}
{% if t.locked_until and not many %}
    AND {{ i.idle(":group") }}
{% endif %}
{% include "locking/skipping.sql" %};
