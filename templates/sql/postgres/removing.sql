DELETE FROM {{ emptied }}
WHERE {{ t.dialect.among(t.id, t.type_of("id")) }}