"""Files of a project: what is in one, and replacing many of them together."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Mapping


def content(path: Path) -> bytes | None:
    """The bytes of a file, None where there is none. Raises OSError for what cannot be read, and for
    what is no file: reading a pipe or a device would not end."""
    return path.read_bytes() if readable(path) else None


def readable(path: Path) -> bool:
    """Whether there is a file. Raises OSError for one that cannot be read, and for what is none."""
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return False
    if not stat.S_ISREG(mode):
        what = "a folder is there" if stat.S_ISDIR(mode) else "what is there is no regular file"
        raise OSError(errno.EINVAL, what, str(path))
    if not os.access(path, os.R_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    return True


def resolved(path: Path) -> Path:
    """The path without links; where they lead in a circle, as far as they can be followed."""
    return Path(os.path.realpath(path))


def blocked(folder: Path, *, writing: bool) -> str | None:
    """Why no file can be in `folder`, which may have to be made; None where one can."""
    there = folder
    while not os.path.lexists(there) and there != there.parent:
        there = there.parent
    if not there.is_dir():
        return f"{there} is no folder"
    if writing and not os.access(there, os.W_OK | os.X_OK):
        return f"this user may not write in the folder {there}"
    return None


def beside(target: Path) -> Path:
    """Where the new content of a file waits until it replaces the old."""
    return target.with_name(f".{target.name}.sqlclaimgen")


@contextlib.contextmanager
def alone(folder: Path, waiting: Callable[[], None]) -> Generator[None]:
    """Keep other builds of this folder waiting. `waiting` is called where this one has to wait. Where
    the system or the file system has no locks, nothing keeps them."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            waiting()
            fcntl.flock(handle, fcntl.LOCK_EX)
        except OSError:
            pass  # a file system without locks
        yield
    finally:
        os.close(handle)


def replace(texts: Mapping[Path, str]) -> None:
    """Replace these files. Each is replaced whole; a link stays one, and what it points to is replaced.
    Raises OSError."""
    swap(prepared(texts))


def prepared(texts: Mapping[Path, str]) -> dict[Path, Path]:
    """Write every text beside the file that it will replace. Returns where each waits, by its file.
    Raises OSError, and leaves nothing behind then."""
    ready: dict[Path, Path] = {}
    made: list[Path] = []
    try:
        for path, text in texts.items():
            target = resolved(path)
            made += _make(target.parent)
            ready[target] = beside(target)
            _write(ready[target], target, text)
    except BaseException:
        _drop(ready.values())
        for folder in reversed(made):
            with contextlib.suppress(OSError):
                folder.rmdir()
        raise
    return ready


def swap(ready: Mapping[Path, Path]) -> None:
    """Put what `prepared` wrote in its place. Raises OSError: what went before it is replaced then."""
    try:
        for target, waiting in ready.items():
            waiting.replace(target)
    except BaseException:
        _drop(ready.values())
        raise


def _drop(places: Iterable[Path]) -> None:
    for place in places:
        with contextlib.suppress(OSError):
            place.unlink(missing_ok=True)


def _make(folder: Path) -> list[Path]:
    """Make a folder and those it is in. Returns what was made, from the top."""
    missing: list[Path] = []
    while not folder.is_dir():
        missing.append(folder)
        folder = folder.parent
    for one in reversed(missing):
        one.mkdir(exist_ok=True)
    return missing[::-1]


def _write(place: Path, target: Path, text: str) -> None:
    try:
        place.unlink(missing_ok=True)  # of a build that was killed
        with open(place, "x", encoding="utf-8", newline="\n") as file:
            file.write(text)
        if target.exists():
            place.chmod(target.stat().st_mode & 0o777)
    except OSError as error:
        # a full disk names no file, and the file that waits is none that a user knows
        raise OSError(error.errno, error.strerror, str(target)) from error


def remove(paths: Iterable[Path], top: Path) -> None:
    """Remove files, and the folders below `top` that are empty then. Raises OSError."""
    for path in paths:
        path.unlink(missing_ok=True)
        folder = path.parent
        while folder != top and folder.is_relative_to(top):
            try:
                folder.rmdir()
            except OSError:
                break
            folder = folder.parent
