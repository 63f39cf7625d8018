{% if ordered %}
{{ part(what, "(" ~ column ~ ", t." ~ t.id ~ ") > (" ~ value ~ ", " ~ seen_id ~ ")") -}}
{% elif scope == "group" %}
{# The primary key has the order of the ids too: in the order of groups and ids no other index is read. #}
{% set group = "t." ~ t.group %}
{{ part(what, "(" ~ group ~ ", t." ~ t.id ~ ") > (:group, " ~ seen_id ~ ") AND " ~ group ~ " <= :group", within="behind", lead=group ~ ", ") -}}
{% else %}
{{ part(what, "t." ~ t.id ~ " > " ~ seen_id) -}}
{% endif %}