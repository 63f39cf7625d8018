{# Due rows in claim order, of one priority where the claim steps through them. `further`: those behind a row
   that was looked at. #}
{% import "pieces.sql" as p with context %}
{% set ordered = "retry_after" if t.retry_after else "priority" if t.priority else none %}
{% set ordered_name = t.retry_after or t.priority %}
{% set column = "t." ~ ordered_name %}
{% set value = t.dialect.typed("seen_value", t.type_of(ordered)) if ordered %}
{% set seen_id = t.dialect.typed("seen_id", t.type_of("id")) %}
{% macro part(what, behind, hint=t.dialect.forced(claim_index), within=none, lead="") %}
SELECT {{ what }}
FROM {{ t.table }} AS t{{ hint }}
WHERE {{ p.due(within or scope, "t.", priority=":priority" if t.stepped else none, aside=True) | trim }}
{% if behind %}
    AND {{ behind }}
{% endif %}
ORDER BY {{ lead }}{% if ordered %}{{ column }}, {% endif %}t.{{ t.id }}
{% endmacro %}
{% macro rows(further, what) %}
{% if further %}
{% include "advisory/behind.sql" %}
{% else %}
{{ part(what, none) -}}
{% endif %}
{% endmacro %}
