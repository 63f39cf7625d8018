"""`tables.toml` to resolved tables: `load(path)` gives a `Description` or every mistake at once.

The package is cheap to import: pydantic is loaded by `load`, sqlglot by a table that has `where`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlclaimgen.description.diagnostics import DescriptionInvalid, Diagnostic
from sqlclaimgen.description.model import Description

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Description", "DescriptionInvalid", "Diagnostic", "load", "parse"]


def load(path: Path) -> Description:
    """The description in the file `path`. Raises `DescriptionInvalid` with every mistake in it."""
    from sqlclaimgen.description import loading

    return loading.load(path)


def parse(content: bytes, path: Path) -> Description:
    """The description in `content`, reported as the file `path`, which is not read. Raises
    `DescriptionInvalid` with every mistake in it."""
    from sqlclaimgen.description import loading

    return loading.parse(content, path)
