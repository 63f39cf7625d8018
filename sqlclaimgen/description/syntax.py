"""Mistakes of TOML itself, in our words: tomllib's messages are for its authors."""

from __future__ import annotations

import re

from sqlclaimgen.description.locations import Locations, Position

Worded = tuple[str, str, str, int, int]
"""Code, what, hint, line and column."""

_PLACE = re.compile(r"(.*) \(at (?:line (\d+), column (\d+)|end of document)\)", re.S)

_SYNTAX = (
    (
        "Invalid statement",
        "a line starts with no key and no header",
        'Write `key = value` or `[table.name]`; other characters need quotes: "my key" = 1.',
    ),
    ("Expected '='", "a key has no `=` behind it", "Write `key = value`, both on one line."),
    (
        "Invalid initial character for a key",
        "a key starts with a character that needs quotes, or is missing",
        'Write the key in quotes: "my column" = { .. }.',
    ),
    (
        "Invalid value",
        "this is no value",
        "Write text in quotes, numbers plain, and true or false in lower case.",
    ),
    (
        "Expected newline or end of document",
        "something follows a value on its line",
        'Write text and times in quotes ("60s"), each key on its own line, # before a comment.',
    ),
    ("Expected ']'", "a header is not closed", "Write `[table.name]` on a line of its own."),
    ("Expected ']]'", "a header is not closed", "Write `[table.name]` on a line of its own."),
    ("Unclosed array", "an array is not closed", "Close it with `]`."),
    (
        "Unclosed inline table",
        "an inline table is not closed on its line",
        "Close it with `}` on the same line, with no comma before it.",
    ),
    ("Unterminated string", "a text has no closing quote", "Close it."),
    ("Expected \"'", "a text has no closing quote", "Close it."),
    ("Unescaped '\\'", "a backslash stands alone", "Double it, or use single quotes."),
    ("Invalid hex value", "an escape has a digit that is none", "Write `\\u` and four hex digits."),
    ("Escaped character is not", "an escape names no character", "Write the character itself."),
    ("Illegal character", "there is a control character or a line end in a text", "Remove it."),
    ("Found invalid character", "there is a control character", "Remove it."),
    ("Invalid date or datetime", "this date does not exist", "Write it in quotes, as text."),
)
"""The start of a message of tomllib, what it means, and the way out."""

_TWICE = (
    "Cannot overwrite a value",
    "Cannot declare",
    "Duplicate inline table key",
    "Cannot redefine namespace",
    "Cannot mutate immutable namespace",
)


def worded(text: str, message: str) -> Worded:
    """What tomllib's `message` about `text` means, and where it is."""
    match = _PLACE.fullmatch(message)
    says = match[1] if match else message
    if match and match[2]:
        at = Position(int(match[2]), int(match[3]))
    else:
        at = Position(text.count("\n") + 1, len(text) - (text.rfind("\n") + 1) + 1)
    if says.startswith(_TWICE):
        return _twice(text, at)
    for start, what, hint in _SYNTAX:
        if says.startswith(start):
            return "TOML-SYNTAX", what, hint, at.line, at.column
    return (
        "TOML-SYNTAX",
        f"this is no TOML: {says[:1].lower()}{says[1:]}",
        "https://toml.io/en/v1.0.0 says how TOML is written.",
        at.line,
        at.column,
    )


def _twice(text: str, at: Position) -> Worded:
    """A key or table that is already there: tomllib points behind it, this at it."""
    end = sum(len(line) + 1 for line in text.split("\n")[: at.line - 1]) + at.column - 1
    read = Locations.of_prefix(text[: end + 1])
    if read.repeated is None:
        return (
            "TOML-DUPLICATE",
            "this key or table is already there",
            "Keep one of them, and put everything of a table under one header.",
            at.line,
            at.column,
        )
    key, first, second = read.repeated
    here, before = read.position(second), read.position(first)
    return (
        "TOML-DUPLICATE",
        f"`{'.'.join(map(str, key))}` is already there, on line {before.line}",
        "Keep one of them.",
        here.line,
        here.column,
    )
