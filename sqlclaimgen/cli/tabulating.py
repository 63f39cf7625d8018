"""What `show` knows of a table, on a page for a person."""

from __future__ import annotations

import sys
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from sqlclaimgen.cli.console import coloured

_MOST = 200
"""Columns of a page that goes into a file or a pipe."""


class _Page(Console):
    """Prints words as they are: rich reads markup and emoji in a text, not in a Text."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError

    def words(self, *parts: str | tuple[str, str]) -> None:
        self.print(Text.assemble(*parts))


def table(one: dict[str, Any]) -> None:
    """Print one table."""
    console = _Page(highlight=False, soft_wrap=True, force_terminal=coloured(sys.stdout))
    if not sys.stdout.isatty():
        console.width = _MOST
    title = f"{one['schema']}.{one['name']}" if one["schema"] else one["name"]
    console.words((one["key"], "bold"), f": the table {title}")
    form = one["form"].replace("_", " ")
    console.words("  form          ", (form, "bold"), f", for {one['why']}")
    console.words(f"  databases     {', '.join(one['dialects'])}")
    for key, value in one["settings"].items():
        console.words(f"  {key:<13} {value}")
    cost = one["connections"]
    console.words(
        f"  connections   {cost['worker']} of a worker with {cost['concurrency']} handlers: {cost['why']}"
    )
    console.words(f"  claims        {', '.join(_claim(claim) for claim in one['claims'])}")
    console.print(Padding(_columns(one), (1, 0, 1, 2), expand=False))
    console.print(Padding(_indexes(one), (0, 0, 1, 2), expand=False))
    for dialect, names in one["statements"].items():
        console.words("  ", (dialect, "bold"), f" runs {', '.join(names)}")
    console.words(("  files", "bold"))
    for path in one["files"]:
        console.words(f"    {path}")
    console.print()


def _claim(claim: str) -> str:
    return {"group": "of one group", "table": "of the whole table"}[claim]


def _columns(one: dict[str, Any]) -> Table:
    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for head in ("column", "field", "role", "type", "null", "default", "python", *one["dialects"]):
        made.add_column(head, header_style="bold")
    for column in one["columns"]:
        default = "generated" if column["generated"] else column["default"]
        made.add_row(
            *map(
                _cell,
                (
                    column["name"],
                    column["field"],
                    column["role"],
                    column["type"],
                    "null" if column["null"] else None,
                    default,
                    column["python"],
                    *(column["sql"][dialect] for dialect in one["dialects"]),
                ),
            )
        )
    return made


def _indexes(one: dict[str, Any]) -> Table:
    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for head in ("index", "on", "columns", "serves"):
        made.add_column(head, header_style="bold")
    for dialect, indexes in one["indexes"].items():
        for index in indexes:
            columns = ", ".join(index["columns"])
            where = f" where {index['where']}" if index["where"] else ""
            made.add_row(*map(_cell, (index["name"], dialect, columns + where, index["serves"])))
    return made


def _cell(value: Any) -> Text:
    return Text("" if value is None else str(value))
