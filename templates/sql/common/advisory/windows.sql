{# Due rows in claim order, of one priority where the claim steps through them. `further`: those behind a row
   that was looked at. #}
{% import "pieces.sql" as p with context %}
{% set ordered = "retry_after" if t.retry_after else "priority" if t.priority else none %}
{% set ordered_name = t.retry_after or t.priority %}
{% set column = "t." ~ ordered_name %}
{% set value = t.dialect.typed("seen_value", t.type_of(ordered)) if ordered %}
{% set seen_id = t.dialect.typed("seen_id", t.type_of("id")) %}
{% macro part(what, behind) %}
SELECT {{ what }}
FROM {{ t.table }} AS t{{ t.dialect.forced(claim_index) }}
WHERE {{ p.due(scope, "t.", priority=":priority" if t.stepped else none, aside=True) | trim }}
{% if behind %}
    AND {{ behind }}
{% endif %}
ORDER BY {% if ordered %}{{ column }}, {% endif %}t.{{ t.id }}
{% endmacro %}
{% macro rows(further, what) %}
{% if further and ordered %}
{% include "advisory/behind.sql" %}
{% else %}
{{ part(what, ("t." ~ t.id ~ " > " ~ seen_id) if further) -}}
{% endif %}
{% endmacro %}
