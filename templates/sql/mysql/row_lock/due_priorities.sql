{# Dead letters of a group are passed over by the claim, not here: a filter would end the steps. #}
{% set of_step = "any" if scope == "table" else scope %}
-- name: {{ name | replace("claim", "due_priorities", 1) }}
-- Lists the priorities{{ of_scope }} that have due rows, most urgent first, so that rows delayed at a better
-- one are not walked. The GROUP BY names the index's leading columns: only so is it read by steps.
-- Transaction: the claim's; the first statement.
-- Locks: none.
-- Index: {{ claim_index }}
-- Runs: once per poll.
SELECT {{ t.priority }} FROM {{ t.table }}{{ t.dialect.forced(claim_index) }}
{% if p.scoped(of_step) | trim %}
WHERE {{ p.scoped(of_step) | trim }}
{% endif %}
GROUP BY {{ lead | join(", ") }}{{ ", " if lead }}{{ t.priority }}
HAVING MIN({{ t.retry_after }}) <= :now
ORDER BY {{ t.priority }};
