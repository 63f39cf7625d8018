{% import "pieces.sql" as p with context %}
{# A lease's token is cleared. What a row lock's retry counts stops at the column's maximum. #}
{% set counted = t.attempt and t.described.form == "row_lock" %}
{% if t.described.form != "lease" and (t.retry_after or t.last_error or counted) %}
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
