from __future__ import annotations

from pathlib import Path

import pytest

from sqlclaimgen.description import DescriptionInvalid, parse
from sqlclaimgen.description.model import KeyTemplate

COLUMNS = """
id = { role = "id", type = "bigint" }
tenant = { type = "text" }
"my col" = { type = "uuid" }
maybe = { type = "int", null = true }
at = { type = "timestamp" }
"""


def template(source: str) -> KeyTemplate:
    text = f"format = 1\n[table.t]\nadvisory_lock = '''{source}'''\n[table.t.columns]{COLUMNS}"
    [table] = parse(text.encode(), Path("t.toml")).tables
    assert table.advisory_lock is not None
    return table.advisory_lock


def shown(source: str) -> str:
    """The key as it would be with each column's name in angle brackets for its value."""
    return "".join(
        part.text if part.text is not None else f"<{part.column.name if part.column else '?'}>"
        for part in template(source).parts
    )


@pytest.mark.parametrize(
    ("source", "key"),
    [
        ("accounts-{tenant}", "accounts-<tenant>"),
        ("a{{{id}}}", "a{<id>}"),
        ("{{id}}", "{id}"),
        ("{my col}", "<my col>"),
        ("{tenant}{id}", "<tenant><id>"),
        ("one for all", "one for all"),
        ("{{{{", "{{"),
    ],
)
def test_gi_10_a_template_is_columns_and_text(source: str, key: str) -> None:
    assert shown(source) == key


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ("{", "KEY-BRACE"),
        ("}", "KEY-BRACE"),
        ("{id", "KEY-BRACE"),
        ("{id!r}", "KEY-COLUMN"),
        ("{id:>5}", "KEY-COLUMN"),
        ("{id.__class__}", "KEY-COLUMN"),
        ("{id[0]}", "KEY-COLUMN"),
        ("{nope}", "KEY-COLUMN"),
        ("{}", "KEY-COLUMN"),
        ("", "KEY-EMPTY"),
        (" ", "KEY-EMPTY"),
        ("{at}", "KEY-TYPE"),
    ],
)
def test_gi_10_anything_else_in_braces_is_refused(source: str, code: str) -> None:
    with pytest.raises(DescriptionInvalid) as caught:
        template(source)
    assert [found.code for found in caught.value.diagnostics] == [code]


def test_gi_13_a_column_that_may_be_null_is_refused_in_a_key() -> None:
    with pytest.raises(DescriptionInvalid) as caught:
        template("{tenant}:{maybe}")
    [found] = caught.value.diagnostics
    assert found.code == "KEY-NULL"
    assert (found.line, found.column) == (3, 29)
    assert "would never be claimed" in found.what


def test_the_columns_of_a_key_are_in_its_order() -> None:
    assert [column.name for column in template("{tenant}/{id}").columns] == ["tenant", "id"]
