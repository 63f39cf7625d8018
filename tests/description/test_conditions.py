from __future__ import annotations

import json
from pathlib import Path

import pytest

from sqlclaimgen.description import DescriptionInvalid, parse
from sqlclaimgen.dialects import DIALECTS
from sqlclaimgen.statements.names_in_sql import NamesInSQL

COLUMNS = (
    *("approved", "cancelled", "kind", "a", "b", "c", "ready", "meta", "payload", "note"),
    *("lock", "comment", "row", "transaction", "Approved_by", "date"),
)


def where(condition: str, dialects: str = "") -> str | None:
    text = (
        f"format = 1\n[table.t]\n{dialects}\nwhere = {json.dumps(condition)}\n"
        "[table.t.columns]\nid = { role = 'id', type = 'int' }\nlocked_until = {}\n"
        + "".join(f"{name} = {{ type = 'text' }}\n" for name in COLUMNS)
    )
    return parse(text.encode(), Path("t.toml")).tables[0].where


@pytest.mark.parametrize(
    "condition",
    [
        "approved",
        "NOT cancelled",
        "kind = 'a;b -- c'",
        "kind = 'it''s'",
        "kind NOT LIKE 'a!_%' ESCAPE '!'",
        "(a = 1)\n    AND b = 2",
        "lock IS NOT NULL",
        "comment IS NOT NULL",
        "row IS NOT NULL AND transaction IS NOT NULL",
        "date > '2024-01-31'",
        "approved_by IS NOT NULL OR APPROVED = 1",
        "a = X'ab'",
        "nullif(kind, '') IS NOT NULL",
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
        "a < 1) AND (b > 2",
        "a <> 'x\0'",
        "a <> 'x\u202e'",
        "a <> 'x'\u200b",
        "nope = 1",
        "t.a = 1",
        "a = 1 AND b = 'x\\'",
        "a = 'x\\\\y'",
        "a || b",
        "a = pg_sleep(10)",
        "GET_LOCK('x', 1) = 1",
        "(" * 50 + "1 = 1" + ")" * 50,
        "NOT " * 3000 + "a = 1",
        "- " * 3000 + "a = 1",
        "a = '" + "x" * 6000 + "'",
    ],
)
def test_anything_else_is_refused(condition: str) -> None:
    with pytest.raises(DescriptionInvalid) as caught:
        where(condition)
    assert [found.code for found in caught.value.diagnostics] == ["WHERE"]


def test_a_condition_of_one_database_is_for_that_database() -> None:
    assert where("payload @> '{}'::jsonb", "dialects = ['postgres']")
    assert where("meta->>'a' = 'b'", "dialects = ['postgres']")


@pytest.mark.parametrize(
    ("dialect", "condition"),
    [
        ("postgres", r"note <> E'it\'s'"),
        ("postgres", "note <> $$it's$$"),
        ("postgres", "note <> $x$it's$x$"),
        ("postgres", "note <> `a`"),
        ("mysql", 'note <> "it\'s"'),
        ("mysql", '"approved" IS NOT NULL'),
        ("mariadb", '"aproved" IS NOT NULL'),
        ("sqlite", "[it's] IS NOT NULL"),
        ("sqlite", '"aproved" IS NOT NULL'),
    ],
)
def test_a_quote_that_one_database_alone_reads_is_refused(dialect: str, condition: str) -> None:
    with pytest.raises(DescriptionInvalid) as caught:
        parse(
            f"""format = 1
[table.t]
dialects = ["{dialect}"]
where = {json.dumps(condition)}
[table.t.columns]
id = {{ role = "id", type = "int" }}
locked_until = {{}}
note = {{ type = "text" }}
approved = {{ type = "text" }}
""".encode(),
            Path("t.toml"),
        )
    assert [found.code for found in caught.value.diagnostics] == ["WHERE"]


def test_an_unknown_column_is_named_with_the_one_that_was_meant() -> None:
    with pytest.raises(DescriptionInvalid) as caught:
        where("kind = 'a' AND aproved = '1'", "dialects = ['sqlite']")
    [found] = caught.value.diagnostics
    assert (found.line, found.column) == (4, 25)
    assert found.what == "the condition of `where` names column `aproved`, and table `t` has none"
    assert found.hint == "Did you mean `approved`?"


def test_columns_are_written_quoted_and_with_the_table_they_are_of() -> None:
    text = (
        "format = 1\n[table.t]\nwhere = \"  Lock = 'lock' AND coalesce(comment, 'a') <> 'b' \"\n"
        "[table.t.columns]\nid = { role = 'id', type = 'int' }\nlocked_until = {}\n"
        "lock = { type = 'text' }\ncomment = { type = 'text' }\n"
    )
    table = parse(text.encode(), Path("t.toml")).tables[0]
    assert NamesInSQL(table, DIALECTS["mysql"]).condition("t.") == (
        "(t.`lock` = 'lock' AND coalesce(t.`comment`, 'a') <> 'b')"
    )
    assert NamesInSQL(table, DIALECTS["postgres"]).where == (
        "(\"lock\" = 'lock' AND coalesce(\"comment\", 'a') <> 'b')"
    )
