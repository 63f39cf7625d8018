{% import "care/pieces.sql" as k with context %}
{% if purge_index %}
{% set its_own = "its own; committed before the next page" if t.dialect.row_lock else "its own, BEGIN IMMEDIATE; committed before the next page" %}
{% for name in ("purge_oldest", "purge_next") %}
-- name: {{ name }}
{% if name == "purge_oldest" %}
-- Lists{{ " and locks" if t.dialect.row_lock }} up to :limit rows that were finished before :before, the oldest first.
{% else %}
-- Lists the next ones, from :since on. So a row that cannot be deleted does not hold up those after it.
{% endif %}
-- Transaction: {{ its_own }}. Before purge.
-- Locks: {{ t.dialect.locked("the rows it returns") }}, until the commit.{{ " A row that is locked is passed over." if t.dialect.row_lock }}
-- Index: {{ purge_index }}
-- Runs: {{ "first, when an operator or a timer purges" if name == "purge_oldest" else "for each further page" }}.
SELECT t.{{ t.id }}, t.{{ t.processed_at }} FROM {{ t.table }} AS t{{ t.dialect.forced(purge_index) }}
WHERE {{ k.finished_before("t.") }}{{ " AND t." ~ t.processed_at ~ " >= :since" if name == "purge_next" }}
ORDER BY t.{{ t.processed_at }}
LIMIT :limit
{%- if t.dialect.row_lock %}

{% include "locking/skipping.sql" %}
{%- endif %};

{% endfor %}
-- name: purge
-- Deletes rows that were listed.
-- Transaction: the same, after the list.
-- Locks: {{ t.dialect.locked("rows that are locked already") }}; and what foreign keys and triggers need.
-- Index: the primary key.
-- Runs: once per page; where the database refuses it, again for each half, down to the rows that it refuses.
{% set emptied = t.table %}
{% include "removing.sql" %};

-- name: purge_left
-- Which of the rows are there still: a trigger can cancel a DELETE without an error.
-- Transaction: the same, after purge.
-- Locks: none.
-- Index: the primary key.
-- Runs: when purge deleted fewer rows than it was given.
SELECT t.{{ t.id }} FROM {{ t.table }} AS t
WHERE {{ k.among("t.") }};
{% endif %}
