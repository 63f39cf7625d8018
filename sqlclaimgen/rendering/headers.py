"""The two lines that begin every generated file: where it comes from, and what it was made for."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sqlclaimgen.description.model import FORMAT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlclaimgen.description import Description
    from sqlclaimgen.description.model import Table


_GENERATED = re.compile(
    rb"(?:#|--|<!--) (?:From [^\r\n]+: edit that and run `sqlclaimgen build`\."
    rb"|Copied from the runtime of sqlclaimgen by `sqlclaimgen build`: )"
)


def is_generated(content: bytes) -> bool:
    """Whether a file's content begins with the header of a generated file, of any description."""
    return _GENERATED.match(content) is not None


def origin(description: Description) -> str:
    """Where a generated file comes from and how to rebuild it, without comment marks."""
    return f"From {description.source}: edit that and run `sqlclaimgen build`."


def lines(description: Description, table: Table, dialects: Sequence[str]) -> tuple[str, str]:
    """The header of a file of `table`, without comment marks. No time, host or version: the same input
    gives the same bytes."""
    return (
        origin(description),
        f"format {FORMAT} · form {table.form.words} · {', '.join(dialects)}",
    )
