{% if ordered %}
{# In two parts, for the optimizer reads no index from a row on: rows that are even with it, and those
   after. The first part names its index: with statistics the planner may walk the table by its ids. #}
SELECT tied.* FROM (
{{ part(what, column ~ " = " ~ value ~ " AND t." ~ t.id ~ " > " ~ seen_id, hint=" INDEXED BY " ~ t.dialect.quote(claim_index)) | trim | indent(4, true) }}
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