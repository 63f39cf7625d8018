{% import "pieces.sql" as p with context %}
{# What a lease claim does with its candidates: takes them, and returns them in claim order.
   They are named by an array, not joined: a plan that does not know the limit joins by reading the whole table. #}
, taken{{ t.x }} AS (
    UPDATE {{ t.table }} AS t
    SET {{ p.take("t.") }}
    WHERE t.{{ t.id }} = ANY(ARRAY(SELECT c.{{ t.id }} FROM candidate{{ t.x }} AS c))
    RETURNING {{ p.returned("t.", " - 1") | trim }}
)
SELECT {{ p.again() | trim }}
FROM taken{{ t.x }}
ORDER BY {{ p.order() }};
