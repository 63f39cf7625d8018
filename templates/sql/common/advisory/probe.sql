-- name: {{ claims | replace("claim", "probe", 1) }}
-- Tells the last row of the window of {{ claims }}, which brought nothing. No row: nothing is due behind it.
-- Transaction: the claim's, after {{ claims }}.
-- Locks: {{ t.dialect.locked("none") }}{{ ", held already" if t.dialect.keys_in_process }}.
-- Index: {{ claim_index }}
-- Runs: after a {{ claims }} that brought nothing.
{{ w.rows(further, ("t." ~ w.ordered_name ~ ", " if w.ordered_name else "") ~ "t." ~ t.id) -}}
LIMIT 1 OFFSET :last;
