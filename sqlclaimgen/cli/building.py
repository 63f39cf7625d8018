"""`build`: writes what a description generates, compares it, or prints it."""

from __future__ import annotations

import dataclasses
import sys
from typing import TYPE_CHECKING, Any

from sqlclaimgen import files as disk
from sqlclaimgen import output
from sqlclaimgen.cli import console, described
from sqlclaimgen.cli.console import (
    DIFFERENT,
    FINE,
    WRONG,
    ErrorFormat,
    Format,
    counted,
    err,
    hint,
    out,
    styled,
)
from sqlclaimgen.description.diagnostics import Diagnostic
from sqlclaimgen.output import LEFT, REFUSED, Difference, State, Survey
from sqlclaimgen.rendering import render

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path, PurePosixPath

    from sqlclaimgen.description import Description

_DRAIN = "Drain the running consumers of the table before the new ones start."


def build(path: Path, errors: ErrorFormat, form: Format, *, force: bool) -> int:
    """Write the files. Returns the exit code."""
    description = described.read(path, errors)
    files = render(description)
    say = _say_waiting if errors is ErrorFormat.TEXT else _say_nothing
    with disk.alone(description.path.parent, say):
        found = output.survey(description, files)
        if found.refused and not force:
            _refuse(found, errors)
            return WRONG
        output.write(found)
    left = [_diagnostic(found, one) for one in found.differences if one.state in LEFT]
    console.report([dataclasses.replace(one, severity="warning") for one in left], errors)
    _warn_of_drains(description, found, errors)
    if form is Format.JSON:
        console.out_json(_as_json(found))
        return FINE
    for one in _all(found):
        if one.state not in LEFT:
            verb = "removed" if one.wanted is None else "wrote"
            out(f"{styled(verb, 'green', sys.stdout)} {one.path}")
    if found.is_current:
        _say_current(found)
    return FINE


def check(path: Path, errors: ErrorFormat, form: Format) -> int:
    """Compare the files with those on disk, writing nothing. Returns the exit code."""
    description = described.read(path, errors)
    found = output.survey(description, render(description))
    code = FINE if found.is_current else DIFFERENT
    if errors is not ErrorFormat.TEXT:
        console.report([_diagnostic(found, one) for one in _all(found)], errors)
    _warn_of_drains(description, found, errors)
    if form is Format.JSON:
        console.out_json(_as_json(found))
        return code
    for one in _all(found):
        if not one.whole:
            _print_diff(found, one)
    if found.is_current:
        _say_current(found)
    elif errors is ErrorFormat.TEXT:
        _say_what_differs(found)
    return code


def show_files(files: Mapping[PurePosixPath, str], form: Format) -> int:
    """Print the files instead of writing them. Returns the exit code."""
    if form is Format.JSON:
        console.out_json({str(path): text for path, text in sorted(files.items())})
        return FINE
    console.exact()
    for path, text in sorted(files.items()):
        out(f"==> {path} <==", "bold")
        out(text)
    return FINE


def stdout(path: Path, errors: ErrorFormat, form: Format) -> int:
    """Print what a build would write. Returns the exit code."""
    return show_files(render(described.read(path, errors)), form)


def _refuse(found: Survey, errors: ErrorFormat) -> None:
    console.report([_diagnostic(found, one) for one in found.refused], errors)
    if errors is ErrorFormat.TEXT:
        err("nothing was written")


def _say_waiting() -> None:
    err("waiting for another build of this folder")


def _say_nothing() -> None:
    pass


def _say_current(found: Survey) -> None:
    verb = "is" if found.current == 1 else "are"
    out(f"{counted(found.current, 'file')} {verb} current")


def _say_what_differs(found: Survey) -> None:
    """A line for each file, how many they are, and what to do about each kind, what `build` refuses
    first."""
    every = _all(found)
    for one in every:
        size = f", {counted(one.lines, 'line')}" if one.whole else ""
        err(f"{styled(one.state, 'red', sys.stderr)}: {found.folder / one.path}{size}")
    err(f"{counted(len(every), 'file')} differ{'s' if len(every) == 1 else ''}")
    refused_first = sorted(every, key=lambda one: one.state not in REFUSED)
    for way_out in dict.fromkeys(_WORDS[one.state][2] for one in refused_first):
        hint(way_out)


_REBUILD = "Run `sqlclaimgen build` and commit what it writes."
_WORDS = {
    State.MISSING: ("FILE-MISSING", "this generated file is missing", _REBUILD),
    State.CHANGED: ("FILE-OUT-OF-DATE", "this generated file is out of date", _REBUILD),
    State.EDITED: (
        "FILE-EDITED",
        "this generated file was edited by hand",
        "Move the change into the description; `build --check` shows it, `build --force` drops it.",
    ),
    State.IN_THE_WAY: (
        "FILE-IN-THE-WAY",
        "a file that was not generated here is in the way",
        "Move it away or name another folder in [output]; `build --force` overwrites it.",
    ),
    State.STALE: ("FILE-STALE", "this file is no longer generated", _REBUILD),
    State.STALE_EDITED: (
        "FILE-STALE",
        "this file is no longer generated, and was edited by hand",
        "Delete it, or keep it as your own, without its first line.",
    ),
    State.UNLISTED: (
        "FILE-STALE",
        "this file says that it is generated, and nothing generates it",
        "Delete it, or keep it as your own, without its first line.",
    ),
}


def _diagnostic(found: Survey, one: Difference) -> Diagnostic:
    code, what, way_out = _WORDS[one.state]
    return Diagnostic(str(found.folder / one.path), 1, 1, code, what, way_out)


def _all(found: Survey) -> list[Difference]:
    return [*found.differences, *([found.lock] if found.lock else [])]


def _warn_of_drains(description: Description, found: Survey, errors: ErrorFormat) -> None:
    file = str(description.path)
    warnings = [Diagnostic(file, 1, 1, "DRAIN", line, _DRAIN, "warning") for line in found.drains]
    console.report(warnings, errors)


def _print_diff(found: Survey, one: Difference) -> None:
    styles = {"+": "green", "-": "red", "@": "cyan"}
    for line in one.diff(found.folder).splitlines():
        out(line, styles.get(line[:1]))


def _as_json(found: Survey) -> dict[str, Any]:
    return {
        "current": found.is_current,
        "unchanged": found.current,
        "differences": [
            {
                "path": str(one.path),
                "state": one.state.value,
                "action": "left"
                if one.state in LEFT
                else "remove"
                if one.wanted is None
                else "write",
                "diff": one.diff(),
            }
            for one in _all(found)
        ],
        "drain": list(found.drains),
    }
