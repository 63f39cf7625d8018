{% if ordered %}
{# In two parts, for the optimizer reads no index from a row on: rows that are even with it, and those
   after. An equality would be read from the first such row on. #}
SELECT tied.* FROM (
{{ part(what, column ~ " >= " ~ value ~ " AND " ~ column ~ " <= " ~ value ~ " AND t." ~ t.id ~ " > " ~ seen_id) | trim | indent(4, true) }}
    LIMIT :window
) AS tied
UNION ALL
SELECT later.* FROM (
{{ part(what, column ~ " > " ~ value) | trim | indent(4, true) }}
    LIMIT :window
) AS later
{% else %}
{{ part(what, "t." ~ t.id ~ " > " ~ seen_id) -}}
{% endif %}