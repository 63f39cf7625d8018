{# The small pieces statements are made of, each written once. #}

{# A row that is not finished. Blank where finished rows are deleted. #}
{% macro unfinished(a="") %}
{% if t.finished_by == "status" %}{{ a }}{{ t.status }} = {{ t.pending }}{% elif t.finished_by %}{{ a }}{{ t.processed_at }} IS NULL{% endif %}
{% endmacro %}

{# A row that no lease holds. #}
{% macro free(a="") %}({{ a }}{{ t.locked_until }} IS NULL OR {{ a }}{{ t.locked_until }} <= :now){% endmacro %}

{# The rows a claim may look at: its scope, unfinished. #}
{% macro scoped(scope, a="") %}
{% set c = [] %}
{% if scope == "group" %}{% do c.append(a ~ t.group ~ " = :group") %}{% endif %}
{% if scope == "ungrouped" %}{% do c.append(a ~ t.group ~ " IS NULL") %}{% endif %}
{% if scope == "table" and t.fate == "group" %}{% do c.append(not_dead(a)) %}{% endif %}
{% set u = unfinished(a) | trim %}
{% if u %}{% do c.append(u) %}{% endif %}
{{ c | join(" AND ") }}
{%- endmacro %}

{# Not one of the dead letters that wait in a group of this table. #}
{% macro not_dead(a="") %}{% if t.column_of("group").null %}({{ a }}{{ t.group }} IS NULL OR {{ a }}{{ t.group }} <> {{ t.dead_group }}){% else %}{{ a }}{{ t.group }} <> {{ t.dead_group }}{% endif %}{% endmacro %}

{# The condition a row meets to be claimable. `lease`: free, null, expired or no. `aside`: rows that the
   claim leaves out are none. #}
{% macro due(scope, a="", lease="free", priority=none, aside=False) %}
{% set c = [] %}
{% set s = scoped(scope, a) | trim %}
{% if s %}{% do c.append(s) %}{% endif %}
{% if priority %}{% do c.append(a ~ t.priority ~ " = " ~ priority) %}{% endif %}
{% if t.retry_after %}{% do c.append(a ~ t.retry_after ~ " <= :now") %}{% endif %}
{% if t.locked_until and lease == "free" %}{% do c.append(free(a)) %}{% endif %}
{% if t.locked_until and lease == "null" %}{% do c.append(a ~ t.locked_until ~ " IS NULL") %}{% endif %}
{% if t.locked_until and lease == "expired" %}{% do c.append(a ~ t.locked_until ~ " <= :now") %}{% endif %}
{% if t.where %}{% do c.append(t.condition(a)) %}{% endif %}
{% if aside %}{% do c.append(t.left_out(a)) %}{% endif %}
{{ c | join(" AND ") or "TRUE" }}
{%- endmacro %}

{# The claim order. #}
{% macro order(a="") %}{% for c in t.order %}{{ a }}{{ c.name }}{{ ", " if not loop.last }}{% endfor %}{% endmacro %}

{# The claim order inside one priority. #}
{% macro order_within(a="") %}{{ a }}{{ t.retry_after }}, {{ a }}{{ t.id }}{% endmacro %}

{# What a claim returns: the Row's columns, then the attempt where it is counted. `off`: what the
   statement has added to the attempt already. `counts`: a statement after it adds one. #}
{% macro returned(a="", off="", counts=False) %}
{% for c in t.row %}{{ out(c, a) }}{{ ", " if not loop.last }}{% endfor %}
{% if t.attempt %}, {{ t.countable(a) if counts else a ~ t.attempt ~ off }}{% if off or counts %} AS {{ t.attempt }}{% endif %}{% endif %}
{% endmacro %}

{# The same columns as they are, for a statement around this one to return. #}
{% macro bare(a="") %}
{% for c in t.row %}{{ a }}{{ c.name }}{{ ", " if not loop.last }}{% endfor %}
{% if t.attempt %}, {{ a }}{{ t.attempt }}{% endif %}
{% endmacro %}

{# One column as a claim returns it. #}
{% macro out(c, a="") %}{{ t.dialect.returned(a ~ c.name, c.name, c.column.type.kind) }}{% endmacro %}

{# The Row's columns by name, out of a statement that returned them already. #}
{% macro again() %}
{% for c in t.row %}{{ c.name }}{{ ", " if not loop.last }}{% endfor %}
{% if t.attempt %}, {{ t.attempt }}{% endif %}
{% endmacro %}

{# Every column of the table. #}
{% macro all(a="") %}{% for c in t.columns %}{{ a }}{{ c.name }}{{ ", " if not loop.last }}{% endfor %}{% endmacro %}

{# What a claim writes. #}
{% macro take(a="") %}{{ t.locked_until }} = :locked_until{% if t.attempt %}, {{ t.attempt }} = {{ t.counted(a) }}{% endif %}{% endmacro %}

{# What finishing writes into a row that stays. #}
{% macro finished(status) %}
{% set c = [] %}
{% if t.processed_at %}{% do c.append(t.processed_at ~ " = :now") %}{% endif %}
{% if t.status %}{% do c.append(t.status ~ " = " ~ status) %}{% endif %}
{% if t.locked_until %}{% do c.append(t.locked_until ~ " = NULL") %}{% endif %}
{% if t.dedupe_key %}{% do c.append(t.dedupe_key ~ " = NULL") %}{% endif %}
{{ c | join(", ") }}
{%- endmacro %}

{# Why a row became a dead letter. #}
{% macro why() %}COALESCE({{ typed("error") }}, {{ typed("reason") }}){% endmacro %}

{# What makes a row the dead letter of a group. #}
{% macro buried(a="") %}
{% set c = [] %}
{% if t.origin %}{% do c.append(t.origin ~ " = " ~ a ~ t.group) %}{% endif %}
{% do c.append(t.group ~ " = " ~ t.dead_group) %}
{% if t.attempt %}{% do c.append(t.attempt ~ " = 1") %}{% endif %}
{% if t.retry_after %}{% do c.append(t.retry_after ~ " = :now") %}{% endif %}
{% if t.locked_until %}{% do c.append(t.locked_until ~ " = NULL") %}{% endif %}
{% if t.last_error %}{% do c.append(t.last_error ~ " = " ~ why()) %}{% endif %}
{% if t.dedupe_key %}{% do c.append(t.dedupe_key ~ " = NULL") %}{% endif %}
{{ c | join(", ") }}
{%- endmacro %}

{# What marks a row as dead where it stands. #}
{% macro marked() %}{{ finished(t.dead) | trim }}{% if t.last_error %}, {{ t.last_error }} = {{ why() }}{% endif %}{% endmacro %}

{# The columns of the dead-letter table. #}
{% macro dead_columns() %}{{ all() }}{% for w in ("reason", "error", "time") %}{% if t.dead_extra(w) %}, {{ t.dead_extra(w) }}{% endif %}{% endfor %}{% endmacro %}

{# The values of a dead letter, out of a row of the table. #}
{% macro dead_values(a="", attempt=" - 1" if t.described.form != "row_lock" else "") %}
{% for c in t.columns %}{% if c.column.role == "locked_until" %}NULL{% elif c.column.role == "attempt" %}{{ a }}{{ c.name }}{{ attempt }}{% else %}{{ a }}{{ c.name }}{% endif %}{{ ", " if not loop.last }}{% endfor %}
{% for w in ("reason", "error", "time") %}{% if t.dead_extra(w) %}, {{ typed(w) }}{% endif %}{% endfor %}
{% endmacro %}

{# The columns of a dead letter that replace those of an older one of the same id. #}
{% macro superseded(before, after="") %}
{% set c = [] %}
{% for one in t.columns if one.name != t.id %}{% do c.append(one.name ~ " = " ~ before ~ one.name ~ after) %}{% endfor %}
{% for w in ("reason", "error", "time") if t.dead_extra(w) %}{% do c.append(t.dead_extra(w) ~ " = " ~ before ~ t.dead_extra(w) ~ after) %}{% endfor %}
{{ c | join(", ") }}
{%- endmacro %}

{# The parameter behind a column that dead letters alone have. #}
{% macro typed(w) %}{{ ":now" if w == "time" else t.dialect.typed(w, "text") }}{% endmacro %}

{# What a settlement must still find in the row. #}
{% macro fence() %}
{% set c = [t.id ~ " = :id"] %}
{% if t.described.form == "lease" %}
{% do c.append(t.locked_until ~ " IN (:token, :sent)") %}
{% if t.attempt %}{% do c.append(t.attempt ~ " = :attempt") %}{% endif %}
{% endif %}
{% if t.described.form == "advisory_lock" %}
{% if t.attempt %}{% do c.append(t.attempt ~ " = :attempt") %}{% endif %}
{% if t.dialect.holds_lock %}{% do c.append(t.dialect.holds_lock) %}{% endif %}
{% endif %}
{% if t.described.form == "row_lock" %}
{% set same %}{% include "row_lock/same_transaction.sql" %}{% endset %}
{% if same %}{% do c.append(same) %}{% endif %}
{% endif %}
{% set u = unfinished() | trim %}
{% if u %}{% do c.append(u) %}{% endif %}
{{ c | join(" AND ") }}
{%- endmacro %}

{# What a settlement that returns the row writes besides the due time. #}
{% macro returned_to_queue() %}
{% set c = [] %}
{% if t.locked_until and t.described.form == "lease" %}{% do c.append(t.locked_until ~ " = NULL") %}{% endif %}
{% if t.attempt and t.described.form == "row_lock" %}{% do c.append(t.attempt ~ " = " ~ t.counted()) %}{% endif %}
{% if t.last_error %}{% do c.append(t.last_error ~ " = :error") %}{% endif %}
{{ c | join(", ") }}
{%- endmacro %}

{# PostgreSQL: the lists of ids, tokens and attempts as rows. #}
{% macro lists() %}unnest(CAST(:ids AS {{ t.type_of("id") }}[]), CAST(:tokens AS timestamptz[]), CAST(:sents AS timestamptz[]){% if t.attempt %}, CAST(:attempts AS {{ t.type_of("attempt") }}[]){% endif %}) AS h(id, token, sent{{ ", attempt" if t.attempt }}){% endmacro %}

{# What a row of lists must still find, beside its id. #}
{% macro fenced(a, h) %}
{% set c = [a ~ t.locked_until ~ " IN (" ~ h ~ "token, " ~ h ~ "sent)"] %}
{% if t.attempt %}{% do c.append(a ~ t.attempt ~ " = " ~ h ~ "attempt") %}{% endif %}
{% set u = unfinished(a) | trim %}
{% if u %}{% do c.append(u) %}{% endif %}
{{ c | join(" AND ") }}
{%- endmacro %}

{# SQLite: a JSON list of [id, token, sent, attempt] as rows. #}
{% macro json_lists() %}(
    SELECT json_extract(value, '$[0]') AS id, json_extract(value, '$[1]') AS token,
        json_extract(value, '$[2]') AS sent, json_extract(value, '$[3]') AS attempt
    FROM json_each(:held)
) AS h{% endmacro %}

{# SQLite: the ids of those rows that still hold their token. CROSS JOIN goes from the list to the rows; left alone,
   the planner may go through an index of the table, and through the list for each row of it. #}
{% macro json_held() %}
    SELECT r.{{ t.id }} FROM {{ json_lists() }} CROSS JOIN {{ t.table }} AS r
    ON r.{{ t.id }} = h.id AND {{ fenced("r.", "h.") | trim }}
{% endmacro %}

{# MySQL and MariaDB: rows by id, each with its own token. #}
{% macro tuples() %}
{% set c = [t.id ~ " IN (:ids)"] %}
{% if t.attempt %}{% do c.append("(" ~ t.id ~ ", " ~ t.locked_until ~ ", " ~ t.attempt ~ ") IN (:held)") %}
{% else %}{% do c.append("(" ~ t.id ~ ", " ~ t.locked_until ~ ") IN (:held_tokens)") %}{% endif %}
{% set u = unfinished() | trim %}
{% if u %}{% do c.append(u) %}{% endif %}
{{ c | join(" AND ") }}
{%- endmacro %}
