{% macro guarded() %}
(
    SELECT place, SHA2(CONVERT(
        CONCAT({% if t.described.schema %}{{ t.dialect.literal(t.described.title ~ ":") }}{% else %}DATABASE(), {{ t.dialect.literal("." ~ t.described.name ~ ":") }}{% endif %}, RTRIM(candidate_group))
        USING utf8mb4), 256) AS name
    FROM JSON_TABLE(:group_list, '$[*]' COLUMNS (
        place FOR ORDINALITY,
        candidate_group varchar(1000) CHARACTER SET utf8mb4 PATH '$' ERROR ON ERROR
    )) AS listed
) AS g
{%- endmacro %}
-- name: guard
-- Locks up to :limit of these groups against other claims, without waiting, and tells which: their places in
-- the list, and whether the lock is this session's. Its name is a hash of the schema, the table and the group.
{% if t.column_of("group").type.kind.value in ("text", "varchar") %}
-- Blanks at the group's end are left out: some collations do not count them.
{% endif %}
-- What decides is a statement of its own after it: only what begins after the lock sees what its last holder
-- committed.
-- Transaction: the claim's, at READ COMMITTED; before {{ claims_named }}.
-- Locks: GET_LOCK, until guard_release.
-- Index: none.
-- Runs: once per poll{{ ", and again while groups are wanted" if "table" in t.described.claims }}.
SELECT g.place, IS_USED_LOCK(g.name) = CONNECTION_ID() AS held
FROM {{ guarded() }}
WHERE COALESCE(GET_LOCK(g.name, 0), -1) <> 0
LIMIT :limit;

-- name: guard_release
-- Unlocks these groups: 1 for each that was locked.
-- Transaction: none. After the COMMIT or ROLLBACK of the transaction that guard was in: GET_LOCK outlives it.
-- Locks: none.
-- Index: none.
-- Runs: once per poll that locked groups.
SELECT g.place, RELEASE_LOCK(g.name) AS released
FROM {{ guarded() }};
