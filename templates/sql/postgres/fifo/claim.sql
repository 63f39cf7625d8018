{% import "pieces.sql" as p with context %}
{% import "fifo/pieces.sql" as f with context %}
{% import "fifo/idle.sql" as i with context %}
{% set many = scope == "table" %}
{% set the_group = "g.candidate_group" if many else ":group" %}
{{ f.claim_facts() -}}
-- Transaction: that of guard, at READ COMMITTED; after it.{{ " Rows are the claim's after COMMIT only." if t.locked_until }}
-- Locks: the rows it returns, until the commit. NO KEY: a child row's foreign-key check never waits.
-- Index: {{ order_index }}{{ ", " ~ work_index if work_index }} and the primary key.
-- Runs: once per poll.
WITH head{{ t.x }}(candidate_id) AS (
    SELECT ({{ f.head(the_group, "y." ~ t.id) }})
{% if many %}
    FROM unnest(CAST(:groups AS {{ t.type_of("group") }}[])) AS g(candidate_group)
{% endif %}
{% if t.locked_until %}
    WHERE {{ i.idle(the_group) }}
{% endif %}
){% if t.locked_until %}, candidate{{ t.x }} AS (
    SELECT t.{{ t.id }}
    FROM head{{ t.x }} AS h JOIN {{ t.table }} AS t ON t.{{ t.id }} = h.candidate_id
    WHERE {{ f.claimable("t.") | trim }}
    FOR NO KEY UPDATE OF t SKIP LOCKED
)
{% include "lease/taken.sql" %}
{% else %}

SELECT {{ p.returned("c.") | trim }}, txid_current_if_assigned()
FROM (
    SELECT {{ p.bare("t.") | trim }}
    FROM head{{ t.x }} AS h JOIN {{ t.table }} AS t ON t.{{ t.id }} = h.candidate_id
    WHERE {{ f.claimable("t.") | trim }}
    FOR NO KEY UPDATE OF t SKIP LOCKED
) AS c;
{% endif %}
