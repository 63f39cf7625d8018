-- name: unlock
-- Gives the key back. Anything but true: the lock is not this session's, and the connection is closed.
-- Transaction: its own, after the settlement's COMMIT; or the claim's, for a row that was settled meanwhile.
-- Locks: none; it ends the key's.
-- Index: none.
-- Runs: once per key that was won.
SELECT pg_advisory_unlock(CAST(:lock AS bigint));
