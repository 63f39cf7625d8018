-- name: holding
-- Whether the open transaction is still the one that claimed.
-- Transaction: the claim's.
-- Locks: none.
-- Index: none.
-- Runs: when a claim's block is left, and after a settlement that found no row.
SELECT txid_current_if_assigned() = :transaction;
