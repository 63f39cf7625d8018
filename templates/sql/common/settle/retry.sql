{% import "pieces.sql" as p with context %}
{% set rest = p.returned_to_queue() | trim %}
-- name: retry
-- Makes the row due now, {{ retried }}.{{ no_row }}
-- Transaction: {{ settlement }}
-- Locks: {{ t.dialect.locked("one row") }}, until the commit.
-- Index: the primary key.
-- Runs: once per delivery that is retried.
{% if t.retry_after or rest %}
UPDATE {{ t.table }}{{ t.dialect.by_id }}
SET {% if t.retry_after %}{{ t.retry_after }} = :now{{ ", " if rest }}{% endif %}{{ rest }}
WHERE {{ p.fence() | trim }};
{% else %}
-- There is nothing to write: the row is due once the lock on it is gone. This tells whether it is there.
SELECT {{ t.id }} FROM {{ t.table }}
WHERE {{ p.fence() | trim }};
{% endif %}
{% if t.retry_after %}

-- name: retry_after
-- Makes the row due at :due.{{ no_row }}
-- Transaction: {{ settlement }}
-- Locks: {{ t.dialect.locked("one row") }}, until the commit.
-- Index: the primary key.
-- Runs: once per delivery that is retried.
UPDATE {{ t.table }}{{ t.dialect.by_id }}
SET {{ t.retry_after }} = :due{{ ", " if rest }}{{ rest }}
WHERE {{ p.fence() | trim }};
{% endif %}
