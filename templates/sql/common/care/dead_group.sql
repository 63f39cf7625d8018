{# The dead letters of a group, and what its order begins with. #}
{% macro is_dead_group(a="") %}{{ a }}{{ t.group }} = {{ t.dead_group }}{% endmacro %}
{% macro first_in_order() %}{% endmacro %}
{% macro counted_in_order() %}{% endmacro %}
