from __future__ import annotations

import builtins
import dataclasses
import keyword
import re
import typing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqlclaimgen.description import DescriptionInvalid, parse
from sqlclaimgen.description.rules.fields import KEYWORDS, RESERVED, SOFT_KEYWORDS, field_name


@pytest.mark.parametrize(
    ("column", "field"),
    [
        ("class", "class_"),
        ("None", "None_"),
        ("match", "match_"),
        ("type", "type_"),
        ("async", "async_"),
        ("int", "int_"),
        ("str", "str_"),
        ("l", "l_"),
        ("self", "self"),
        ("print", "print"),
        ("now", "now"),
        ("due", "due"),
        ("__init__", "init__"),
        ("_hidden", "hidden"),
    ],
)
def test_gi_01_names_that_python_needs_get_an_underscore(column: str, field: str) -> None:
    assert field_name(column) == field


@pytest.mark.parametrize(
    ("column", "field"),
    [
        ("3p%", "column_3p_"),
        ("new notes", "new_notes"),
        ("reply-to", "reply_to"),
        ("naïve", "naïve"),
        ("日本", "日本"),
        ("ﬁeld", "field"),
        ("a.b", "a_b"),
        ("%%", None),
        ("___", None),
        ("", None),
        (" ", None),
    ],
)
def test_gi_02_other_characters_become_underscores(column: str, field: str | None) -> None:
    assert field_name(column) == field


@given(st.text())
def test_gi_02_what_is_mapped_can_be_a_field(column: str) -> None:
    field = field_name(column)
    if field is None:
        return
    assert field.isidentifier()
    assert not field.startswith("_")
    assert not keyword.iskeyword(field)
    namespace: dict[str, typing.Any] = {"dataclasses": dataclasses}
    source = (
        "@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)\n"
        f"class Row:\n    {field}: int\n    after_: str = ''\n"
    )
    exec(compile(source, "row", "exec"), namespace)
    row = namespace["Row"](**{field: 5})
    assert getattr(row, field) == 5


def test_gi_01_every_builtin_type_and_keyword_is_reserved() -> None:
    assert set(keyword.kwlist) <= KEYWORDS
    assert set(keyword.softkwlist) - {"_"} <= SOFT_KEYWORDS | {"type"}
    generic = {"bool", "bytes", "dict", "float", "int", "list", "object", "set", "str", "tuple"}
    assert generic <= RESERVED
    assert all(hasattr(builtins, name) for name in generic)


def fields(columns: str) -> list[str]:
    text = f"format = 1\n[table.t.columns]\nid = {{ role = 'id', type = 'int' }}\n{columns}"
    [table] = parse(text.encode(), Path("t.toml")).tables
    return [column.field for column in table.columns]


def test_gi_04_two_columns_that_become_one_field_are_refused_with_both_named() -> None:
    columns = "'a b' = { type = 'text' }\na_b = { type = 'text' }\n"
    with pytest.raises(DescriptionInvalid) as caught:
        fields(columns)
    [found] = caught.value.diagnostics
    assert found.code == "FIELD-TWICE"
    assert found.what == "columns `a b` and `a_b` are both called `a_b` in Python"
    assert (found.line, found.column) == (5, 1)
    assert fields(columns.replace("a_b = {", "a_b = { field = 'ab',")) == ["id", "a_b", "ab"]


def test_gi_04_table_keys_that_are_one_file_are_refused_with_both_named() -> None:
    columns = "{ columns = { id = { role = 'id', type = 'int' } } }"
    text = f"format = 1\n[table]\njob-a = {columns}\njob_a = {columns}\nJob_A = {columns}\n"
    with pytest.raises(DescriptionInvalid) as caught:
        parse(text.encode(), Path("t.toml"))
    said = [each.what for each in caught.value.diagnostics if each.code == "TABLE-KEY-TWICE"]
    assert said == [
        "the table keys `job-a` and `job_a` name one module and one file",
        "the table keys `job-a` and `Job_A` name one module and one file",
    ]
    keys = [each.hint for each in caught.value.diagnostics if each.code == "TABLE-KEY"]
    assert all(re.match(r"Write \[table\.job_a\] and name = ", hint) for hint in keys)


def test_the_way_out_is_a_field_of_ones_own() -> None:
    assert fields("'%%' = { type = 'text', field = 'share' }") == ["id", "share"]
