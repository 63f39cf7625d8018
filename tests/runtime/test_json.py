"""What JSON keeps of a team's values, and what is refused because it would not come back."""

from __future__ import annotations

import enum
import uuid
from dataclasses import dataclass
from datetime import date
from typing import Any

import pydantic
import pytest

from sqlclaimgen.runtime.codecs import CODECS
from sqlclaimgen.runtime.queue import Column
from sqlclaimgen.runtime.values import check_text, decode_json, encode_json, encoded


class Colour(enum.Enum):
    RED = "red"


@pytest.mark.parametrize(
    ("key", "spelled"),
    [
        (1, "1"),
        (True, "true"),
        (None, "null"),
        (1.5, "1.5"),
        (Colour.RED, "red"),
        (date(2030, 1, 2), "2030-01-02"),
        (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
    ],
)
def test_a_key_is_spelled_as_json_spells_it(key: object, spelled: str) -> None:
    assert encode_json({key: "x"}) == f'{{"{spelled}":"x"}}'


@pytest.mark.parametrize(
    "clash", [{1: "int", "1": "str"}, {True: 1, "true": 2}, {None: 1, "null": 2}]
)
def test_keys_that_become_one_are_refused(clash: dict[Any, Any]) -> None:
    with pytest.raises(ValueError, match="two keys"):
        encode_json({"inside": [clash]})


def test_other_keys_are_refused() -> None:
    with pytest.raises(TypeError, match="no key"):
        encode_json({(1, 2): "x"})


@dataclass
class Counted:
    by_number: dict[int, str]
    by_day: dict[date, float]


def test_keys_come_back_as_what_they_were() -> None:
    value = Counted({1: "a", 2: "b"}, {date(2030, 1, 2): 0.5})
    assert decode_json(encode_json(value), Counted) == value


class Aliased(pydantic.BaseModel):
    value_: str = pydantic.Field(alias="value")


class Computed(pydantic.BaseModel, extra="forbid"):
    name: str

    @pydantic.computed_field
    def loud(self) -> str:
        return self.name.upper()


class Packed(pydantic.BaseModel):
    inner: pydantic.Json[list[int]]


@dataclass
class Outer:
    inner: Aliased
    many: list[Aliased]


_ALIASED = Aliased(value="x")


@pytest.mark.parametrize(
    "value",
    [
        _ALIASED,
        Computed(name="a"),
        Packed.model_validate({"inner": "[1,2]"}),
        Outer(_ALIASED, [_ALIASED]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_model_comes_back(value: Any) -> None:
    column = Column("payload", "json", type(value))
    text = encoded(CODECS["sqlite"], column, value)
    assert decode_json(text, type(value)) == value


class Secret(pydantic.BaseModel):
    password: pydantic.SecretStr


class ReadOtherwise(pydantic.BaseModel):
    name: str = pydantic.Field(validation_alias="other")


@dataclass
class WithSecret:
    secret: Secret


_SECRET = Secret(password=pydantic.SecretStr("pw"))


@pytest.mark.parametrize(
    "value",
    [_SECRET, WithSecret(_SECRET), ReadOtherwise.model_validate({"other": "x"})],
    ids=lambda value: type(value).__name__,
)
def test_a_model_that_would_not_come_back_is_refused(value: Any) -> None:
    column = Column("payload", "json", type(value))
    with pytest.raises((ValueError, TypeError)):
        encoded(CODECS["sqlite"], column, value)


@dataclass
class Odd:
    both: int | list[set[int]]

    def __post_init__(self) -> None:
        if not isinstance(self.both, int):
            raise ValueError("read again it is none")


def test_a_value_of_the_columns_own_type_is_read_again_too() -> None:
    odd = Odd(1)
    odd.both = []
    with pytest.raises(TypeError, match="cannot be read as a Odd again"):
        encoded(CODECS["postgres"], Column("payload", "json", Odd), odd)


@pytest.mark.parametrize("json", [False, True])
def test_half_a_surrogate_pair_is_no_text(json: bool) -> None:
    with pytest.raises(ValueError, match="surrogate"):
        check_text("x\ud800y", nul=True, json=json)


def test_a_nul_is_found_in_json_and_in_text() -> None:
    for text in ("a\0b", encode_json({"a": "x\0y"}), encode_json(["\\\0"])):
        with pytest.raises(ValueError, match="NUL"):
            check_text(text, nul=False, json=text[0] in "{[")
        check_text(text, nul=True, json=text[0] in "{[")
    check_text(encode_json("\\u0000"), nul=False, json=True)
