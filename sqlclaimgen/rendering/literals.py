"""Python source that `ruff format` leaves as it is, whatever text it holds."""

from __future__ import annotations

import re

WIDTH = 88


def string(text: str) -> str:
    """`text` as a literal on one line, in the quotes that the formatter prefers."""
    body = _escaped(text)
    if body.count('"') > body.count("'"):
        return "'" + body.replace("'", "\\'") + "'"
    return '"' + body.replace('"', '\\"') + '"'


def block(text: str) -> str:
    """`text` as a triple-quoted literal that begins on a line of its own."""
    body = "\n".join(map(_escaped, text.split("\n")))
    body = body.replace('"""', '\\"\\"\\"')
    return f'"""\\\n{body}\\\n"""'


def docstring(text: str) -> str:
    """`text` as the inside of a docstring."""
    return _escaped(text).replace('"""', '\\"\\"\\"')


_OTHER = re.compile(r"[^ -\[\]-~]")
"""What is not plain ASCII without a backslash."""


def _escaped(text: str) -> str:
    return _OTHER.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    char = match[0]
    if char == "\\":
        return "\\\\"
    if char in "\n\r\t":
        return {"\n": "\\n", "\r": "\\r", "\t": "\\t"}[char]
    return char if char.isprintable() else char.encode("unicode_escape").decode()
