"""Generated files against the ones on disk: what differs, and writing it."""

from __future__ import annotations

import contextlib
import difflib
import os
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from sqlclaimgen import lockfile
from sqlclaimgen.description.diagnostics import DescriptionInvalid, Diagnostic
from sqlclaimgen.lockfile import Entry, Lock, agreement, digest
from sqlclaimgen.rendering import headers

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from sqlclaimgen.description import Description

_PROJECT = (".git", ".hg", ".svn", "pyproject.toml", "setup.py", "setup.cfg")
"""What marks the top folder of a project, which generated files stay inside."""


class State(StrEnum):
    """How a file differs from what is generated."""

    MISSING = "missing"
    CHANGED = "out of date"
    EDITED = "edited by hand"
    """Listed in the lock, and neither as it was written nor as it would be."""
    IN_THE_WAY = "not generated here"
    """In the place of a generated file, and not listed in the lock."""
    STALE = "no longer generated"
    STALE_EDITED = "no longer generated, edited by hand"
    UNLISTED = "generated, not listed in the lock"
    """It says that it comes from this description, and nothing generates it."""


REFUSED = frozenset({State.EDITED, State.IN_THE_WAY})
"""What `build` overwrites only when told to."""
LEFT = frozenset({State.STALE_EDITED, State.UNLISTED})
"""What `build` never removes."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One file that is not as it should be. `wanted` is None where there should be none, `found`
    where there is none."""

    path: PurePosixPath
    state: State
    wanted: str | None
    found: str | None

    @property
    def whole(self) -> bool:
        """Whether the file as a whole is missing, or should not be there."""
        return self.found is None or self.wanted is None

    @property
    def lines(self) -> int:
        """How long the file is that is generated, or else the one that is there."""
        return len((self.wanted or self.found or "").splitlines())

    def diff(self) -> str:
        """From the file on disk to the one generated, as a unified diff."""
        lines = difflib.unified_diff(
            (self.found or "").splitlines(keepends=True),
            (self.wanted or "").splitlines(keepends=True),
            "/dev/null" if self.found is None else f"a/{self.path}",
            "/dev/null" if self.wanted is None else f"b/{self.path}",
        )
        return "".join(
            line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
            for line in lines
        )


@dataclass(frozen=True, slots=True)
class Survey:
    """A description's files as they are and as they should be."""

    folder: Path
    differences: tuple[Difference, ...]
    """In order of their paths."""
    current: int
    """How many files are as they should be."""
    lock: Difference | None
    """The lock, when it is not as it will be."""
    drains: tuple[str, ...]
    """For each table whose running consumers must be drained first, what changed."""

    @property
    def refused(self) -> tuple[Difference, ...]:
        """What `write` overwrites only when forced."""
        return tuple(one for one in self.differences if one.state in REFUSED)

    @property
    def is_current(self) -> bool:
        """Whether a build would change nothing and leave nothing over."""
        return not self.differences and self.lock is None


def survey(description: Description, files: Mapping[PurePosixPath, str]) -> Survey:
    """Compare `files`, by path relative to the description's folder, with what is on disk. Reads only.
    Raises DescriptionInvalid for an unreadable lock, and for a path outside the project."""
    folder = description.path.parent
    top = _top(folder)
    _confine(description, files, top)
    lock = lockfile.load(folder)
    before = lock.taken_over(folder, description.source)
    package = PurePosixPath(description.output.python) / "__init__.py"
    differences: list[Difference] = []
    listed: dict[PurePosixPath, str] = {}
    for path, text in sorted(files.items()):
        state, found = _state(folder / path, digest(text.encode()), before.files.get(path))
        if path == package and state in REFUSED:
            # a package of the team's own, or one that it has made its own
            continue
        listed[path] = digest(text.encode())
        if state is not None:
            differences.append(Difference(path, state, text, found))
    current = len(listed) - len(differences)
    differences += _over(description, files, before, lock, top)
    after = Entry(listed, {table.key: agreement(table) for table in description.tables})
    wanted = lock.replaced(folder, description.source, after).text()
    state, found = _state(folder / lockfile.NAME, digest(wanted.encode()), None)
    changed = None
    if state is not None:
        state = State.CHANGED if state is State.IN_THE_WAY else state
        changed = Difference(PurePosixPath(lockfile.NAME), state, wanted, found)
    return Survey(
        folder,
        tuple(sorted(differences, key=lambda one: one.path)),
        current,
        changed,
        tuple(lockfile.drains(before, after)),
    )


