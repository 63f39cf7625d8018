{% import "pieces.sql" as p with context %}
-- name: present
-- Whether the row is still this delivery's, and unchanged: then a trigger cancelled the write, and its holder is told so.
-- Transaction: the settlement's, after it.
-- Locks: none.
-- Index: the primary key.
-- Runs: after a settlement that counted no row.
SELECT {{ t.id }} FROM {{ t.table }}
WHERE {{ p.fence() | trim }};
