"""`sql`: one statement with literals, to paste into psql, mysql or sqlite3."""

from __future__ import annotations

import itertools
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from sqlclaimgen.cli import console, described
from sqlclaimgen.cli.console import FINE, WRONG, err, hint
from sqlclaimgen.rendering.pasting import Unpasteable, pasted
from sqlclaimgen.statements import plan

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def sql(path: Path, key: str, name: str, values: Sequence[str], dialect: str | None) -> int:
    """Print the statement `name` of the table `key`. Returns the exit code."""
    table = described.table(described.read(path), key)
    made = plan(table, described.dialect(table, dialect))
    statement = next((one for one in made.statements if one.name == name), None)
    if statement is None:
        names = ", ".join(one.name for one in made.statements)
        console.fail(f"{table.key} has no statement `{name}`", f"On {made.dialect.title}: {names}.")
    given: dict[str, str] = {}
    for value in values:
        parameter, equals, text = value.partition("=")
        if not equals:
            console.fail(f"`{value}` is no value", "Write --set name=value.")
        given[parameter] = text
    try:
        printed = pasted(made, statement, given, datetime.now(UTC))
    except Unpasteable as error:
        for way_out, problems in itertools.groupby(error.problems, key=lambda one: one.hint):
            for problem in problems:
                err(f"{console.styled('error', 'red', sys.stderr)}: {problem.what}")
            hint(way_out)
        return WRONG
    console.exact()
    console.out(printed)
    return FINE
