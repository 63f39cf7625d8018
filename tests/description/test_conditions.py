from __future__ import annotations

from pathlib import Path

import pytest

from sqlclaimgen.description import DescriptionInvalid, parse


def where(condition: str, dialects: str = "") -> str | None:
    text = (
        f"format = 1\n[table.t]\n{dialects}\nwhere = '''{condition}'''\n"
        "[table.t.columns]\nid = { role = 'id', type = 'int' }\nlocked_until = {}\n"
    )
    return parse(text.encode(), Path("t.toml")).tables[0].where


@pytest.mark.parametrize(
    "condition",
    [
        "approved",
        "NOT cancelled",
        "kind = 'a;b -- c'",
        'kind = "it\'s"',
        "kind LIKE 'x%' AND (a > 1 OR b IS NULL)",
        "kind IN ('a', 'b')",
        "id BETWEEN 1 AND 5",
        "coalesce(ready, true)",
        "CASE WHEN a = 1 THEN b = 2 ELSE c = 3 END",
        "  approved  ",
        "a = -1",
    ],
)
def test_conditions_are_taken_as_they_are(condition: str) -> None:
    assert where(condition) == condition.strip()


@pytest.mark.parametrize(
    "condition",
    [
        "approved;",
        "a = ?",
        "a = :x",
        "a = %s",
        "a = @x",
        "a = $1",
        "a = 1 -- no",
        "a = 1 /* no */",
        "a = 1 # no",
        "EXISTS (SELECT 1)",
        "SELECT 1",
        "DROP TABLE t",
        "DELETE FROM t",
        "a = 1 LIMIT 3",
        "a = 1 ORDER BY a",
        "a = 1) OR (b = 2",
        "a, b",
        "a b",
        "a =",
        "1",
        "'x'",
        "a + 1",
        "sum(a) > 1",
        "row_number() OVER () = 1",
        "a = 'x",
    ],
)
def test_anything_else_is_refused(condition: str) -> None:
    with pytest.raises(DescriptionInvalid) as caught:
        where(condition)
    assert [found.code for found in caught.value.diagnostics] == ["WHERE"]


def test_a_condition_of_one_database_is_for_that_database() -> None:
    assert where("payload @> '{}'::jsonb", "dialects = ['postgres']")
    assert where("meta->>'a' = 'b'", "dialects = ['postgres']")
