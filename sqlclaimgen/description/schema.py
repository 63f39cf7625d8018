"""The JSON schema of description files, for editors: completion, hover and a first check."""

from __future__ import annotations

import json
from typing import Any, cast

from pydantic.json_schema import GenerateJsonSchema

from sqlclaimgen.description.durations import PATTERN
from sqlclaimgen.description.model import Role
from sqlclaimgen.description.roles import ROLES
from sqlclaimgen.description.rules import keys
from sqlclaimgen.description.shape import FileShape

DRAFT = "https://json-schema.org/draft/2020-12/schema"

_ORDER = ("$schema", "title", "description", "$ref", "type", "properties")
"""What a reader looks for first; the rest is in order of the alphabet."""


class _Generator(GenerateJsonSchema):
    """pydantic's generator without what TOML has no use for: null, and titles that repeat keys."""

    def nullable_schema(self, schema: Any) -> Any:
        """The schema of the value: TOML has no null, a key is left out."""
        return self.generate_inner(schema["schema"])

    def field_title_should_be_set(self, schema: Any) -> bool:
        """No: an editor shows the key already."""
        return False

    def default_schema(self, schema: Any) -> Any:
        """The schema with its default, where that is a value one could write."""
        result = super().default_schema(schema)
        if result.get("default", ...) in (None, {}):
            result.pop("default", None)
        return result


def schema() -> dict[str, Any]:
    """The schema as a document."""
    document = FileShape.model_json_schema(schema_generator=_Generator)
    shapes: dict[str, Any] = document["$defs"]
    file, table, column = document["properties"], shapes["TableShape"], shapes["ColumnShape"]
    file["format"] = {"const": 1, "description": file["format"]["description"]}
    file["table"] |= {"propertyNames": {"pattern": keys.PATTERN}, "minProperties": 1}
    table["properties"]["columns"]["minProperties"] = 1
    table["properties"]["max_attempts"]["minimum"] = 1
    table["dependentRequired"] = {
        "max_attempts": ["dead_letter"],
        "dead_letter": ["max_attempts"],
    }
    column["properties"]["role"]["x-taplo"] = {
        "docs": {"enumValues": [ROLES[role].does for role in Role]}
    }
    shapes["DeadLetterShape"]["oneOf"] = [{"required": ["table"]}, {"required": ["group"]}]
    shapes["RetryShape"]["properties"]["jitter"] |= {"minimum": 0, "maximum": 1}
    assert table["properties"]["lease"]["pattern"] == PATTERN
    document["$defs"] = {name: shapes[name] for name in sorted(shapes)}
    # Readers see `Column`, not the class ColumnShape.
    text = json.dumps(_ordered({"$schema": DRAFT, **document}))
    named: dict[str, Any] = json.loads(text.replace('Shape"', '"'))
    return named


def schema_text() -> str:
    """The schema as schemas/tables.schema.json has it."""
    return json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"


def _ordered(value: Any, *, names: bool = False) -> Any:
    """`value` with its keys in one order under every version of pydantic; names of keys stay."""
    if isinstance(value, list):
        return [_ordered(item) for item in cast("list[object]", value)]
    if not isinstance(value, dict):
        return value
    known = cast("dict[str, object]", value)
    rank = {key: n for n, key in enumerate(_ORDER)}
    order = known if names else sorted(known, key=lambda key: (rank.get(key, len(rank)), key))
    return {key: _ordered(known[key], names=key in ("properties", "$defs")) for key in order}
