{% import "pieces.sql" as p with context %}
{# Ids that producers give may be enqueued again when the row before is a dead letter: the newer one replaces it. #}
{% if not t.column_of("id").generated %}

ON DUPLICATE KEY UPDATE {{ p.superseded("VALUES(", ")") | trim }}
{%- endif %}