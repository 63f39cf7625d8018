"""Jinja as this project uses it: strict, exact about line ends, templates from the wheel or the checkout."""

from __future__ import annotations

import functools
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import CodeType

    import jinja2

_PACKAGE = Path(__file__).parent


def folder(name: str) -> Path:
    """A folder of data: inside the package in a wheel, beside it in a checkout."""
    inside = _PACKAGE / name
    return inside if inside.is_dir() else _PACKAGE.parent / name


@functools.cache
def environment(*folders: str) -> jinja2.Environment:
    """Templates from these folders under `templates/`, the first that has one winning."""
    import jinja2

    root = folder("templates")
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader([root / name for name in folders]),
        undefined=jinja2.StrictUndefined,
        autoescape=False,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        extensions=["jinja2.ext.do"],
        auto_reload=False,
        bytecode_cache=_bytecode(),
    )


@functools.cache
def _bytecode() -> jinja2.BytecodeCache:
    """Compiled templates, kept as Python keeps compiled modules: compiling them takes ten times as
    long as everything else in a build. They are checked against their source; where they cannot be
    kept, a build is slower and no different."""
    import jinja2

    class Kept(jinja2.FileSystemBytecodeCache):
        def __init__(self, place: Path | None) -> None:
            super().__init__(str(place or "."))
            self._kept = place is not None
            self._compiled: dict[str, CodeType | None] = {}

        def load_bytecode(self, bucket: jinja2.bccache.Bucket) -> None:
            if self._kept and bucket.key not in self._compiled:
                super().load_bytecode(bucket)
                self._compiled[bucket.key] = bucket.code
            # another database's environment may have compiled the same file
            bucket.code = self._compiled.get(bucket.key)

        def dump_bytecode(self, bucket: jinja2.bccache.Bucket) -> None:
            self._compiled[bucket.key] = bucket.code
            if self._kept:
                try:
                    super().dump_bytecode(bucket)
                except OSError:
                    self._kept = False

    return Kept(_cache(f"jinja-{jinja2.__version__}"))


def _cache(name: str) -> Path | None:
    """A folder for what can be made again; None where there should or can be none."""
    if sys.dont_write_bytecode:
        return None
    named = (os.environ.get("XDG_CACHE_HOME", ""), os.environ.get("LOCALAPPDATA", ""))
    # a relative one would be made in every folder where a command runs
    base = next((one for one in named if Path(one).is_absolute()), None)
    try:
        place = (Path(base) if base else Path.home() / ".cache") / "sqlclaimgen" / name
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        # code is loaded from here: it must be this user's, and no other's to write
        state = place.stat()
        own = not hasattr(os, "getuid") or (
            state.st_uid == os.getuid() and not state.st_mode & 0o022
        )
        return place if own else None
    except (OSError, RuntimeError):
        return None
