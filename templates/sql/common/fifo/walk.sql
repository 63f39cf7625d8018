{% import "pieces.sql" as p with context %}
{% import "fifo/pieces.sql" as f with context %}
{% if "table" in t.described.claims %}
{% for first in (True, False) %}
{{ f.walk_facts(first) -}}
WITH RECURSIVE step{{ t.x }}(candidate_group) AS (
    SELECT (SELECT t.{{ t.group }} FROM {{ t.table }} AS t
            {{ "WHERE " ~ f.from_here(first, "t.") | trim ~ "\n            " if f.from_here(first, "t.") | trim }}ORDER BY t.{{ t.group }} LIMIT 1)
    UNION ALL
    SELECT (SELECT t.{{ t.group }} FROM {{ t.table }} AS t
            WHERE {{ p.unfinished("t.") | trim ~ " AND " if p.unfinished("t.") | trim }}t.{{ t.group }} > step{{ t.x }}.candidate_group
            ORDER BY t.{{ t.group }} LIMIT 1)
    FROM step{{ t.x }} WHERE step{{ t.x }}.candidate_group IS NOT NULL
), seen{{ t.x }} AS (
    SELECT candidate_group FROM step{{ t.x }} WHERE candidate_group IS NOT NULL LIMIT :window
)
SELECT {{ f.told() | trim }}
FROM seen{{ t.x }} AS seen
ORDER BY seen.candidate_group;

{% endfor %}
{% endif %}
