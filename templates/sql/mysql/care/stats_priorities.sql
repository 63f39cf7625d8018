{% import "pieces.sql" as p with context %}
{% if t.stepped and not (t.described.fifo and scope != "ungrouped") %}
{% set c = [] %}
{% if scope == "group" %}{% do c.append(t.group ~ " = :group") %}{% endif %}
{% if scope == "ungrouped" %}{% do c.append(t.group ~ " IS NULL") %}{% endif %}
{% set u = p.unfinished() | trim %}
{% if u %}{% do c.append(u) %}{% endif %}
{% if t.locked_until %}{% do c.append(t.locked_until ~ " IS NULL") %}{% endif %}
{% set lead = lead + ([t.locked_until] if t.locked_until else []) %}
-- name: stats_priorities{{ name | replace("claim", "", 1) }}
-- Lists the priorities{{ of_scope }} that unfinished rows have{{ " which no lease holds" if t.locked_until }}. The GROUP BY names the index's leading
-- columns: only so is it read by steps.
-- Transaction: any, or none.
-- Locks: none.
-- Index: {{ claim_index }}
-- Runs: once per look at the table.
SELECT {{ t.priority }} FROM {{ t.table }}{{ t.dialect.forced(claim_index) }}
{% if c %}
WHERE {{ c | join(" AND ") }}
{% endif %}
GROUP BY {{ lead | join(", ") }}{{ ", " if lead }}{{ t.priority }};
{% endif %}
