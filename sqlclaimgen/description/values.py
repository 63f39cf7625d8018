"""Values of a description that are more than a TOML type, refused in our own words."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from pydantic_core import PydanticCustomError, core_schema
from typing_extensions import override

from sqlclaimgen.description import column_types, durations

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
    from pydantic.json_schema import JsonSchemaValue

REFUSED = "refused"
"""The type of the pydantic errors raised here; code, what and hint are in their context."""


def refusal(code: str, what: str, hint: str) -> PydanticCustomError:
    """An error that says what to report. `what` goes on after the key's name."""
    return PydanticCustomError(REFUSED, "{what}", {"code": code, "what": what, "hint": hint})


def kind(value: object) -> str:
    """What a TOML value is, in words: `the number 1`, `the text "30"`."""
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float():
            return f"the number {value}"
        case str():
            shown = value if len(value) <= 40 else value[:37] + "..."
            return f'the text "{shown}"'
        case list():
            return "an array"
        case dict():
            return "a table"
        case _:
            return "a date or time"


def choices(values: tuple[str, ...]) -> str:
    """`"a", "b" or "c"`."""
    quoted = [f'"{value}"' for value in values]
    return " or ".join([", ".join(quoted[:-1]), quoted[-1]] if len(quoted) > 1 else quoted)


class Value:
    """A check that replaces pydantic's own, and what the JSON schema says of the value."""

    def check(self, value: Any) -> Any:
        """The value to keep. Raises `refusal`."""
        raise NotImplementedError

    def schema(self) -> JsonSchemaValue:
        """The JSON schema of what may be written."""
        raise NotImplementedError

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        return core_schema.no_info_plain_validator_function(self.check)

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return self.schema()


@dataclass(frozen=True)
class OneOf(Value):
    """One of a few words."""

    values: tuple[str, ...]

    @override
    def check(self, value: Any) -> str:
        words = tuple(map(str, self.values))
        if value in words and isinstance(value, str):
            return value
        close = get_close_matches(value.lower(), words, 1) if isinstance(value, str) else []
        hint = f'Did you mean "{close[0]}"?' if close else f"Write {choices(words)}."
        raise refusal("WRONG-VALUE", f"must be {choices(words)}, not {kind(value)}", hint)

    @override
    def schema(self) -> JsonSchemaValue:
        return {"type": "string", "enum": list(map(str, self.values))}


@dataclass(frozen=True)
class Scalar(Value):
    """One of a few TOML types."""

    says: str
    types: tuple[type, ...]

    @override
    def check(self, value: Any) -> Any:
        if type(value) in self.types:
            return value
        raise refusal(
            "WRONG-TYPE", f"must be {self.says}, not {kind(value)}", f"Write {self.says}."
        )

    @override
    def schema(self) -> JsonSchemaValue:
        names = {str: "string", int: "integer", float: "number", bool: "boolean"}
        return {"type": [names[each] for each in self.types]}


@dataclass(frozen=True)
class NameOrFalse(Value):
    """A column's name, or false for none."""

    @override
    def check(self, value: Any) -> str | bool:
        if isinstance(value, str) or value is False:
            return value
        raise refusal(
            "WRONG-TYPE",
            f"must be a column's name or false, not {kind(value)}",
            "Write the column's name, or false where the table has no such column.",
        )

    @override
    def schema(self) -> JsonSchemaValue:
        return {"anyOf": [{"type": "string"}, {"const": False}]}


@dataclass(frozen=True)
class TrueOrWord(Value):
    """true, false or one word."""

    word: str

    @override
    def check(self, value: Any) -> bool | str:
        if isinstance(value, bool) or value == self.word:
            return bool(value) if isinstance(value, bool) else self.word
        says = f'true, false or "{self.word}"'
        raise refusal("WRONG-VALUE", f"must be {says}, not {kind(value)}", f"Write {says}.")

    @override
    def schema(self) -> JsonSchemaValue:
        return {"enum": [True, False, self.word]}


@dataclass(frozen=True)
class Duration(Value):
    """A time in whole seconds, written with its unit."""

    @override
    def check(self, value: Any) -> int:
        result = durations.seconds(value)
        if isinstance(result, int):
            return result
        raise refusal("DURATION", *result)

    @override
    def schema(self) -> JsonSchemaValue:
        return {"type": "string", "pattern": durations.PATTERN}


@dataclass(frozen=True)
class ColumnType(Value):
    """A column's type."""

    @override
    def check(self, value: Any) -> Any:
        if not isinstance(value, str):
            raise refusal(
                "WRONG-TYPE", f"must be a type in quotes, not {kind(value)}", 'Write type = "text".'
            )
        result = column_types.parse(value)
        if isinstance(result, tuple):
            raise refusal("TYPE-UNKNOWN", *result)
        return result

    @override
    def schema(self) -> JsonSchemaValue:
        return {"type": "string", "pattern": column_types.PATTERN}
