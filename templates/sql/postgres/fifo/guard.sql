-- name: guard
-- Locks up to :limit of these groups against other claims, without waiting, and tells which: their places in
-- the list. The lock is on the table and the group, by the group's own equality. What decides is a statement
-- of its own after it: only what begins after the lock sees what its last holder committed.
-- Transaction: the claim's, at READ COMMITTED; before {{ claims_named }}.
-- Locks: advisory, until the end of the transaction.
-- Index: none.
-- Runs: once per poll{{ ", and again while groups are wanted" if "table" in t.described.claims }}.
SELECT g.place
FROM unnest(CAST(:groups AS {{ t.type_of("group") }}[])) WITH ORDINALITY AS g(candidate_group, place)
WHERE pg_try_advisory_xact_lock(
    hash_array_extended(ARRAY[g.candidate_group], hashtextextended({{ t.dialect.literal(t.described.title) }}, 0)))
LIMIT :limit;
