
RETURNING {{ t.id }}{% if t.channel %}, pg_notify({{ t.channel }}, ''){% endif %}