{% if t.attempt %}
-- name: take_write
-- Counts the attempt of the row that was taken.
-- Transaction: the claim's; the last statement before COMMIT.
-- Locks: the row, held already.
-- Index: the primary key.
-- Runs: once per row that is taken.
UPDATE {{ t.table }}
SET {{ t.attempt }} = {{ t.counted() }}
WHERE {{ t.id }} = :id;
{% endif %}
