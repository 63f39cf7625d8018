"""Where each key and value of a valid TOML document is written.

tomllib decides validity and values; this module only answers "where is it?".
"""

from __future__ import annotations

import bisect
import contextlib
import re
import tomllib
from dataclasses import dataclass

Path = tuple[str | int, ...]
"""Keys and array indexes from the document down to a value."""

_SKIP = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_STRING = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'', re.S
)
_ATOM = re.compile(r"[^\s,\]}#]+(?:[ ](?=\d\d:)[^\s,\]}#]+)?")
_ESCAPE = re.compile(r"\\(?:u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|x[0-9A-Fa-f]{2}|[ \t]*\n[ \t\n]*|.)")


@dataclass(frozen=True, slots=True)
class Position:
    """A place in a file. Both count from 1, columns in characters."""

    line: int
    column: int


class Locations:
    """Offsets of keys and values, by path. A table's key is the one of its header."""

    def __init__(self, text: str) -> None:
        """Scan `text`, which must be valid TOML with `\\n` line ends and no byte order mark."""
        self.text = text
        self.keys: dict[Path, int] = {}
        self.values: dict[Path, int] = {}
        self.repeated: tuple[Path, int, int] | None = None
        """A key of the last statement that was there before: its path and both its offsets."""
        self._starts = [0] + [match.end() for match in re.finditer("\n", text)]
        self._lengths: dict[Path, int] = {}
        self._scan()

    @classmethod
    def of_prefix(cls, text: str) -> Locations:
        """As much as can be located in `text`, which is cut off or wrong somewhere."""
        self = cls("")
        self.text = text
        self._starts = [0] + [match.end() for match in re.finditer("\n", text)]
        with contextlib.suppress(AssertionError, IndexError, ValueError):
            self._scan()
        return self

    def position(self, offset: int) -> Position:
        """The line and column of an offset into the text."""
        line = bisect.bisect_right(self._starts, offset)
        return Position(line, offset - self._starts[line - 1] + 1)

    def nearest(self, path: Path) -> Position:
        """Position of the key at `path`, or of its closest ancestor that was written. An item of an
        array is found by its value."""
        for end in range(len(path), 0, -1):
            for table in (self.keys, self.values):
                if path[:end] in table:
                    return self.position(table[path[:end]])
        return Position(1, 1)

    def within(self, path: Path, index: int) -> Position:
        """Position of the character `index` of the string that is the value at `path`."""
        at = self.values.get(path)
        if at is None:
            return self.nearest(path)
        quote = self.text[at]
        if self.text.startswith(quote * 3, at):
            at += 3
            if self.text.startswith("\n", at):
                at += 1
        else:
            at += 1
        while True:
            escape = _ESCAPE.match(self.text, at) if quote == '"' else None
            if escape and escape.group()[1:].strip(" \t\n") == "":
                at = escape.end()
                continue
            if index == 0:
                return self.position(at)
            at = escape.end() if escape else at + 1
            index -= 1

    def _scan(self) -> None:
        at = self._skip(0)
        base: Path = ()
        while at < len(self.text):
            self.repeated = None
            if self.text[at] == "[":
                array = self.text.startswith("[[", at)
                parts, at = self._key(self._blank(at + 1 + array))
                base = self._enter(parts, array)
                at = self.text.index("]", at) + 1 + array
            else:
                at = self._pair(at, base)
            at = self._skip(at)

    def _enter(self, parts: list[tuple[str, int]], array: bool) -> Path:
        path: Path = ()
        for n, (name, offset) in enumerate(parts):
            path += (name,)
            last = n == len(parts) - 1
            if last and not array and path in self.keys:
                self.repeated = (path, self.keys[path], offset)
            self.keys.setdefault(path, offset)
            if last and array:
                index = self._lengths.get(path, 0)
                self._lengths[path] = index + 1
                path += (index,)
                self.keys[path] = offset
            elif path in self._lengths:
                path += (self._lengths[path] - 1,)
            elif last:
                self.keys[path] = offset
        return path

    def _pair(self, at: int, base: Path) -> int:
        parts, at = self._key(at)
        path = base
        for n, (name, offset) in enumerate(parts):
            path += (name,)
            if n == len(parts) - 1 and path in self.keys:
                self.repeated = (path, self.keys[path], offset)
            self.keys.setdefault(path, offset)
        at = self._blank(self.text.index("=", at) + 1)
        return self._value(at, path)

    def _value(self, at: int, path: Path) -> int:
        self.values[path] = at
        char = self.text[at]
        if char == "[":
            at, index = self._skip(at + 1), 0
            while self.text[at] != "]":
                at = self._skip(self._value(at, (*path, index)))
                index += 1
                if self.text[at] == ",":
                    at = self._skip(at + 1)
            return at + 1
        if char == "{":
            at = self._skip(at + 1)
            while self.text[at] != "}":
                at = self._skip(self._pair(at, path))
                if self.text[at] == ",":
                    at = self._skip(at + 1)
            return at + 1
        match = _STRING.match(self.text, at) or _ATOM.match(self.text, at)
        assert match is not None
        return match.end()

    def _key(self, at: int) -> tuple[list[tuple[str, int]], int]:
        parts: list[tuple[str, int]] = []
        while True:
            match = _BARE.match(self.text, at)
            if match:
                name = match.group()
            else:
                match = _STRING.match(self.text, at)
                assert match is not None
                name = str(tomllib.loads(f"k = {match.group()}")["k"])
            parts.append((name, at))
            at = self._blank(match.end())
            if not self.text.startswith(".", at):
                return parts, at
            at = self._blank(at + 1)

    def _blank(self, at: int) -> int:
        while at < len(self.text) and self.text[at] in " \t":
            at += 1
        return at

    def _skip(self, at: int) -> int:
        match = _SKIP.match(self.text, at)
        assert match is not None
        return match.end()
