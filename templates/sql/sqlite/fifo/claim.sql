{% import "pieces.sql" as p with context %}
{% import "fifo/pieces.sql" as f with context %}
{% import "fifo/idle.sql" as i with context %}
{{ f.claim_facts(False) | replace(" that guard granted", " that walk found" if scope == "table" else "") -}}
-- One writer at a time: no guard is needed.
-- Transaction: its own, BEGIN IMMEDIATE{{ ", after walk" if scope == "table" }}. Rows are the claim's after COMMIT only.
-- Locks: the one writer's lock, until its commit.
-- Index: {{ order_index }}{{ ", " ~ work_index if work_index }} and the primary key.
-- Runs: once per poll.
UPDATE {{ t.table }}
SET {{ p.take() }}
{% if scope == "table" %}
WHERE {{ t.id }} IN (
    SELECT ({{ f.head("g.candidate_group", "y." ~ t.id) }})
    FROM (SELECT value AS candidate_group FROM json_each(:groups)) AS g
    WHERE {{ i.idle("g.candidate_group") }}
)
    AND {{ f.claimable("") | trim }}
{% else %}
WHERE {{ t.id }} = (
        {{ f.head(":group", "y." ~ t.id) | trim }}
    )
    AND {{ f.claimable("") | trim }}
    AND {{ i.idle(":group") }}
{% endif %}
RETURNING {{ p.returned("", " - 1") | trim }};
