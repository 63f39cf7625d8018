{% import "pieces.sql" as p with context %}
-- name: {{ name | replace("claim", "take", 1) }}
-- Reads the row again, now that its key is held{{ ", and counts the attempt" if t.attempt }}. No row: it was settled meanwhile.
-- Transaction: the claim's, after {{ name }}.
-- Locks: the one writer's lock, held already.
-- Index: the primary key.
-- Runs: once per key that is won.
{% if t.attempt %}
UPDATE {{ t.table }} AS t
SET {{ t.attempt }} = {{ t.counted("t.") }}
WHERE t.{{ t.id }} = :id AND {{ p.due(scope, "t.") | trim }} AND {{ t.key("t.") }} = :key_text
RETURNING {{ p.returned("", " - 1") | trim }};
{% else %}
SELECT {{ p.returned("t.") | trim }} FROM {{ t.table }} AS t
WHERE t.{{ t.id }} = :id AND {{ p.due(scope, "t.") | trim }} AND {{ t.key("t.") }} = :key_text;
{% endif %}
