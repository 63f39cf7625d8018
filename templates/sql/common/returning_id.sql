
RETURNING {{ t.returned_id }}