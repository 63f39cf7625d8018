DELETE FROM {{ emptied }}
WHERE {{ t.id }} IN ({{ ids }})