"""What keeps generated files from being where a description puts them, found before the first is written."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from sqlclaimgen import files as disk
from sqlclaimgen import lockfile
from sqlclaimgen.description import source
from sqlclaimgen.description.diagnostics import DescriptionInvalid, Diagnostic

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from sqlclaimgen.description import Description

_PROJECT = (".git", ".hg", ".svn", "pyproject.toml", "setup.py", "setup.cfg")
"""What marks the top folder of a project, which generated files stay inside."""
_DEVICES = (Path("/dev"), Path("/proc"))
_ELSEWHERE = "Name another folder in [output], or move away what is there."


def top(folder: Path) -> Path:
    """The project's top folder: the nearest one with a mark of a project, else `folder` itself."""
    whole = disk.resolved(folder)
    marked = (
        up for up in (whole, *whole.parents) if any((up / mark).exists() for mark in _PROJECT)
    )
    return next(marked, whole)


def refuse(description: Description, paths: Collection[PurePosixPath]) -> None:
    """Raises DescriptionInvalid where the description has no place for its files, and for every path
    where no file can be, that cannot be read, or that must not be written."""
    path = description.path
    folder = disk.resolved(path.parent)
    if any(folder.is_relative_to(devices) for devices in _DEVICES):
        _refuse(
            [
                (
                    path,
                    "OUTPUT",
                    "files are generated beside the description, and not in this folder",
                )
            ],
            "Write the description into a file; `build --stdout` and `show` read it from here too.",
        )
    if path.name == lockfile.NAME:
        _refuse(
            [
                (
                    path,
                    "FILE-NAME",
                    "this is the name of the lock, which a build would write over it",
                )
            ],
            "Name the description otherwise.",
        )
    found = [*_misplaced(description, paths)] or [*_unreadable(path.parent, paths)]
    if found:
        raise DescriptionInvalid(tuple(found))


def refuse_unwritable(paths: Iterable[Path]) -> None:
    """Raises DescriptionInvalid for every folder that this user may not write in."""
    folders = {disk.resolved(path).parent: path for path in paths}
    found = [
        (path, "FILE-UNWRITABLE", why)
        for folder, path in sorted(folders.items())
        if (why := disk.blocked(folder, writing=True))
    ]
    if found:
        _refuse(found, "Give this user the right to write there, or run as one who has it.")


def _refuse(found: Iterable[tuple[Path, str, str]], hint: str) -> None:
    raise DescriptionInvalid(
        tuple(Diagnostic(str(path), 1, 1, code, what, hint) for path, code, what in found)
    )


def _misplaced(description: Description, paths: Collection[PurePosixPath]) -> Iterator[Diagnostic]:
    """Folders of [output] where no file can be, or none of this description's should."""
    folder = description.path.parent
    project = top(folder)
    own = disk.resolved(description.path)
    taken = {disk.resolved(folder / path): str(path) for path in paths}
    taken |= {own: own.name, disk.resolved(folder / lockfile.NAME): lockfile.NAME}
    outside = (
        "leads out of the project",
        "Name a folder inside the project, whose top is the nearest folder above this file that has "
        f"{' or '.join((_PROJECT[0], _PROJECT[3]))}, or else this file's own.",
    )
    for key, places in _by_key(description, paths).items():
        for place in places:
            whole = disk.resolved(folder / place)
            above = next((taken[up] for up in (whole, *whole.parents) if up in taken), None)
            if not whole.is_relative_to(project):
                yield _at(description, key, "OUTPUT-OUTSIDE", *outside)
            elif above is not None:
                what = f"needs the folder {place}, and {above} is a file of this build"
                yield _at(description, key, "OUTPUT", what, "Name another folder in [output].")
            elif why := disk.blocked(folder / place, writing=False):
                what = f"needs the folder {place}, and {why}"
                yield _at(description, key, "OUTPUT", what, _ELSEWHERE)
            else:
                continue
            break
    for path in sorted(paths):
        whole = disk.resolved(folder / path)
        if whole == own or path == PurePosixPath(lockfile.NAME):
            what = f"puts the generated {path} in the place of {whole.name}"
            key = _key(description, path.parent)
            yield _at(description, key, "OUTPUT", what, "Name another folder in [output].")


def _key(description: Description, place: PurePosixPath) -> str:
    """The key of [output] that names the folder, or one above it."""
    output = description.output
    named = {"sql": output.sql, "python": output.python, "docs": output.docs}
    found = [key for key, one in named.items() if place.is_relative_to(PurePosixPath(one))]
    return max(found, key=lambda key: len(PurePosixPath(named[key]).parts), default="sql")


def _by_key(
    description: Description, paths: Iterable[PurePosixPath]
) -> dict[str, list[PurePosixPath]]:
    places: dict[str, list[PurePosixPath]] = {}
    for place in sorted({path.parent for path in paths}):
        places.setdefault(_key(description, place), []).append(place)
    return places


def _unreadable(folder: Path, paths: Iterable[PurePosixPath]) -> Iterator[Diagnostic]:
    """What lies in the place of a generated file and is none, or cannot be read."""
    for path in sorted(paths):
        try:
            disk.readable(folder / path)
        except OSError as error:
            what = f"a generated file belongs here: {(error.strerror or str(error)).lower()}"
            yield Diagnostic(str(folder / path), 1, 1, "FILE-BLOCKED", what, _ELSEWHERE)


def _at(description: Description, key: str, code: str, what: str, hint: str) -> Diagnostic:
    """About a key of [output]."""
    line = column = 1
    content = disk.content(description.path)
    if content is not None:
        position = source.parse(content, description.path).locations.nearest(("output", key))
        line, column = position.line, position.column
    return Diagnostic(str(description.path), line, column, code, f"`output.{key}` {what}", hint)
