{% import "pieces.sql" as p with context %}
{# An id may be dead already: enqueued again, restored, or redriven by hand. The newer letter replaces the older. #}

ON CONFLICT ({{ t.id }}) DO UPDATE
SET {{ p.superseded("excluded.") | trim }}