"""A description file's bytes as TOML, or what keeps them from being read."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from sqlclaimgen.description import syntax
from sqlclaimgen.description.diagnostics import DescriptionInvalid, Diagnostic
from sqlclaimgen.description.locations import Locations, Position

_MOST = 16 * 2**20
"""Bytes of a description. A thousand tables take one of them."""

DEEPEST = 8
"""Keys and indexes from the top of the file down to a value. A description has six."""

START = Position(1, 1)

_DIGITS = re.compile(r"[0-9][0-9_]{640,}")


@dataclass(frozen=True, slots=True)
class Source:
    """A file that is valid TOML."""

    file: str
    text: str
    document: dict[str, Any]
    locations: Locations


def read(path: Path) -> bytes:
    """The bytes of the file. Raises `DescriptionInvalid` when there are none to read."""
    if not path.name.isprintable() or set(path.name) & set('<>"|'):
        raise _invalid(
            Path(ascii(str(path))),
            "FILE-NAME",
            "the file's name stands in every generated file, and has characters that cannot",
            'Rename it: letters, digits and the like, no control characters, none of < > " |.',
        )
    try:
        with path.open("rb") as file:
            content = file.read(_MOST + 1)
    except FileNotFoundError:
        raise _invalid(
            path, "FILE-MISSING", "there is no such file", "Write one with `sqlclaimgen init`."
        ) from None
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise _invalid(
            path,
            "FILE-UNREADABLE",
            f"the file cannot be read: {reason}",
            "Name a file that this user may read.",
        ) from None
    if len(content) > _MOST:
        what = f"the file is longer than {_MOST // 2**20} MiB"
        raise _invalid(path, "FILE-UNREADABLE", what, "Name a description; split one this long.")
    return content


def parse(content: bytes, path: Path) -> Source:
    """`content` as TOML; a byte order mark and CRLF are accepted. Raises `DescriptionInvalid`."""
    try:
        text = content.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        # the place counts from behind a byte order mark
        before = error.object[: error.start].decode("utf-8", "replace").replace("\r\n", "\n")
        line, column = before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1
        utf16 = content.startswith((b"\xff\xfe", b"\xfe\xff"))
        raise _invalid(
            path,
            "FILE-ENCODING",
            "the file is UTF-16, not UTF-8"
            if utf16
            else f"the byte 0x{error.object[error.start]:02x} is not UTF-8",
            "Save the file as UTF-8.",
            line,
            column,
        ) from None
    try:
        document = tomllib.loads(text)
        locations = Locations(text)
    except tomllib.TOMLDecodeError as error:
        raise _invalid(path, *syntax.worded(text, str(error))) from None
    except RecursionError:
        raise _too_deep(path) from None
    except ValueError:
        # Python reads no more digits than it is told to (sys.set_int_max_str_digits)
        digits = _DIGITS.search(text)
        at = Locations.of_prefix(text).position(digits.start() if digits else 0)
        raise _too_large(path, at) from None
    _check_values(document, locations, path)
    return Source(str(path), text, document, locations)


def _check_values(document: dict[str, Any], locations: Locations, path: Path) -> None:
    """Refuse what is deeper than any key, and integers that TOML does not have: they have more than 64
    bits."""
    waiting: list[tuple[tuple[str | int, ...], Any]] = [((), document)]
    while waiting:
        at, value = waiting.pop()
        if len(at) > DEEPEST:
            raise _too_deep(path, locations.nearest(at))
        if isinstance(value, dict):
            found = cast("dict[str, Any]", value)
            waiting += [((*at, key), inner) for key, inner in found.items()]
        elif isinstance(value, list):
            items = cast("list[object]", value)
            waiting += [((*at, n), inner) for n, inner in enumerate(items)]
        elif type(value) is int and not -(2**63) <= value < 2**63:
            raise _too_large(path, locations.nearest(at))


def _too_deep(path: Path, at: Position = START) -> DescriptionInvalid:
    return _invalid(
        path,
        "TOML-SYNTAX",
        "the file nests arrays or tables too deeply to be read",
        "No key of a description nests deeper than four tables.",
        at.line,
        at.column,
    )


def _too_large(path: Path, at: Position) -> DescriptionInvalid:
    return _invalid(
        path,
        "TOML-SYNTAX",
        "a whole number has more than 64 bits",
        "Write one between -9223372036854775808 and 9223372036854775807, or a text in quotes.",
        at.line,
        at.column,
    )


def _invalid(
    path: Path, code: str, what: str, hint: str, line: int = 1, column: int = 1
) -> DescriptionInvalid:
    return DescriptionInvalid((Diagnostic(str(path), line, column, code, what, hint),))
