from __future__ import annotations

from pathlib import Path

import pytest

from sqlclaimgen.description import Description, DescriptionInvalid, parse


def described(text: str) -> Description:
    return parse(("format = 1\n" + text).encode(), Path("t.toml"))


def codes(text: str) -> list[str]:
    with pytest.raises(DescriptionInvalid) as caught:
        described(text)
    return [found.code for found in caught.value.diagnostics]


COLUMNS = ".columns]\nid = { role = 'id', type = 'int' }\n"


@pytest.mark.parametrize(
    ("dialect", "longest"), [("postgres", "я" * 31), ("mysql", "я" * 64), ("mariadb", "я" * 64)]
)
def test_gi_05_names_are_measured_as_each_database_does(dialect: str, longest: str) -> None:
    table = "[table.t]\ndialects = ['%s']\nname = '%s'\n[table.t" + COLUMNS
    assert described(table % (dialect, longest)).tables[0].name == longest
    assert codes(table % (dialect, longest + "я")) == ["NAME-TOO-LONG"]


def test_gi_06_equal_names_in_two_schemas_are_two_tables() -> None:
    description = described(
        "[table.app_job]\nname = 'job'\nschema = 'app'\n[table.app_job"
        + COLUMNS
        + "[table.x_job]\nname = 'job'\nschema = 'x'\n[table.x_job"
        + COLUMNS
        + "[table.dotted]\nname = 'a.b'\n[table.dotted"
        + COLUMNS
    )
    assert [(table.schema, table.name) for table in description.tables] == [
        ("app", "job"),
        ("x", "job"),
        (None, "a.b"),
    ]


def test_gi_06_one_table_of_two_databases_may_be_described_for_each() -> None:
    text = "".join(
        f"[table.{key}]\nname = 'job'\ndialects = ['{dialect}']\n[table.{key}{COLUMNS}"
        for key, dialect in (("a", "postgres"), ("b", "mysql"))
    )
    assert len(described(text).tables) == 2
    assert codes(text.replace("mysql", "postgres")) == ["TABLE-TWICE"]


def test_gi_07_case_and_quotes_in_names_are_kept() -> None:
    [table] = described(
        "[table.t]\nname = 'My\"Job'\n[table.t"
        + COLUMNS
        + "'Sel`ect' = { type = 'text' }\nORDER = { type = 'text' }\n"
    ).tables
    assert table.name == 'My"Job'
    assert [(c.name, c.field) for c in table.columns[1:]] == [
        ("Sel`ect", "Sel_ect"),
        ("ORDER", "ORDER"),
    ]
