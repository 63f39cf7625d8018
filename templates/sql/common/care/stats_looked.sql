{% import "pieces.sql" as p with context %}
{% import "care/pieces.sql" as k with context %}
{% set fifo = t.described.fifo if scope != "ungrouped" else none %}
{% set stepped = t.stepped and not fifo %}
{% set timed = t.retry_after and not fifo %}
{% set suffix = name | replace("claim", "", 1) %}
{% macro within(time) %}
{% set c = [] %}
{% set s = p.scoped(scope) | trim %}
{% if s %}{% do c.append(s) %}{% endif %}
{% if stepped %}{% do c.append(t.priority ~ " = :priority") %}{% endif %}
{% if time %}{% do c.append(t.retry_after ~ time) %}{% endif %}
{{ "WHERE " ~ c | join(" AND ") if c }}
{%- endmacro %}
{% macro ready() %}
{% set c = [] %}
{% if t.retry_after and not timed %}{% do c.append(t.retry_after ~ " <= :now") %}{% endif %}
{% if t.locked_until %}{% do c.append(p.free()) %}{% endif %}
{% if t.where %}{% do c.append(t.where) %}{% endif %}
{{ c | join(" AND ") }}
{%- endmacro %}
{% macro sorted() %}{% if stepped %}{{ p.order_within() }}{% elif fifo %}{{ t.group ~ ", " if scope == "table" }}{{ k.order_in_group() }}{% else %}{{ p.order() }}{% endif %}{% endmacro %}
{% set is_ready = ready() | trim %}
{% set looks = [t.id] %}
{% if t.retry_after %}{% do looks.append(t.retry_after) %}{% endif %}
{% if t.locked_until %}{% do looks.append(t.locked_until) %}{% endif %}
-- name: stats_due{{ suffix }}
-- Counts the rows{{ of_scope }} that are due{{ "" if timed else ", delayed" }} or in work{{ ", of one priority" if stepped }}, and finds the oldest due time.
-- It looks at the first :most {{ "rows whose time has come" if timed else "unfinished rows" }} only; the last column says at how many.
-- Transaction: any, or none.
-- Locks: none.
-- Index: {{ claim_index }}
-- Runs: once per look at the table{{ " and priority" if stepped }}.
SELECT {% if is_ready %}COUNT(CASE WHEN {{ is_ready }} THEN 1 END){% else %}COUNT(*){% endif %} AS due_rows,
    {{ "COUNT(CASE WHEN " ~ t.retry_after ~ " > :now THEN 1 END)" if t.retry_after and not timed else "0" }} AS delayed_rows,
    {{ "COUNT(CASE WHEN " ~ t.locked_until ~ " > :now THEN 1 END)" if t.locked_until else "0" }} AS rows_in_work,
    {{ "NULL" if not t.retry_after else "MIN(CASE WHEN " ~ is_ready ~ " THEN " ~ t.retry_after ~ " END)" if is_ready else "MIN(" ~ t.retry_after ~ ")" }} AS oldest,
    COUNT(*) AS looked_at
FROM (
    SELECT {{ "*" if t.where else looks | join(", ") }} FROM {{ t.table }}
    {{ within(" <= :now" if timed else "") | trim }}
    ORDER BY {{ sorted() }} LIMIT :most
) AS looked;
{% if timed %}

-- name: stats_delayed{{ suffix }}
-- Counts the rows{{ of_scope }} that are not due yet{{ ", of one priority" if stepped }}, as far as :most.
-- Transaction: any, or none.
-- Locks: none.
-- Index: {{ claim_index }}
-- Runs: once per look at the table{{ " and priority" if stepped }}.
SELECT COUNT(*) FROM (
    SELECT {{ t.id }} FROM {{ t.table }}
    {{ within(" > :now") | trim }}
    ORDER BY {{ sorted() }} LIMIT :most
) AS looked;
{% endif %}
