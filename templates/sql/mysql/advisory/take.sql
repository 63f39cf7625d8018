{% import "pieces.sql" as p with context %}
-- name: {{ name | replace("claim", "take", 1) }}
-- Reads the row again, now that its key is held. No row: it was settled meanwhile.
-- Transaction: the claim's, after {{ name }}{{ " and before take_write" if t.attempt }}. A locking read: it sees what the key's last holder committed.
-- Locks: the row, until the commit.
-- Index: the primary key.
-- Runs: once per key that is won.
SELECT {{ p.returned("t.", counts=True) | trim }} FROM {{ t.table }} AS t
WHERE t.{{ t.id }} = :id AND {{ p.due(scope, "t.") | trim }}
    AND CAST({{ t.key("t.") }} AS BINARY) = :key_text
FOR UPDATE;
