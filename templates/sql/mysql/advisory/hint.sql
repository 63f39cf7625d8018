{# The servers took another index, and sorted. #}
{% if claim_index != "the primary key" %} FORCE INDEX ({{ t.dialect.quote(claim_index) }}){% endif %}