"""Generated files against the ones on disk: what differs, and writing it."""

from __future__ import annotations

import contextlib
import difflib
import os
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from sqlclaimgen import files as disk
from sqlclaimgen import lockfile, obstacles
from sqlclaimgen.lockfile import Entry, Lock, agreement, digest
from sqlclaimgen.rendering import headers

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from sqlclaimgen.description import Description


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

    def diff(self, folder: Path | None = None) -> str:
        """From the file on disk to the one generated, as a unified diff. Paths are those below
        `folder`, relative to the description's where it is None."""
        path = (folder / self.path if folder else self.path).as_posix().lstrip("/")
        lines = difflib.unified_diff(
            (self.found or "").splitlines(keepends=True),
            (self.wanted or "").splitlines(keepends=True),
            "/dev/null" if self.found is None else f"a/{path}",
            "/dev/null" if self.wanted is None else f"b/{path}",
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
    intent: str
    """The lock's text while the files are written: it knows the old ones and the new."""
    known: frozenset[PurePosixPath]
    """Every file that this build or one before it wrote, or was about to."""

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
    Raises DescriptionInvalid for an unreadable lock, and for a path where no file can be."""
    folder = description.path.parent
    obstacles.refuse(description, files)
    lock = lockfile.load(folder)
    before = lock.taken_over(folder, description.source)
    package = PurePosixPath(description.output.python) / "__init__.py"
    differences: list[Difference] = []
    listed: dict[PurePosixPath, str] = {}
    for path, text in sorted(files.items()):
        state, found = _state(folder / path, digest(text.encode()), before.known(path))
        if path == package and state in REFUSED:
            # a package of the team's own, or one that it has made its own
            continue
        listed[path] = digest(text.encode())
        if state is not None:
            differences.append(Difference(path, state, text, found))
    current = len(listed) - len(differences)
    writes = {one.path: listed[one.path] for one in differences}
    differences += _over(description, files, before, lock)
    tables = {table.key: agreement(table) for table in description.tables}
    after = Entry(listed, tables)
    wanted = lock.replaced(folder, description.source, after).text()
    state, found = _state(folder / lockfile.NAME, digest(wanted.encode()), frozenset())
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
        lock.replaced(folder, description.source, before.about_to_write(writes)).text(),
        frozenset((*files, *before.files, *before.pending)),
    )


def _state(target: Path, wanted: str, known: frozenset[str]) -> tuple[State | None, str | None]:
    content = disk.content(target)
    if content is None:
        return State.MISSING, None
    found = content.decode("utf-8", "replace").replace("\r\n", "\n")
    now = digest(content)
    if now == wanted:
        return None, found
    if not known:
        return State.IN_THE_WAY, found
    # a lock can say anything of any file: only one with the header is replaced
    generated = now in known and headers.is_generated(content)
    return (State.CHANGED if generated else State.EDITED), found


def _over(
    description: Description, files: Mapping[PurePosixPath, str], before: Entry, lock: Lock
) -> Iterator[Difference]:
    """What lies there and is not generated: from the lock, and by the header in the file."""
    folder = description.path.parent
    top = obstacles.top(folder)
    for path in sorted({*before.files, *before.pending}.difference(files)):
        if not disk.resolved(folder / path).is_relative_to(top):
            continue
        with contextlib.suppress(OSError):
            state, found = _state(folder / path, "", before.known(path))
            if state is State.CHANGED:
                yield Difference(path, State.STALE, None, found)
            elif state is not State.MISSING:
                yield Difference(path, State.STALE_EDITED, None, found)
    known = {path for entry in lock.entries.values() for path in entry.files} | {
        *files,
        *before.files,
        *before.pending,
    }
    origin = headers.origin(description).encode()
    for path in _neighbours(description, files):
        # what cannot be read is the team's own
        with contextlib.suppress(OSError):
            if path not in known and origin in _first_line(folder / path):
                _, found = _state(folder / path, "", frozenset())
                yield Difference(path, State.UNLISTED, None, found)


def _first_line(path: Path) -> bytes:
    with open(path, "rb") as file:
        return file.readline(4096)


def _neighbours(
    description: Description, files: Iterable[PurePosixPath]
) -> Iterator[PurePosixPath]:
    """The files beside generated ones, of the same kinds."""
    folder = description.path.parent
    for place, suffix in sorted({(path.parent, path.suffix) for path in files}):
        with contextlib.suppress(OSError):
            names = sorted(one.name for one in os.scandir(folder / place) if one.is_file())
            yield from (place / name for name in names if name.endswith(suffix))


def write(survey: Survey) -> None:
    """Write what differs, remove what is stale, and the lock last. What a build that was killed has
    left over goes as well. Raises DescriptionInvalid, before anything is written, where files cannot
    be; OSError where the disk is full or fails."""
    folder = survey.folder
    lock = folder / lockfile.NAME
    texts = {folder / one.path: one.wanted for one in survey.differences if one.wanted is not None}
    stale = [folder / one.path for one in survey.differences if one.state is State.STALE]
    changes = [*texts, *stale, *([lock] if survey.lock else [])]
    obstacles.refuse_unwritable(changes)
    for path in (*survey.known, PurePosixPath(lockfile.NAME)):
        left = disk.beside(disk.resolved(folder / path))
        if left not in changes and left.is_file():
            left.unlink()
    if texts:
        before = disk.content(lock)
        disk.replace({lock: survey.intent})
        try:
            ready = disk.prepared(texts)
        except BaseException:
            with contextlib.suppress(OSError):
                _restore(lock, before)
            raise
        disk.swap(ready)
    disk.remove(stale, folder)
    if survey.lock is not None and survey.lock.wanted is not None:
        disk.replace({lock: survey.lock.wanted})


def _restore(lock: Path, before: bytes | None) -> None:
    """Nothing was replaced yet: the lock says what it said."""
    if before is None:
        lock.unlink(missing_ok=True)
    else:
        disk.replace({lock: before.decode()})
