{% import "pieces.sql" as p with context %}
{% if t.described.isolation %}
-- name: hold
-- Locks the row of a transactional handler, so that no extension writes it behind the snapshot that the ack
-- will read; claims pass over it, however late that is. No row: the lease is lost.
-- Transaction: the handler's, first in it.
-- Locks: {{ t.dialect.locked("one row") }}, until the commit.
-- Index: the primary key.
-- Runs: once per delivery to a transactional handler.
SELECT {{ t.id }}
FROM {{ t.table }}{{ t.dialect.by_id }}
WHERE {{ p.fence() | trim }}
FOR NO KEY UPDATE;
{% endif %}
