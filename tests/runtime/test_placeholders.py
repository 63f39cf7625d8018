"""`:name` to what drivers take, whatever is quoted around it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pymysql.converters import escape_string

from sqlclaimgen.dialects import DIALECTS
from sqlclaimgen.runtime.placeholders import expanded, names, pyformat
from sqlclaimgen.runtime.steps import Many

TEXTS = st.text(st.characters(codec="utf-8"), max_size=20) | st.sampled_from(
    [
        ":x",
        "%",
        "%s",
        "%(x)s",
        "'",
        '"',
        "`",
        "\\",
        "\\'",
        "--",
        "-- :x",
        "''",
        '""',
        "``",
        "::",
        ";",
    ]
)
NAMES = st.from_regex(r"\A[a-z_][a-z0-9_]{0,8}\Z")


@st.composite
def statements(draw: st.DrawFn, dialect: str) -> tuple[list[tuple[str, str]], str]:
    """Pieces of a statement, each a kind and its text, and the whole."""
    made = DIALECTS[dialect]
    pieces: list[tuple[str, str]] = []
    for _ in range(draw(st.integers(0, 8))):
        kind = draw(st.sampled_from(["literal", "name", "parameter", "code"]))
        match kind:
            case "literal":
                pieces.append((kind, made.text(draw(TEXTS))))
            case "name":
                pieces.append((kind, made.quote(draw(TEXTS.filter(bool)))))
            case "parameter":
                pieces.append((kind, draw(NAMES)))
            case _:
                pieces.append(
                    (kind, draw(st.sampled_from(["a", "a % b", "(", ")", "x <> y", "1", ","])))
                )
    whole = " ".join(f":{text}" if kind == "parameter" else text for kind, text in pieces)
    return pieces, whole


@pytest.mark.parametrize("dialect", DIALECTS)
def test_only_placeholders_outside_quotes_are_found(dialect: str) -> None:
    backslashes = DIALECTS[dialect].backslashes

    @given(statements(dialect))
    def check(made: tuple[list[tuple[str, str]], str]) -> None:
        pieces, whole = made
        wanted = dict.fromkeys(text for kind, text in pieces if kind == "parameter")
        assert names(whole, backslashes=backslashes) == tuple(wanted)

    check()


@given(statements("postgres"))
def test_psycopg_gets_the_text_back_after_its_own_formatting(
    made: tuple[list[tuple[str, str]], str],
) -> None:
    pieces, whole = made
    values = {text: f"<{text}>" for kind, text in pieces if kind == "parameter"}
    wanted = " ".join(values[text] if kind == "parameter" else text for kind, text in pieces)
    assert pyformat(whole) % values == wanted


@given(statements("mysql"))
def test_pymysql_gets_the_text_back_after_its_own_formatting(
    made: tuple[list[tuple[str, str]], str],
) -> None:
    pieces, whole = made
    values = {text: f"<{text}>" for kind, text in pieces if kind == "parameter"}
    wanted = " ".join(values[text] if kind == "parameter" else text for kind, text in pieces)
    text, passed = expanded(whole, values)
    assert text % passed == wanted


@given(
    st.lists(st.integers() | st.text(max_size=3), min_size=1, max_size=5),
    st.lists(st.tuples(st.integers(), st.text(max_size=3), st.integers()), min_size=1, max_size=5),
)
def test_lists_become_one_placeholder_for_each_item(ids: list[Any], held: list[Any]) -> None:
    text, values = expanded(
        "a IN (:ids) AND (b, c, d) IN (:held) AND e = :ids_",
        {"ids": Many(ids), "held": Many(held), "ids_": 0},
    )
    written = text % {name: escape_string(repr(value)) for name, value in values.items()}
    literals = ", ".join(escape_string(repr(item)) for item in ids)
    rows = ", ".join("(" + ", ".join(escape_string(repr(v)) for v in row) + ")" for row in held)
    assert written == f"a IN ({literals}) AND (b, c, d) IN ({rows}) AND e = 0"


def test_casts_and_comments_are_passed_over() -> None:
    sql = "SELECT a::text, :b -- :c and '\n, ':d', \"e:f\", :g % 2"
    assert names(sql) == ("b", "g")
    assert pyformat(sql) == "SELECT a::text, %(b)s -- :c and '\n, ':d', \"e:f\", %(g)s %% 2"
    sql = "SELECT ':a\\'', `:b`, \":c\\\"\", :d -- :e"
    assert names(sql, backslashes=True) == ("d",)


def test_a_name_is_found_once_and_in_order() -> None:
    assert names(":b :a :b :a1 :a") == ("b", "a", "a1")


def test_times_of_day_are_no_names() -> None:
    assert names("'12:30' 12:30 :30") == ()
