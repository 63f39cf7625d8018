-- name: key_space
-- Names the database file, whose keys this process keeps. Two processes on one file do not see each other's keys,
-- and a row may then be delivered twice: use one process per file, or a lease.
-- Transaction: the claim's; the first statement.
-- Locks: none.
-- Index: none.
-- Runs: once per poll.
SELECT file FROM pragma_database_list
WHERE name = {{ t.dialect.literal(t.described.schema or "main") }} COLLATE NOCASE;
