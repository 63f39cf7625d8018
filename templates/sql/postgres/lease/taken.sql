{% import "pieces.sql" as p with context %}
{# What a lease claim does with its candidates: takes them, and returns them in claim order. #}
, taken{{ t.x }} AS (
    UPDATE {{ t.table }} AS t
    SET {{ p.take("t.") }}
    FROM candidate{{ t.x }} AS c
    WHERE t.{{ t.id }} = c.{{ t.id }}
    RETURNING {{ p.returned("t.", " - 1") | trim }}
)
SELECT {{ p.again() | trim }}
FROM taken{{ t.x }}
ORDER BY {{ p.order() }};
