"""Text as Markdown takes it: in a paragraph, in a cell of a table, as code."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_MARKS = re.compile(r"([\\`*\[\]<>#|~]|(?<!\w)_|_(?!\w))")


def text(value: str) -> str:
    """`value` as plain text: what Markdown would read as a mark is escaped."""
    return _MARKS.sub(r"\\\1", " ".join(value.split()))


def cell(value: str) -> str:
    """A sentence that may hold Markdown, on one line of a table."""
    return " ".join(value.split()).replace("|", "\\|").replace("<", "&lt;")


def code(value: str) -> str:
    """`value` between backticks, whatever it holds; a bar is escaped, for it may stand in a table."""
    ticks = max((len(run) for run in re.findall("`+", value)), default=0)
    fence = "`" * (ticks + 1)
    pad = " " if ticks else ""
    return f"{fence}{pad}{' '.join(value.split())}{pad}{fence}".replace("|", "\\|")


def listed(words: Sequence[str]) -> str:
    """`a, b and c`."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
