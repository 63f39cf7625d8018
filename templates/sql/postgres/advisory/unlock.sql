-- name: locks_in_use
-- Lists the keys that any session of this database holds, so that the next look leaves them out.
-- Transaction: the claim's, after a probe that found more.
-- Locks: none.
-- Index: none.
-- Runs: when every row that the claim looked at has its key in use.
SELECT (CAST(classid AS bigint) << 32) | CAST(objid AS bigint) FROM pg_locks
WHERE locktype = 'advisory' AND objsubid = 1
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database());

-- name: unlock
-- Gives the key back. Anything but true: the lock is not this session's, and the connection is closed.
-- Transaction: its own, after the settlement's COMMIT; or the claim's, for a row that was settled meanwhile.
-- Locks: none; it ends the key's.
-- Index: none.
-- Runs: once per key that was won.
SELECT pg_advisory_unlock(CAST(:lock AS bigint));
