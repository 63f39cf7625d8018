{% import "pieces.sql" as p with context %}
{% import "fifo/pieces.sql" as f with context %}
{% if "table" in t.described.claims %}
{% for first in (True, False) %}
{{ f.walk_facts(first) -}}
SELECT {{ f.told() | trim }}
FROM (
    SELECT DISTINCT {{ t[t.finished_by] ~ ", " if t.finished_by }}{{ t.group }} AS candidate_group FROM {{ t.table }}{{ t.dialect.forced(order_index) }}
    {{ "WHERE " ~ f.from_here(first, "") | trim ~ "\n    " if f.from_here(first, "") | trim }}{% include "fifo/stepping.sql" %}LIMIT :window
) AS seen
ORDER BY seen.candidate_group;

{% endfor %}
{% endif %}
