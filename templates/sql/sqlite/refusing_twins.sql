
ON CONFLICT ({{ t.dedupe_key }}) DO NOTHING