from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any, get_args

import jsonschema
import pytest

from sqlclaimgen.description.__main__ import DERIVED, ROOT
from sqlclaimgen.description.column_shape import ColumnShape
from sqlclaimgen.description.model import Role
from sqlclaimgen.description.reference import reference_text
from sqlclaimgen.description.roles import ROLES
from sqlclaimgen.description.schema import schema

from . import test_loading

SCHEMA = schema()
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


@pytest.mark.parametrize("path", DERIVED, ids=lambda path: path.name)
def test_the_committed_file_is_current(path: Path) -> None:
    again = "run `python -m sqlclaimgen.description`"
    assert path.read_text(encoding="utf-8") == DERIVED[path](), again


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def valid(text: str) -> bool:
    return bool(VALIDATOR.is_valid(tomllib.loads(text)))


def test_the_example_is_valid() -> None:
    VALIDATOR.validate(tomllib.loads(test_loading.EXAMPLE))


def test_the_reference_shows_a_valid_example() -> None:
    VALIDATOR.validate(tomllib.loads(reference_text().split("```toml\n")[1].split("```")[0]))


COLUMNS = "\n[table.t.columns]\nid = { role = 'id', type = 'int' }\n"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "format = 1",
        "format = 2\n[table.t]" + COLUMNS,
        "format = 1\n[table.Job-a.columns]\nid = { role = 'id', type = 'int' }",
        "format = 1\n[table.t]\nlease = '500ms'" + COLUMNS,
        "format = 1\n[table.t]\nlease = 30" + COLUMNS,
        "format = 1\n[table.t]\nlese = '30s'" + COLUMNS,
        "format = 1\n[table.t]\nmax_attempts = 5" + COLUMNS,
        "format = 1\n[table.t]\nmax_attempts = 5\ndead_letter = {}" + COLUMNS,
        "format = 1\n[table.t]\ndialects = ['oracle']" + COLUMNS,
        "format = 1\n[table.t.columns]\nid = { role = 'idd', type = 'int' }",
        "format = 1\n[table.t.columns]\nid = { role = 'id', type = 'integer' }",
        "format = 1\n[table.t.columns]\nid = { role = 'id', type = 'int', sql = { oracle = 'x' } }",
    ],
)
def test_an_editor_sees_plain_mistakes(text: str) -> None:
    assert not valid(text)


def test_examples_in_the_schema_are_values_it_takes() -> None:
    def walk(node: Any) -> None:
        if isinstance(node, dict):
            for example in node.get("examples", ()):
                jsonschema.validate(example, {**node, "$defs": SCHEMA["$defs"]})
            for child in node.values():
                walk(child)

    walk(SCHEMA)


def test_every_key_says_what_it_is() -> None:
    for shape in (SCHEMA, *SCHEMA["$defs"].values()):
        assert shape["description"]
        for key, value in shape["properties"].items():
            assert value.get("description"), key
    assert not [text for text in json.dumps(SCHEMA).split('"') if "pydantic" in text]


def test_every_role_is_known_everywhere() -> None:
    assert set(ROLES) == set(Role)
    assert SCHEMA["$defs"]["Column"]["properties"]["role"]["enum"] == [str(r) for r in Role]
    assert get_args(ColumnShape.model_fields["role"].annotation)
    assert (ROOT / "docs").is_dir()
