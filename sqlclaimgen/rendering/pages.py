"""`<table>.md`: a page about the table for whoever has to run it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlclaimgen.rendering import headers
from sqlclaimgen.templating import environment

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlclaimgen.description import Description
    from sqlclaimgen.description.model import Table
    from sqlclaimgen.statements import Plan


def render(description: Description, table: Table, plans: Sequence[Plan]) -> str:
    """The page's text."""
    return (
        environment("docs")
        .get_template("table.md.j2")
        .render(
            header=headers.lines(description, table, [plan.dialect.name for plan in plans]),
            table=table,
            plans=plans,
        )
    )
