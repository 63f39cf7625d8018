{% import "pieces.sql" as p with context %}
-- name: candidates_take
-- Takes rows that the statement before it locked{{ ", and counts the attempt" if t.attempt }}. They come back in no order.
-- Transaction: that of candidates, after it, behind a savepoint.
-- Locks: rows that the transaction holds already.
-- Index: the primary key.
-- Runs: when the database refused a claim because of one row; where it is refused, again for each half.
UPDATE {{ t.table }}
SET {{ p.take() }}
WHERE {{ t.dialect.among(t.id, t.type_of("id")) }}
RETURNING {{ p.returned("", " - 1") | trim }};
