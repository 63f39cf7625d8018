{# The dead letters of a group, and what its order begins with. With "=" the planner drops the group from the
   order, and may walk the primary key for what is left of it; a range of one value leaves the order to the index. #}
{% import "care/pieces.sql" as k with context %}
{% macro is_dead_group(a="") %}{{ a }}{{ t.group }} >= {{ t.dead_group }} AND {{ a }}{{ t.group }} <= {{ t.dead_group }}{% endmacro %}
{% macro first_in_order() %}{{ t.group }}, {% endmacro %}
{# Without an order a plan that does not know :most reads the whole table. #}
{% macro counted_in_order() %}ORDER BY {{ t.group }}, {{ k.order_in_group() }}{% endmacro %}
