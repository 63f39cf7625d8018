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


# What cannot be seen, or reorders what can: controls, spaces but for the plain one, marks of
# direction, private use, surrogates. Ranges, not str.isprintable, which differs between versions of
# Python as new characters come.
_UNSEEN = (
    r"\\\x00-\x1f\x7f-\xa0\xad\u0600-\u0605\u061c\u06dd\u070f\u1680\u180e\u2000-\u200f"
    r"\u2028-\u202f\u205f-\u206f\u3000\ud800-\uf8ff\ufeff\ufff0-\uffff"
    r"\U000e0000-\U0010ffff"
)
_ESCAPED = re.compile(f"[{_UNSEEN}]")


def _escaped(text: str) -> str:
    return _ESCAPED.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    char = match[0]
    if char == "\\":
        return "\\\\"
    if char in "\n\r\t":
        return {"\n": "\\n", "\r": "\\r", "\t": "\\t"}[char]
    return char.encode("unicode_escape").decode()
