{# What the statements that look after a table are made of. #}
{% import "pieces.sql" as p with context %}

{# A row that was given up and stays in the table. `dead_group`: how its group is told. #}
{% macro given_up(a="", dead_group=none) %}
{% set c = [] %}
{% if t.fate == "group" %}
{% do c.append(dead_group or a ~ t.group ~ " = " ~ t.dead_group) %}
{% do c.append(a ~ t.origin ~ " IS NOT NULL") %}
{% set u = p.unfinished(a) | trim %}
{% if u %}{% do c.append(u) %}{% endif %}
{% if t.locked_until %}{% do c.append(p.free(a)) %}{% endif %}
{% else %}
{% do c.append(a ~ t.status ~ " = " ~ t.dead) %}
{% endif %}
{{ c | join(" AND ") }}
{%- endmacro %}

{# What makes it a row that waits again. The origin is read before it is cleared: MySQL assigns in order. #}
{% macro brought_back(a="") %}
{% set c = [] %}
{% if t.fate == "group" %}
{% do c.append(t.group ~ " = " ~ a ~ t.origin) %}
{% do c.append(t.origin ~ " = NULL") %}
{% else %}
{% do c.append(t.status ~ " = " ~ t.pending) %}
{% if t.processed_at %}{% do c.append(t.processed_at ~ " = NULL") %}{% endif %}
{% endif %}
{% if t.attempt %}{% do c.append(t.attempt ~ " = 1") %}{% endif %}
{% if t.retry_after %}{% do c.append(t.retry_after ~ " = :now") %}{% endif %}
{% if t.locked_until %}{% do c.append(t.locked_until ~ " = NULL") %}{% endif %}
{{ c | join(", ") }}
{%- endmacro %}

{# A row of the dead-letter table as it waits again. A letter that was written before a column was added has
   NULL in it, and takes the column's default. #}
{% macro values_back(a) %}
{% for c in t.columns %}
{% set role = c.column.role %}
{% if role in ("locked_until", "processed_at") %}NULL{% elif role == "attempt" %}1{% elif role == "retry_after" %}:now{% elif role == "status" %}{{ t.pending }}{% elif c.default and not c.column.null %}COALESCE({{ a ~ c.name }}, {{ c.default }}){% else %}{{ a ~ c.name }}{% endif %}{{ ", " if not loop.last }}
{%- endfor %}
{%- endmacro %}

{# The order of a group's rows, as its index has them. #}
{% macro order_in_group() %}{% if t.described.fifo == "strict" %}{{ t.priority ~ ", " if t.priority }}{{ t.id }}{% else %}{{ p.order() }}{% endif %}{% endmacro %}

{# Rows of a list of ids. #}
{% macro among(a="") %}{{ t.dialect.among(a ~ t.id, t.type_of("id")) }}{% endmacro %}

{# What the first lines of redrive say, after its name. #}
{% macro redrive_says() %}
{% if t.fate == "table" %}
{% set of_key = " or its " ~ t.column_of("dedupe_key").name if t.dedupe_key else "" %}
-- Brings dead letters back: due now, from their first attempt, under their old id.
{% if t.dialect.inserts_past %}
-- One whose id{{ of_key }} is in the work table is passed over, and stays a dead letter.
{% else %}
-- One whose id{{ of_key }} is in the work table fails the statement, which then brings none back.
{% endif %}
{% elif t.fate == "group" %}
-- Brings dead letters back to the group they came from: due now, from their first attempt.
-- A row without {{ t.column_of("origin").name }} stays: nothing says where it came from.
{% else %}
-- Brings dead letters back: due now, from their first attempt.
{% endif %}
{% endmacro %}

{# Whether finished rows can be told by their time. #}
{% macro finished_before(a="") %}{{ a ~ t.processed_at }} < :before{% if t.status %} AND {{ a ~ t.status }} = {{ t.done }}{% endif %}{% endmacro %}
