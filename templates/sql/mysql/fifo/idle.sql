{% import "pieces.sql" as p with context %}
{# Nothing of a group is in work: the latest expiry of its rows is over. One entry of the index is read;
   NOT EXISTS would read every row of the group. #}
{% macro idle(of_group) %}
NOT COALESCE((
        SELECT b.{{ t.locked_until }} > :now FROM {{ t.table }} AS b{{ t.dialect.forced(work_index) }}
        WHERE {{ p.unfinished("b.") | trim ~ " AND " if p.unfinished("b.") | trim }}b.{{ t.group }} = {{ of_group }}
        ORDER BY {% if of_group != ":group" %}b.{{ t.group }} DESC, {% endif %}b.{{ t.locked_until }} DESC LIMIT 1
    ), FALSE)
{%- endmacro %}
