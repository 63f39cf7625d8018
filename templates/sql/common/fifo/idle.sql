{% import "pieces.sql" as p with context %}
{# Nothing of a group is in work. The row lock form tells by the guard, which is held as long. #}
{% macro idle(of_group) %}
NOT EXISTS (
        SELECT 1 FROM {{ t.table }} AS b
        WHERE {{ p.unfinished("b.") | trim ~ " AND " if p.unfinished("b.") | trim }}b.{{ t.group }} = {{ of_group }} AND b.{{ t.locked_until }} > :now
    )
{%- endmacro %}
