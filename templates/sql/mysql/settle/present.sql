{% import "pieces.sql" as p with context %}
{% if (t.described.form == "advisory_lock" or not t.attempt) and t.described.form != "lease" and (t.retry_after or t.last_error) %}
-- name: present
-- Whether the row is still this delivery's: an update that writes what the row holds already may count no row.
-- Transaction: the settlement's, after retry{{ " or retry_after" if t.retry_after }}.
-- Locks: the row, held already.
-- Index: the primary key.
-- Runs: after a retry that counted no row.
SELECT {{ t.id }} FROM {{ t.table }}
WHERE {{ p.fence() | trim }}
FOR UPDATE;
{% endif %}
