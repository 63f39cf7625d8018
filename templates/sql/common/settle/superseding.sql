{% import "pieces.sql" as p with context %}
{# Ids that producers give may be enqueued again when the row before is a dead letter: the newer one replaces it. #}
{% if not t.column_of("id").generated %}

ON CONFLICT ({{ t.id }}) DO UPDATE
SET {{ p.superseded("excluded.") | trim }}
{%- endif %}