"""A team's own types, made from plain values and back."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import json
import uuid
from typing import Any, Literal, TypedDict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqlclaimgen.runtime.codecs import CODECS
from sqlclaimgen.runtime.queue import Column
from sqlclaimgen.runtime.values import decode_as, decode_json, decoded, encode_json, encoded

PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)


class Colour(enum.Enum):
    RED = "red"
    ONE = 1


class Extra(TypedDict):
    note: str


@dataclasses.dataclass
class Inner:
    when: datetime.datetime
    price: decimal.Decimal


@dataclasses.dataclass
class Outer:
    id: uuid.UUID
    inner: Inner
    many: list[Inner]
    pair: tuple[int, str]
    rest: tuple[int, ...]
    by_day: dict[datetime.date, Inner]
    colour: Colour
    kind: Literal["a", "b"]
    extra: Extra
    anything: Any
    tags: frozenset[str]
    note: str | None = None
    either: int | Inner = 0


INNER = Inner(datetime.datetime(2026, 12, 1, 1, 2, 3, 4, datetime.UTC), decimal.Decimal("1.50"))
OUTER = Outer(
    id=uuid.UUID(int=3),
    inner=INNER,
    many=[INNER, INNER],
    pair=(1, "x"),
    rest=(1, 2, 3),
    by_day={datetime.date(2026, 12, 1): INNER},
    colour=Colour.ONE,
    kind="b",
    extra={"note": "é"},
    anything={"deep": [1, None]},
    tags=frozenset({"t"}),
    either=INNER,
)


@given(PLAIN)
def test_plain_data_is_json(value: Any) -> None:
    assert json.loads(encode_json(value)) == value


def test_nested_types_come_back() -> None:
    assert decode_json(encode_json(OUTER), Outer) == OUTER


@pytest.mark.parametrize("value", [float("nan"), float("inf"), object(), {1, object()}, b"x"])
def test_what_json_cannot_hold_is_refused(value: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        encode_json(value)


@pytest.mark.parametrize(
    ("text", "into"),
    [
        ('{"when": "2026"}', Inner),
        ("[1]", Inner),
        ("1", Outer),
        ('"x"', int),
        ("true", int),
        ('"2026-13-01"', datetime.date),
        ('"grey"', Colour),
        ("{", Inner),
        ('{"when": "2026-12-01", "price": "1", "more": 1}', Inner),
    ],
)
def test_what_does_not_fit_is_refused(text: str, into: type[Any]) -> None:
    with pytest.raises((TypeError, ValueError, KeyError, ArithmeticError)):
        decode_json(text, into)


def test_pydantic_models_are_made_by_their_own_rules() -> None:
    pydantic = pytest.importorskip("pydantic")

    class Model(pydantic.BaseModel):  # type: ignore[name-defined]
        when: datetime.datetime
        price: decimal.Decimal

    value = Model(when=INNER.when, price=INNER.price)
    assert decode_json(encode_json(value), Model) == value
    assert json.loads(encode_json({"nested": [value]}))["nested"][0]["price"] == "1.50"
    with pytest.raises(ValueError, match="price"):
        decode_json('{"when": "2026-12-01T00:00:00Z"}', Model)


@pytest.mark.parametrize("codec", CODECS.values(), ids=CODECS)
def test_scalars_of_a_team_s_own(codec: Any) -> None:
    column = Column("colour", "text", Colour)
    assert encoded(codec, column, Colour.RED) == "red"
    assert decoded(codec, column, "red") is Colour.RED
    assert decoded(codec, column, None) is None
    with pytest.raises(ValueError, match="grey"):
        decoded(codec, column, "grey")
    assert decode_as("x", str) == "x"


@pytest.mark.parametrize("codec", CODECS.values(), ids=CODECS)
def test_json_columns_of_a_team_s_own(codec: Any) -> None:
    column = Column("payload", "json", Outer)
    assert decoded(codec, column, encoded(codec, column, OUTER)) == OUTER
    assert decoded(codec, Column("payload", "json"), '{"a":[1,null]}') == {"a": [1, None]}
