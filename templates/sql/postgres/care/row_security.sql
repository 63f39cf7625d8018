-- name: row_security
-- Whether row level security decides which rows this login sees{{ ", of the table or of its dead letters" if t.fate == "table" }}.
-- Transaction: any, or none.
-- Locks: none.
-- Index: none.
-- Runs: once per look at the table.
SELECT row_security_active({{ t.dialect.literal(t.table) }}){% if t.fate == "table" %}

    OR row_security_active({{ t.dialect.literal(t.dead_table) }}){% endif %};
