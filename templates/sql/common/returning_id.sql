
RETURNING {{ t.id }}