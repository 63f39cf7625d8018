"""Text as Python source: what is evaluated is the text, under every version of Python."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqlclaimgen.rendering import literals


@given(st.text())
def test_what_is_evaluated_is_the_text(text: str) -> None:
    assert ast.literal_eval(literals.string(text)) == text
    assert ast.literal_eval(literals.block(text)) == text
    assert ast.literal_eval(f'"""x {literals.docstring(text)}."""') == f"x {text}."


@pytest.mark.parametrize(
    ("text", "literal"),
    [
        ("it's", '"it\'s"'),
        ('"', "'\"'"),
        ('"it\'s"', "'\"it\\'s\"'"),
        ("\"'", '"\\"\'"'),
        ("\\", '"\\\\"'),
        ("ä 🙂 \U0001fae8", '"ä 🙂 \U0001fae8"'),
        ("a\u00a0b\u202ec\ufeff\x7f\0", '"a\\xa0b\\u202ec\\ufeff\\x7f\\x00"'),
        ("\ue000\U000f0000", '"\\ue000\\U000f0000"'),
    ],
)
def test_the_quotes_and_escapes(text: str, literal: str) -> None:
    assert literals.string(text) == literal
