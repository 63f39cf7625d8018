{% import "pieces.sql" as p with context %}
{# An id may be dead already: enqueued again, restored, or redriven by hand. The newer letter replaces the older. #}

ON DUPLICATE KEY UPDATE {{ p.superseded("VALUES(", ")") | trim }}