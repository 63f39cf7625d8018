"""Long lines are broken, and what they say stays."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqlclaimgen.dialects import DIALECTS
from sqlclaimgen.statements.layout import WIDTH, wrapped

VALUES = st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=30)
PLAIN = st.sampled_from(["t", "a.b", "NULL", "1", "IN (1, 2)", "x = :y", "(a OR b)"])


@st.composite
def lines(draw: st.DrawFn, dialect: str) -> tuple[str, list[str]]:
    """A line of SQL, and the pieces between the places where it may be broken."""
    made = DIALECTS[dialect]
    quoted = VALUES.map(made.text) | VALUES.filter(bool).map(made.quote)
    pieces = draw(st.lists(PLAIN | quoted, min_size=1, max_size=20))
    joined = draw(
        st.lists(st.sampled_from([", ", " AND "]), min_size=len(pieces), max_size=len(pieces))
    )
    indent = " " * draw(st.integers(0, 12))
    line = indent + "".join(p + j for p, j in zip(pieces, joined, strict=True)).removesuffix(
        joined[-1]
    )
    return line, pieces


@pytest.mark.parametrize("dialect", DIALECTS)
def test_nothing_is_broken_inside_quotes_and_nothing_is_lost(dialect: str) -> None:
    backslashes = DIALECTS[dialect].backslashes

    @given(lines(dialect))
    def check(made: tuple[str, list[str]]) -> None:
        line, pieces = made
        broken = wrapped(line, backslashes=backslashes)
        parts = broken.split("\n")
        # re-joined it is the same text
        again = re.sub(r"\n\s*", " ", broken)
        assert again == line
        # and every piece stands on one line
        for piece in pieces:
            if ", " not in piece or piece[0] in "'\"`":
                assert any(piece in part for part in parts), (piece, parts)

    check()


def test_a_short_line_stays() -> None:
    line = "a AND " * 10
    assert wrapped(line) == line
    assert wrapped("x" * (WIDTH + 50)) == "x" * (WIDTH + 50)


def test_lines_are_broken_before_and_and_after_a_comma() -> None:
    line = "    WHERE " + " AND ".join(f"column_{n} = :value_{n}" for n in range(8))
    first, *rest = wrapped(line).split("\n")
    assert len(first) <= WIDTH
    assert all(part.startswith("        AND ") for part in rest)
    line = "SELECT " + ", ".join(f"column_{n}" for n in range(30))
    first, *rest = wrapped(line).split("\n")
    assert all(part.endswith(",") for part in (first, *rest[:-1]))
    assert all(len(part) <= WIDTH for part in (first, *rest))


def test_a_backslash_before_a_quote_is_the_dialect_s_own() -> None:
    literal = "'ends in a backslash \\'"
    other = "'holds a comma, " + "and more text " * 6 + "'"
    line = f"SET a = {literal}, b = {other}, c = {literal}"
    assert other in wrapped(line)
    assert other in wrapped(line.replace("\\", "\\\\"), backslashes=True)
