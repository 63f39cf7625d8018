"""A description file's bytes as TOML, or what keeps them from being read."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlclaimgen.description import syntax
from sqlclaimgen.description.diagnostics import DescriptionInvalid, Diagnostic
from sqlclaimgen.description.locations import Locations

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Source:
    """A file that is valid TOML."""

    file: str
    text: str
    document: dict[str, Any]
    locations: Locations


def read(path: Path) -> bytes:
    """The bytes of the file. Raises `DescriptionInvalid` when there are none to read."""
    try:
        return path.read_bytes()
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


def parse(content: bytes, path: Path) -> Source:
    """`content` as TOML; a byte order mark and CRLF are accepted. Raises `DescriptionInvalid`."""
    try:
        text = content.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        before = content[: error.start].decode("utf-8-sig", "replace").replace("\r\n", "\n")
        line, column = before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1
        utf16 = content.startswith((b"\xff\xfe", b"\xfe\xff"))
        raise _invalid(
            path,
            "FILE-ENCODING",
            "the file is UTF-16, not UTF-8"
            if utf16
            else f"the byte 0x{content[error.start]:02x} is not UTF-8",
            "Save the file as UTF-8.",
            line,
            column,
        ) from None
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _invalid(path, *syntax.worded(text, str(error))) from None
    except RecursionError:
        raise _invalid(
            path,
            "TOML-SYNTAX",
            "the file nests arrays or tables too deeply to be read",
            "No key of a description nests deeper than four tables.",
        ) from None
    return Source(str(path), text, document, Locations(text))


def _invalid(
    path: Path, code: str, what: str, hint: str, line: int = 1, column: int = 1
) -> DescriptionInvalid:
    return DescriptionInvalid((Diagnostic(str(path), line, column, code, what, hint),))
