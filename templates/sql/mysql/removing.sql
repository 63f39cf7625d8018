{# MariaDB reads a small table through for a DELETE by a list of ids, and so waits for rows of others. #}
DELETE t FROM (
    SELECT {{ t.id }} FROM {{ emptied }}
    WHERE {{ t.id }} IN ({{ ids }})
    FOR UPDATE SKIP LOCKED
) AS c
STRAIGHT_JOIN {{ emptied }} AS t FORCE INDEX (PRIMARY) ON t.{{ t.id }} = c.{{ t.id }}