{% import "pieces.sql" as p with context %}
{% if not t.locked_until or (t.described.fifo and scope != "ungrouped") %}
{% include "care/stats_looked.sql" %}
{% else %}
{% set suffix = name | replace("claim", "", 1) %}
{% macro within(lease, time="") %}
{% set c = [] %}
{% set s = p.scoped(scope) | trim %}
{% if s %}{% do c.append(s) %}{% endif %}
{% do c.append(t.locked_until ~ lease) %}
{% if t.stepped and lease == " IS NULL" %}{% do c.append(t.priority ~ " = :priority") %}{% endif %}
{% if time and t.retry_after %}{% do c.append(t.retry_after ~ time) %}{% endif %}
WHERE {{ c | join(" AND ") }}
{%- endmacro %}
{% macro sorted() %}{{ p.order_within() if t.stepped else p.order() }}{% endmacro %}
-- name: stats_due{{ suffix }}
-- Counts the due rows{{ of_scope }} that hold no lease{{ ", of one priority" if t.stepped }}{{ ", and finds the oldest due time" if t.retry_after }}.
-- It looks at the first :most only; the last column says at how many.
-- Transaction: any, or none.
-- Locks: none.
-- Index: {{ claim_index }}
-- Runs: once per look at the table{{ " and priority" if t.stepped }}.
SELECT {% if t.where %}COUNT(CASE WHEN {{ t.where }} THEN 1 END){% else %}COUNT(*){% endif %} AS due_rows,
{% if t.retry_after %}
    {{ "MIN(CASE WHEN " ~ t.where ~ " THEN " ~ t.retry_after ~ " END)" if t.where else "MIN(" ~ t.retry_after ~ ")" }} AS oldest,
{% endif %}
    COUNT(*) AS looked_at
FROM (
    SELECT {{ "*" if t.where else t.retry_after or t.id }} FROM {{ t.table }}{{ t.dialect.forced(claim_index) }}
    {{ within(" IS NULL", " <= :now") | trim }}
    ORDER BY {{ sorted() }} LIMIT :most
) AS looked;
{% if t.retry_after %}

-- name: stats_delayed{{ suffix }}
-- Counts the rows{{ of_scope }} that are not due yet{{ ", of one priority" if t.stepped }}, as far as :most.
-- Transaction: any, or none.
-- Locks: none.
-- Index: {{ claim_index }}
-- Runs: once per look at the table{{ " and priority" if t.stepped }}.
SELECT COUNT(*) FROM (
    SELECT {{ t.id }} FROM {{ t.table }}{{ t.dialect.forced(claim_index) }}
    {{ within(" IS NULL", " > :now") | trim }}
    ORDER BY {{ sorted() }} LIMIT :most
) AS looked;
{% endif %}

-- name: stats_leased{{ suffix }}
-- Counts the rows{{ of_scope }} that hold a lease: in work, or due again because it ran out.
-- It looks at no more than :most, in no order; the last column says at how many.
{% if t.retry_after %}
-- So the oldest due time is known only where there are no more.
{% endif %}
-- Transaction: any, or none.
-- Locks: none.
-- Index: {{ claim_index }}
-- Runs: once per look at the table.
{% set ready = t.locked_until ~ " <= :now" ~ (" AND " ~ t.where if t.where else "") %}
SELECT COUNT(CASE WHEN {{ ready }} THEN 1 END) AS due_rows,
    COUNT(CASE WHEN {{ t.locked_until }} > :now THEN 1 END) AS rows_in_work,
{% if t.retry_after %}
    MIN(CASE WHEN {{ ready }} THEN {{ t.retry_after }} END) AS oldest,
{% endif %}
    COUNT(*) AS looked_at
FROM (
    SELECT {{ "*" if t.where else t.locked_until }}{{ ", " ~ t.retry_after if t.retry_after and not t.where }} FROM {{ t.table }}{{ t.dialect.forced(claim_index) }}
    {{ within(" IS NOT NULL") | trim }}
    LIMIT :most
) AS looked;
{% endif %}
