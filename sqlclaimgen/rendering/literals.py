"""Python source that `ruff format` leaves as it is, whatever text it holds."""

from __future__ import annotations

WIDTH = 88


def string(text: str) -> str:
    """`text` as a literal on one line, in the quotes that the formatter prefers."""
    body = "".join(_escaped(char) for char in text)
    if '"' in body and "'" not in body:
        return f"'{body}'"
    return '"' + body.replace('"', '\\"') + '"'


def block(text: str) -> str:
    """`text` as a triple-quoted literal that begins on a line of its own."""
    body = "".join(char if char == "\n" else _escaped(char) for char in text)
    body = body.replace('"""', '\\"\\"\\"')
    return f'"""\\\n{body}\\\n"""'


def docstring(text: str) -> str:
    """`text` as the inside of a docstring."""
    body = "".join(_escaped(char) for char in text)
    return body.replace('"""', '\\"\\"\\"')


def _escaped(char: str) -> str:
    if char == "\\":
        return "\\\\"
    if char in "\n\r\t":
        return {"\n": "\\n", "\r": "\\r", "\t": "\\t"}[char]
    if not char.isprintable() and char != " ":
        return char.encode("unicode_escape").decode()
    return char
