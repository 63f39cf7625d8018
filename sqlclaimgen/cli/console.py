"""Where commands print and end: results on stdout, everything else on stderr."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

from sqlclaimgen.description.diagnostics import DescriptionInvalid
from sqlclaimgen.description.report import as_json, github, text

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable

    from sqlclaimgen.description.diagnostics import Diagnostic

FINE, DIFFERENT, WRONG = 0, 1, 2
"""The exit codes."""

_STYLES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}


class ErrorFormat(StrEnum):
    """How mistakes are reported."""

    TEXT = "text"
    JSON = "json"
    GITHUB = "github"


class Format(StrEnum):
    """Who reads a result: a person, or a program."""

    TEXT = "text"
    JSON = "json"


def coloured(stream: TextIO) -> bool:
    """Whether `stream` shows colours: a terminal does, unless NO_COLOR is set."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def styled(text: str, style: str, stream: TextIO) -> str:
    """`text` in a style, where `stream` shows it."""
    return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if coloured(stream) else text


def out(text: str = "", style: str | None = None, *, end: str = "\n") -> None:
    """A line of the result."""
    print(styled(text, style, sys.stdout) if style else text, end=end)


def exact() -> None:
    """Make what follows on stdout what a generated file has: UTF-8, LF, on every system."""
    stream: TextIO = sys.stdout
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(encoding="utf-8", newline="\n")


def err(text: str, style: str | None = None) -> None:
    """A line about the run."""
    print(styled(text, style, sys.stderr) if style else text, file=sys.stderr)


def out_json(value: Any) -> None:
    """A result for a program."""
    import json

    exact()
    out(json.dumps(value, indent=2, ensure_ascii=False))


def hint(way_out: str) -> None:
    """What to do about the lines before."""
    err(f"    {styled('hint', 'cyan', sys.stderr)}: {way_out}")


def fail(what: str, way_out: str = "", code: int = WRONG) -> NoReturn:
    """Say what is wrong and what to do, and end."""
    err(f"{styled('error', 'red', sys.stderr)}: {what}")
    if way_out:
        hint(way_out)
    raise SystemExit(code)


def counted(number: int, noun: str) -> str:
    """So many of something: `1 file`, `2 files`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def report(diagnostics: Iterable[Diagnostic], form: ErrorFormat) -> None:
    """Diagnostics of a description, on stderr."""
    writers = {ErrorFormat.TEXT: text, ErrorFormat.JSON: as_json, ErrorFormat.GITHUB: github}
    written = writers[form](diagnostics)
    if form is ErrorFormat.TEXT:
        for severity, style in (("error", "red"), ("warning", "yellow")):
            mark = styled(severity, style, sys.stderr)
            written = written.replace(f": {severity}[", f": {mark}[")
    sys.stderr.write(written)


@contextlib.contextmanager
def reporting(form: ErrorFormat = ErrorFormat.TEXT) -> Generator[None]:
    """Turns what is raised inside into text and an exit code."""
    try:
        yield
    except DescriptionInvalid as invalid:
        report(invalid.diagnostics, form)
        raise SystemExit(WRONG) from None
    except BrokenPipeError:
        # the reader has seen enough: `sqlclaimgen show | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(FINE) from None
    except OSError as error:
        name = error.filename2 or error.filename
        at = f"{name}: " if name else ""
        fail(f"{at}{error.strerror or error}", "See that this user may read and write there.")
