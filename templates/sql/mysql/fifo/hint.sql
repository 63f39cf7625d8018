{# The index of rows without a group begins with the same columns, and the servers took it, and sorted. #}
{% if t.column_of("group").null %} FORCE INDEX ({{ t.dialect.quote(order_index) }}){% endif %}
