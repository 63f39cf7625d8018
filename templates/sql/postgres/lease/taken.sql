{% import "pieces.sql" as p with context %}
{# What a lease claim does with its candidates: gives up the exhausted, takes the others, returns both. #}
{% if spent %}
{% if t.fate == "table" %}
{% set superseding %}{% include "settle/superseding.sql" %}{% endset %}
, spent{{ t.x }} AS (
    DELETE FROM {{ t.table }} AS t USING candidate{{ t.x }} AS c
    WHERE t.{{ t.id }} = c.{{ t.id }} AND {{ spent }}
    RETURNING {{ p.all("t.") }}
), filed{{ t.x }} AS (
    INSERT INTO {{ t.dead_table }} ({{ p.dead_columns() | trim }})
    SELECT {{ p.dead_values("", "") | trim | replace(t.dialect.typed("reason", "text"), "'exhausted'") | replace(t.dialect.typed("error", "text"), "NULL") }}
    FROM spent{{ t.x }}{{ superseding | indent(4) }}

)
{%- else %}
, spent{{ t.x }} AS (
    UPDATE {{ t.table }} AS t
    SET {{ (p.buried("t.") if t.fate == "group" else p.marked()) | trim | replace(t.dialect.typed("reason", "text"), "'exhausted'") | replace(t.dialect.typed("error", "text"), "NULL") }}
    FROM candidate{{ t.x }} AS c
    WHERE t.{{ t.id }} = c.{{ t.id }} AND {{ spent }}
    RETURNING {{ p.all("t.") }}
)
{%- endif %}
{% endif %}, taken{{ t.x }} AS (
    UPDATE {{ t.table }} AS t
    SET {{ p.take("t.") }}
    FROM candidate{{ t.x }} AS c
    WHERE t.{{ t.id }} = c.{{ t.id }}{% if spent %} AND NOT ({{ spent }}){% endif %}

    RETURNING {{ p.returned("t.", " - 1") | trim }}
)
{% if spent %}
SELECT {{ p.again() | trim }}, FALSE AS "exhausted?" FROM taken{{ t.x }}
UNION ALL
SELECT {{ p.returned("", "") | trim }}, TRUE FROM spent{{ t.x }}
ORDER BY {{ p.order() }};
{% else %}
SELECT {{ p.again() | trim }}
FROM taken{{ t.x }}
ORDER BY {{ p.order() }};
{% endif %}
