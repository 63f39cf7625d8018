{% import "pieces.sql" as p with context %}
-- name: enqueue
-- Adds one row.{% if t.dedupe_key %} A row whose {{ t.column_of("dedupe_key").field }} is queued already is refused.{% endif %}

{% if t.channel %}
-- Its commit wakes the workers that listen on {{ t.channel }}; the notification carries nothing.
{% endif %}
-- Transaction: the producer's; it never commits.
-- Locks: {{ t.dialect.locks_of_insert(generated=t.column_of("id").generated) }}{% if t.channel %}; commits that notify take turns{% endif %}.
-- Index: {% if t.dedupe_key %}{{ dedupe_index }}{% else %}none{% endif %}.
-- Runs: once per row.
{% if enqueued %}
INSERT INTO {{ t.table }} ({{ enqueued | map(attribute="name") | join(", ") }})
VALUES ({{ enqueued_values | join(", ") }})
{% else %}
INSERT INTO {{ t.table }} {{ t.dialect.nothing }}
{% endif %}
{%- if t.dedupe_key %}{% include "refusing_twins.sql" %}{% endif %}{% include "returning_id.sql" %};
