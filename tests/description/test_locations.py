from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sqlclaimgen.description.locations import Locations, Path, Position

if TYPE_CHECKING:
    from collections.abc import Callable

DOCUMENT = '''\
# a comment with [brackets], "quotes" and = signs
title = "x"   # "not" [a] { table }
"quoted key" = 1
a.b."c d".e = [1, "two", [3, 4]] # ]

[table.jobs]
name = """
several
lines with "quotes" and \\"""
""" # after
inline = { x = 1, "y z" = { deep = true }, 'lit' = 'a "b" # c' }
array = [
  1, # one
  # nothing here
  { k = "v" },
]
when = 1979-05-27 07:32:00 # a space inside

[ table . "b.c" ]
x = \'\'\'
raw \\ text\'\'\'

[[points]]
x = 1
[[points]]
y = 2
[points.sub]
z = 3
'''


def at(path: Path) -> Position:
    return Locations(DOCUMENT).nearest(path)


@pytest.mark.parametrize(
    ("path", "line", "column"),
    [
        (("title",), 2, 1),
        (("quoted key",), 3, 1),
        (("a", "b"), 4, 3),
        (("a", "b", "c d"), 4, 5),
        (("a", "b", "c d", "e"), 4, 11),
        (("a", "b", "c d", "e", 0), 4, 16),
        (("a", "b", "c d", "e", 2), 4, 26),
        (("a", "b", "c d", "e", 2, 1), 4, 30),
        (("table", "jobs"), 6, 8),
        (("table", "jobs", "name"), 7, 1),
        (("table", "jobs", "inline"), 11, 1),
        (("table", "jobs", "inline", "x"), 11, 12),
        (("table", "jobs", "inline", "y z", "deep"), 11, 29),
        (("table", "jobs", "inline", "lit"), 11, 44),
        (("table", "jobs", "array", 0), 13, 3),
        (("table", "jobs", "array", 1), 15, 3),
        (("table", "jobs", "array", 1, "k"), 15, 5),
        (("table", "jobs", "when"), 17, 1),
        (("table", "b.c"), 19, 11),
        (("table", "b.c", "x"), 20, 1),
        (("points", 0, "x"), 24, 1),
        (("points", 1, "y"), 26, 1),
        (("points", 1, "sub", "z"), 28, 1),
    ],
)
def test_a_key_is_found_where_it_is_written(path: Path, line: int, column: int) -> None:
    assert at(path) == Position(line, column)


def test_a_key_that_is_not_written_is_found_at_its_closest_ancestor() -> None:
    assert at(("table", "jobs", "missing", "deeper")) == Position(6, 8)
    assert at(("nothing",)) == Position(1, 1)


@pytest.mark.parametrize(
    ("literal", "expected"),
    [
        ('"ab{c}"', [(1, 6), (1, 7), (1, 8)]),
        (r'"\u00e9\"x"', [(1, 6), (1, 12), (1, 14)]),
        ('"""\nab\nc"""', [(2, 1), (2, 2), (2, 3), (3, 1)]),
        ('"""a\\\n   b"""', [(1, 8), (2, 4)]),
        ("'a\\b'", [(1, 6), (1, 7), (1, 8)]),
        ("'''\na'''", [(2, 1)]),
    ],
)
def test_characters_of_a_text_are_found_behind_escapes(
    literal: str, expected: list[tuple[int, int]]
) -> None:
    text = f"k = {literal}"
    locations = Locations(text)
    value = tomllib.loads(text)["k"]
    found = [locations.within(("k",), n) for n in range(len(value))]
    assert [(p.line, p.column) for p in found][: len(expected)] == expected


@dataclass
class Writer:
    """Writes a document in every style TOML has, and notes where each key and value went."""

    draw: Callable[[st.SearchStrategy[Any]], Any]
    text: str = ""
    keys: dict[Path, int] = field(default_factory=dict)
    values: dict[Path, int] = field(default_factory=dict)

    def choose(self, *options: str) -> str:
        return str(self.draw(st.sampled_from(options)))

    def space(self) -> None:
        self.text += self.choose("", " ", "\t", "  ")

    def lines(self) -> None:
        self.text += self.choose("", "\n", "# [a] = 'b' \"\n", "  # {\n\n")

    def key(self, name: str, path: Path) -> None:
        self.keys.setdefault(path, len(self.text))
        quoted = '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'
        bare = name.isascii() and name.replace("-", "").replace("_", "").isalnum()
        literal = "'" not in name
        options = [quoted] + ([name] if bare else []) + ([f"'{name}'"] if literal else [])
        self.text += self.choose(*options)

    def string(self, value: str) -> str:
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        options = ['"' + escaped.replace("\n", "\\n") + '"', '"""\n' + escaped + '"""']
        if "'" not in value:
            options.append(f"'''\n{value}'''")
            if "\n" not in value:
                options.append(f"'{value}'")
        return self.choose(*options)

    def value(self, value: Any, path: Path) -> None:
        self.values[path] = len(self.text)
        match value:
            case bool():
                self.text += "true" if value else "false"
            case str():
                self.text += self.string(value)
            case list():
                self.text += "["
                for n, item in enumerate(value):
                    self.lines()
                    self.value(item, (*path, n))
                    self.space()
                    self.text += "," if n < len(value) - 1 else self.choose("", ",")
                self.lines()
                self.text += "]"
            case dict():
                self.text += "{"
                for n, (name, item) in enumerate(value.items()):
                    self.space()
                    self.pair(name, item, path)
                    self.text += "," if n < len(value) - 1 else ""
                self.text += "}"
            case _:
                self.text += self.choose(str(value), "1979-05-27 07:32:00", "1.5e3", "0x1F")

    def pair(self, name: str, value: Any, base: Path) -> None:
        path = (*base, name)
        self.key(name, path)
        self.space()
        if isinstance(value, dict) and len(value) == 1 and self.draw(st.booleans()):
            self.text += "."
            self.space()
            [(inner, item)] = value.items()
            self.pair(inner, item, path)
            return
        self.text += "="
        self.space()
        self.value(value, path)
        self.space()

    def table(self, table: dict[str, Any], base: Path) -> None:
        later = []
        for name, value in table.items():
            self.lines()
            if isinstance(value, dict) and self.draw(st.booleans()):
                later.append((name, value))
                continue
            self.pair(name, value, base)
            self.text += self.choose("\n", " # end ]\n")
        for name, value in later:
            self.text += "["
            for n, part in enumerate((*base, name)):
                self.text += "." if n else ""
                self.space()
                self.key(str(part), (*base, name)[: n + 1])
                self.space()
            self.text += "]\n"
            self.table(value, (*base, name))


NAMES = st.text(st.sampled_from("ab-_1 .é\"'#[]={}\\"), max_size=4)
TEXTS = st.text(st.sampled_from("ab \n#[]{}=,\"'\\é"), max_size=6)
VALUES = st.recursive(
    st.booleans() | st.integers(0, 9) | TEXTS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, min_size=1, max_size=3)
    ),
    max_leaves=8,
)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_every_position_is_where_its_key_or_value_starts(data: st.DataObject) -> None:
    document = data.draw(st.dictionaries(NAMES, VALUES, max_size=4))
    writer = Writer(data.draw)
    writer.table(document, ())
    tomllib.loads(writer.text)
    locations = Locations(writer.text)
    assert {path: locations.values[path] for path in writer.values} == writer.values
    for path, offset in writer.keys.items():
        assert locations.nearest(path) == locations.position(offset)
