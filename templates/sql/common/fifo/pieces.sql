{# What claims of FIFO groups are made of. #}
{% import "pieces.sql" as p with context %}
{% import "fifo/idle.sql" as i with context %}

{# The order inside a group. It names the group first where that is another table's value, and not where
   it is a parameter: MySQL and MariaDB read the index in its order only so. #}
{% macro order(a, of_group) %}{% if of_group != ":group" %}{{ a }}{{ t.group }}, {% endif %}{% if t.priority %}{{ a }}{{ t.priority }}, {% endif %}{% if t.described.fifo == "due" and t.retry_after %}{{ a }}{{ t.retry_after }}, {% endif %}{{ a }}{{ t.id }}{% endmacro %}

{# What makes a head claimable, beside that nothing of its group is in work. #}
{% macro fit(a) %}
{% set c = [] %}
{% if t.retry_after %}{% do c.append(a ~ t.retry_after ~ " <= :now") %}{% endif %}
{% if t.where %}{% do c.append(t.condition(a)) %}{% endif %}
{% do c.append(t.left_out(a)) %}
{{ c | join(" AND ") }}
{%- endmacro %}

{# The rows of a group that one of is the head: in a strict group all that are unfinished, else those
   that could be claimed, so that a delayed one lets the others pass. #}
{% macro queued(of_group, a) %}
{% set c = [] %}
{% set u = p.unfinished(a) | trim %}
{% if u %}{% do c.append(u) %}{% endif %}
{% do c.append(a ~ t.group ~ " = " ~ of_group) %}
{% set f = fit(a) | trim %}
{% if t.described.fifo == "due" and f %}{% do c.append(f) %}{% endif %}
{{ c | join(" AND ") }}
{%- endmacro %}

{# The head of a group: one value of it. #}
{% macro head(of_group, value) %}
SELECT {{ value }} FROM {{ t.table }} AS y{% include "fifo/hint.sql" %}

        WHERE {{ queued(of_group, "y.") | trim }}
        ORDER BY {{ order("y.", of_group) }} LIMIT 1
{%- endmacro %}

{# What a head must still meet when it is locked. #}
{% macro claimable(a) %}
{% set c = [] %}
{% set u = p.unfinished(a) | trim %}
{% if u %}{% do c.append(u) %}{% endif %}
{% set f = fit(a) | trim %}
{% if f %}{% do c.append(f) %}{% endif %}
{% if t.locked_until %}{% do c.append(p.free(a)) %}{% endif %}
{{ c | join(" AND ") or "TRUE" }}
{%- endmacro %}

{# Whether a group that was seen can be claimed now, and whether it lies beyond the circle's end. #}
{% macro told() %}
seen.candidate_group,
{{ "    " }}{% if fit("y.") | trim %}COALESCE(({{ head("seen.candidate_group", "TRUE" if t.described.fifo == "due" else fit("y.") | trim) }}), {{ t.dialect.boolean(False) }}){% else %}{{ t.dialect.boolean(True) }}{% endif %}
{% if t.locked_until %}

    AND {{ i.idle("seen.candidate_group") }}{% endif %}
{% if t.fate == "group" %}

    AND seen.candidate_group <> {{ t.dead_group }}{% endif %} AS ready,
    COALESCE(seen.candidate_group > {{ t.dialect.typed("until", t.type_of("group")) }}, {{ t.dialect.boolean(False) }}) AS beyond
{%- endmacro %}

{# The groups of unfinished rows, from the first or after :after. #}
{% macro from_here(first, a) %}
{% set c = [] %}
{% set u = p.unfinished(a) | trim %}
{% if u %}{% do c.append(u) %}{% endif %}
{% if not first %}{% do c.append(a ~ t.group ~ " > " ~ t.dialect.typed("after", t.type_of("group"))) %}
{% elif t.column_of("group").null %}{% do c.append(a ~ t.group ~ " IS NOT NULL") %}{% endif %}
{{ c | join(" AND ") }}
{%- endmacro %}

{# The lines above a walk. #}
{% macro walk_facts(first) %}
{% if first %}
-- name: walk_first
-- Looks at the groups from the first on, :window of them, and tells which have a head that can be claimed
-- and nothing in work; no group is beyond while :until is NULL.
{% else %}
-- name: walk
-- Looks at the groups after :after, :window of them, as walk_first does; those after :until are beyond the
-- circle, which began there.
{% endif %}
-- Transaction: the claim's, before {{ "guard" if t.dialect.row_lock else "claim_table" }}: what it says is decided again by claim_table.
-- Locks: none.
-- Index: {{ order_index }}{{ ", " ~ work_index if work_index }}
-- Runs: {{ "once per circle through the groups" if first else "once per poll, and again while groups are wanted" }}.
{% endmacro %}

{# The lines above a claim. `counts`: no statement after it counts the attempt. #}
{% macro claim_facts(locks=True, counts=True) %}
{% set counting = ", and counts the attempt" if counts and t.attempt and t.locked_until %}
-- name: {{ name }}
{% if scope == "table" %}
-- Takes the heads of the groups that guard granted{{ counting }}.
{% else %}
-- Takes the head of a group that guard granted{{ counting }}.
{% endif %}
{% if t.described.fifo == "due" %}
-- The head is the first row that is due: a delayed one lets the others pass.
{% else %}
-- The head is the first row, due or not: one that is not due holds its group.
{% endif %}
{% if locks %}
-- It is chosen first and locked by id: SKIP LOCKED where it is chosen would hand out the row behind a locked head.
{% endif %}
{% if t.locked_until %}
-- A group of which a row is in work yields nothing, whatever has come before that row since.
{% endif %}
{% endmacro %}
