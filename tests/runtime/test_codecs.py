"""Values between Python and the wire."""

from __future__ import annotations

import json
import uuid
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqlclaimgen.runtime.clock import MICROSECOND, ceiling, floor
from sqlclaimgen.runtime.codecs import (
    CODECS,
    Held,
    from_microseconds,
    precision_of,
    to_microseconds,
)

TIMES = st.datetimes(
    min_value=datetime(1, 1, 3),
    max_value=datetime(9999, 12, 29),
    timezones=st.sampled_from(
        [UTC, timezone(timedelta(hours=5, minutes=30)), timezone(timedelta(hours=-11))]
    ),
)
PRECISIONS = st.integers(0, 6)


@given(TIMES)
def test_microseconds_are_exact(value: datetime) -> None:
    assert from_microseconds(to_microseconds(value)) == value


@pytest.mark.parametrize("codec", CODECS.values(), ids=CODECS)
def test_times_come_back_whatever_their_zone(codec: Any) -> None:
    @given(TIMES, PRECISIONS)
    def check(value: datetime, precision: int) -> None:
        kind = f"timestamp({precision})"
        back = codec.decode(kind, codec.encode(kind, value))
        assert back == floor(value.astimezone(UTC), precision)
        assert back.utcoffset() == timedelta(0)
        assert codec.from_time(codec.time(value)) == value

    check()


@pytest.mark.parametrize("codec", CODECS.values(), ids=CODECS)
def test_a_time_without_a_zone_is_refused(codec: Any) -> None:
    naive = datetime(2026, 1, 1)
    for call in (lambda: codec.encode("timestamp(6)", naive), lambda: codec.time(naive)):
        with pytest.raises(ValueError, match="time zone"):
            call()


@pytest.mark.parametrize("codec", CODECS.values(), ids=CODECS)
@pytest.mark.parametrize(
    "kind", ["timestamp(6)", "uuid", "boolean", "date", "numeric(4,2)", "json", "int"]
)
def test_null_is_none_both_ways(codec: Any, kind: str) -> None:
    assert codec.encode(kind, None) is None
    assert codec.decode(kind, None) is None


@pytest.mark.parametrize("codec", CODECS.values(), ids=CODECS)
@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("uuid", uuid.UUID(int=2**127 + 5)),
        ("boolean", True),
        ("boolean", False),
        ("date", date(2026, 2, 28)),
        ("numeric(20,4)", Decimal("-1234567890123456.7890")),
        ("double", 3.0),
        ("bigint", 2**63 - 1),
        ("text", "é\x01🙂"),
        ("bytes", b"\x00\xff"),
    ],
)
def test_values_come_back(codec: Any, kind: str, value: Any) -> None:
    back = codec.decode(kind, codec.encode(kind, value))
    assert back == value and type(back) is type(value)


@pytest.mark.parametrize(
    ("codec", "value"), [("postgres", "x"), ("mysql", 5), ("sqlite", "2026-12-01")]
)
def test_what_is_no_time_is_said(codec: str, value: Any) -> None:
    with pytest.raises(ValueError, match="is no"):
        CODECS[codec].decode("timestamp(6)", value)


NOW = datetime(2026, 12, 1, 12, 0, 0, 7, UTC)
LATER = NOW + timedelta(seconds=30)


def test_held_rows_as_arrays() -> None:
    found = CODECS["postgres"].held("bigint", [Held(1, NOW, NOW, 2), Held(2, NOW, LATER, 3)])
    assert found == {"ids": [1, 2], "tokens": [NOW, NOW], "sents": [NOW, LATER], "attempts": [2, 3]}


def test_held_rows_as_row_values_with_either_token() -> None:
    found = CODECS["mysql"].held("bigint", [Held(1, NOW, NOW, 2), Held(2, NOW, LATER, 3)])
    plain, later = NOW.replace(tzinfo=None), LATER.replace(tzinfo=None)
    assert found["ids"].items == [1, 2]
    assert found["held"].items == [(1, plain, 2), (2, plain, 3), (2, later, 3)]
    assert found["held_tokens"].items == [(1, plain), (2, plain), (2, later)]


def test_held_rows_as_json() -> None:
    odd = "'\"\\\u2028🙂"
    found = CODECS["sqlite"].held("text", [Held(odd, NOW, LATER, 2)])
    assert json.loads(found["held"]) == [[odd, to_microseconds(NOW), to_microseconds(LATER), 2]]
    assert json.loads(CODECS["sqlite"].ids("uuid", [uuid.UUID(int=1)])["ids"]) == [
        str(uuid.UUID(int=1))
    ]


@given(TIMES, PRECISIONS)
def test_due_times_are_cut_and_expiries_are_raised(value: datetime, precision: int) -> None:
    unit = 10 ** (6 - precision) * MICROSECOND
    low, high = floor(value, precision), ceiling(value, precision)
    assert low <= value <= high
    assert high - low in (timedelta(0), unit)
    assert floor(low, precision) == low == ceiling(low, precision)


@pytest.mark.parametrize(
    ("kind", "digits"), [("timestamp(0)", 0), ("timestamp(3)", 3), ("bigint", 6)]
)
def test_the_precision_of_a_kind(kind: str, digits: int) -> None:
    assert precision_of(kind) == digits
