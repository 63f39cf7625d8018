{% import "pieces.sql" as p with context %}
-- name: claim_write
-- Writes the expiry into the rows the claim locked{{ ", and counts the attempt" if t.attempt }}.
-- Transaction: the claim's; the last statement before COMMIT.
-- Locks: rows the claim holds already.
-- Index: the primary key.
-- Runs: once per claim that brought rows; where it is refused because of one row, again for each half of them.
UPDATE {{ t.table }}
SET {{ p.take() }}
WHERE {{ t.id }} IN (:ids);
