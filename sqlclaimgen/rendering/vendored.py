"""The runtime copied beside the modules, for programs that install nothing."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath

from sqlclaimgen import runtime
from sqlclaimgen.description.rules.outputs import VENDORED

PACKAGE = VENDORED
"""The copy's package, inside the modules' own."""

_IMPORT = re.compile(
    r"^(?P<indent> *)from sqlclaimgen\.runtime(?P<rest>[.\w]*) import ", re.MULTILINE
)


def files(folder: PurePosixPath) -> dict[PurePosixPath, str]:
    """Every module of the runtime, by its path under `folder`, with its imports made relative."""
    root = Path(runtime.__file__).parent
    copied: dict[PurePosixPath, str] = {}
    for path in sorted(root.rglob("*.py")):
        relative = PurePosixPath(path.relative_to(root).as_posix())
        text = path.read_text(encoding="utf-8")
        copied[folder / PACKAGE / relative] = (
            "# Copied from the runtime of sqlclaimgen by `sqlclaimgen build`: edit nothing here.\n"
            f"{relative_imports(text, depth=len(relative.parts))}"
        )
    return copied


def relative_imports(text: str, *, depth: int) -> str:
    """A module's text with its imports of the runtime written from where it stands. `depth`: 1 for a
    module in the package's own folder."""

    def one(match: re.Match[str]) -> str:
        return f"{match['indent']}from {'.' * depth}{match['rest'].lstrip('.')} import "

    return _IMPORT.sub(one, text)
