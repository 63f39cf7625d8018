"""The two lines that begin every generated file: where it comes from, and what it was made for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlclaimgen.description.model import FORMAT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlclaimgen.description import Description
    from sqlclaimgen.description.model import Table


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
