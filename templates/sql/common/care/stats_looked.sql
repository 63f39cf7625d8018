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
{% set untimed = t.retry_after and not timed %}
-- name: stats_due{{ suffix }}
-- Counts the rows{{ of_scope }} that are due{{ ", delayed" if untimed }}{{ " or in work" if t.locked_until }}{{ ", of one priority" if stepped }}{{ ", and finds the oldest due time" if t.retry_after }}.
{% if not t.locked_until %}
-- A row in work counts as due: nothing is written into it that tells.
{% endif %}
-- It looks at the first :most {{ "rows whose time has come" if timed else "unfinished rows" }} only; the last column says at how many.
{% if untimed %}
-- They come in the order of {{ "the groups" if scope == "table" else "the group" }}, so the oldest due time is known only where there are no more.
{% endif %}
-- Transaction: any, or none.
-- Locks: none.
-- Index: {{ claim_index }}
-- Runs: once per look at the table{{ " and priority" if stepped }}.
SELECT {% if is_ready %}COUNT(CASE WHEN {{ is_ready }} THEN 1 END){% else %}COUNT(*){% endif %} AS due_rows,
{% if untimed %}
    COUNT(CASE WHEN {{ t.retry_after }} > :now THEN 1 END) AS delayed_rows,
{% endif %}
{% if t.locked_until %}
    COUNT(CASE WHEN {{ t.locked_until }} > :now THEN 1 END) AS rows_in_work,
{% endif %}
{% if t.retry_after %}
    {{ "MIN(CASE WHEN " ~ is_ready ~ " THEN " ~ t.retry_after ~ " END)" if is_ready else "MIN(" ~ t.retry_after ~ ")" }} AS oldest,
{% endif %}
    COUNT(*) AS looked_at
FROM (
    SELECT {{ "*" if t.where else looks | join(", ") }} FROM {{ t.table }}{{ t.dialect.forced(claim_index) }}
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
    SELECT {{ t.id }} FROM {{ t.table }}{{ t.dialect.forced(claim_index) }}
    {{ within(" > :now") | trim }}
    ORDER BY {{ sorted() }} LIMIT :most
) AS looked;
{% endif %}
