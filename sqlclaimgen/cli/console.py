"""Where commands print and end: results on stdout, everything else on stderr."""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import io
import os
import sys
import traceback
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

from sqlclaimgen.description.diagnostics import DescriptionInvalid, Diagnostic
from sqlclaimgen.description.report import as_json, github, text

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable

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


def fail(what: str, way_out: str = "") -> NoReturn:
    """End with what is wrong and what to do about it."""
    raise Failed(what, way_out)


class Failed(Exception):
    """The call is wrong, or cannot be served. `reporting` prints it."""

    def __init__(self, what: str, way_out: str) -> None:
        super().__init__(what)
        self.what = what
        self.way_out = way_out


def counted(number: int, noun: str) -> str:
    """So many of something: `1 file`, `2 files`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


_found: list[Diagnostic] = []
"""What was reported as JSON so far: one array, written at the end."""


def report(diagnostics: Iterable[Diagnostic], form: ErrorFormat) -> None:
    """Findings, on stderr; as JSON they are one array, which `reporting` writes at its end."""
    match form:
        case ErrorFormat.JSON:
            _found.extend(diagnostics)
        case ErrorFormat.GITHUB:
            sys.stderr.write(
                github(dataclasses.replace(one, file=_from_root(one.file)) for one in diagnostics)
            )
        case ErrorFormat.TEXT:
            written = text(diagnostics)
            for severity, style in (("error", "red"), ("warning", "yellow")):
                mark = styled(severity, style, sys.stderr)
                written = written.replace(f": {severity}[", f": {mark}[")
            sys.stderr.write(written)


def _from_root(file: str) -> str:
    """The path as GitHub matches it: from the repository's top folder, with forward slashes."""
    if not file:
        return file
    path = Path(os.path.normpath(Path.cwd() / file))
    root = next((up for up in path.parents if (up / ".git").exists()), None)
    root = root or Path(os.environ.get("GITHUB_WORKSPACE") or Path.cwd())
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else path.as_posix()


@contextlib.contextmanager
def reporting(form: ErrorFormat = ErrorFormat.TEXT) -> Generator[None]:
    """Turns what is raised inside into text and an exit code. What is reported as JSON is one array,
    also when nothing is found."""
    _found.clear()
    try:
        yield
    except DescriptionInvalid as invalid:
        report(invalid.diagnostics, form)
        raise SystemExit(WRONG) from None
    except Failed as failed:
        _report_failure(failed.what, failed.way_out, "FAILED", form)
        raise SystemExit(WRONG) from None
    except BrokenPipeError:
        # the reader has seen enough: `sqlclaimgen show | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(FINE) from None
    except OSError as error:
        name = error.filename2 or error.filename
        at = f"{name}: " if name else ""
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        way_out = "Make room there." if full else "See that this user may read and write there."
        _report_failure(f"{at}{error.strerror or error}", way_out, "SYSTEM", form)
        raise SystemExit(WRONG) from None
    except Exception as error:
        # 1 is the code of a difference, so a fault of this program ends with 2 as well
        traceback.print_exc(file=sys.stderr if form is ErrorFormat.TEXT else io.StringIO())
        what = f"this is a fault of sqlclaimgen: {type(error).__name__}: {error}"
        _report_failure(what, "Report it, with the description.", "FAULT", form)
        raise SystemExit(WRONG) from None
    finally:
        if form is ErrorFormat.JSON:
            sys.stderr.write(as_json(_found))


def _report_failure(what: str, way_out: str, code: str, form: ErrorFormat) -> None:
    """An error that is at no place of a file."""
    if form is not ErrorFormat.TEXT:
        report([Diagnostic("", 1, 1, code, what, way_out)], form)
        return
    err(f"{styled('error', 'red', sys.stderr)}: {what}")
    if way_out:
        hint(way_out)