def _state(target: Path, wanted: str, listed: str | None) -> tuple[State | None, str | None]:
    try:
        content = target.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return State.MISSING, None
    found = content.decode("utf-8", "replace").replace("\r\n", "\n")
    now = digest(content)
    if now == wanted:
        return None, found
    if listed is None:
        return State.IN_THE_WAY, found
    return (State.CHANGED if now == listed else State.EDITED), found


def _over(
    description: Description,
    files: Mapping[PurePosixPath, str],
    before: Entry,
    lock: Lock,
    top: Path,
) -> Iterator[Difference]:
    """What lies there and is not generated: from the lock, and by the header in the file."""
    folder = description.path.parent
    for path, hash in before.files.items():
        inside = (folder / path).resolve().is_relative_to(top)
        if path in files or not inside or not (folder / path).is_file():
            continue
        _, found = _state(folder / path, "", hash)
        same = digest((folder / path).read_bytes()) == hash
        yield Difference(path, State.STALE if same else State.STALE_EDITED, None, found)
    known = {path for entry in lock.entries.values() for path in entry.files} | {
        *files,
        *before.files,
    }
    origin = headers.origin(description)
    for path in _neighbours(description, files):
        if path not in known:
            text = (folder / path).read_bytes().decode("utf-8", "replace").replace("\r\n", "\n")
            if origin in text.partition("\n")[0]:
                yield Difference(path, State.UNLISTED, None, text)


def _neighbours(
    description: Description, files: Iterable[PurePosixPath]
) -> Iterator[PurePosixPath]:
    """The files beside generated ones, of the same kinds."""
    folder = description.path.parent
    for place, suffix in sorted({(path.parent, path.suffix) for path in files}):
        with contextlib.suppress(OSError):
            names = sorted(one.name for one in os.scandir(folder / place) if one.is_file())
            yield from (place / name for name in names if name.endswith(suffix))


def _top(folder: Path) -> Path:
    """The project's top folder: the nearest one with a mark of a project, else `folder` itself."""
    whole = folder.resolve()
    marked = (
        up for up in (whole, *whole.parents) if any((up / mark).exists() for mark in _PROJECT)
    )
    return next(marked, whole)


def _confine(description: Description, files: Iterable[PurePosixPath], top: Path) -> None:
    """Refuse paths outside the project: nothing in a description may write elsewhere."""
    outside = sorted(
        {
            str(path.parent)
            for path in files
            if not (description.path.parent / path).resolve().is_relative_to(top)
        }
    )
    if not outside:
        return
    what = f"[output] leads out of the project: {', '.join(outside)}"
    hint = (
        "Name folders inside the project, whose top is the nearest folder above this file that has "
        f"{' or '.join((_PROJECT[0], _PROJECT[3]))}, or else this file's own."
    )
    found = Diagnostic(str(description.path), 1, 1, "OUTPUT-OUTSIDE", what, hint)
    raise DescriptionInvalid((found,))


def write(survey: Survey) -> None:
    """Write what differs, remove what is stale, and the lock last. Each file is replaced whole, and
    only when it changes. Raises OSError."""
    for one in survey.differences:
        target = survey.folder / one.path
        if one.wanted is not None:
            _replace(target, one.wanted)
        elif one.state is State.STALE:
            target.unlink()
            _remove_empty(target.parent, survey.folder)
    if survey.lock is not None and survey.lock.wanted is not None:
        _replace(survey.folder / survey.lock.path, survey.lock.wanted)


def _replace(target: Path, text: str) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    # a link stays one, and what it points to is replaced
    target = target.resolve()
    beside = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        with open(beside, "x", encoding="utf-8", newline="\n") as file:
            file.write(text)
        if target.exists():
            beside.chmod(target.stat().st_mode & 0o777)
        beside.replace(target)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def _remove_empty(folder: Path, top: Path) -> None:
    """Remove folders that removal has left empty, below `top`."""
    while folder != top and folder.is_relative_to(top):
        try:
            folder.rmdir()
        except OSError:
            return
        folder = folder.parent
