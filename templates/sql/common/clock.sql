{% if t.described.clock == "database" %}
-- name: clock
-- The database's time, now: what :now and the new expiry are computed from.
-- Transaction: the caller's when one is open, else its own.
-- Locks: none.
-- Index: none.
-- Runs: every ten seconds at most, and before the first statement that needs the time.
SELECT {% include "clock_now.sql" %};
{% endif %}
