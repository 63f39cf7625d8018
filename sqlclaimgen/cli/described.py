"""The description that a command was given."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sqlclaimgen.cli import console

if TYPE_CHECKING:
    from sqlclaimgen.description import Description
    from sqlclaimgen.description.model import Table
    from sqlclaimgen.dialects import Dialect

DEFAULT = "tables.toml"


def read(path: Path, warnings: console.ErrorFormat | None = None) -> Description:
    """The description in the file `path`, or in tables.toml of the folder `path`. Its warnings are
    reported where `warnings` says how: by the commands that are about the description, not by those that
    use it. Raises DescriptionInvalid."""
    from sqlclaimgen.description import load

    description = load(path / DEFAULT if path.is_dir() else path)
    if description.warnings and warnings is not None:
        console.report(description.warnings, warnings)
    return description


def table(description: Description, key: str) -> Table:
    """The table `key`, which may also be its name in the database. Ends the run when there is none."""
    found = (one for one in description.tables if key in (one.key, one.name, one.title))
    table = next(found, None)
    if table is None:
        keys = ", ".join(one.key for one in description.tables)
        console.fail(f"{description.source} has no table `{key}`", f"Its tables are {keys}.")
    return table


def dialect(table: Table, name: str | None) -> Dialect:
    """The table's dialect `name`, which may be left out where it has one. Ends the run when it is
    none of the table's."""
    from sqlclaimgen.dialects import DIALECTS

    names = ", ".join(table.dialects)
    if name is None and len(table.dialects) > 1:
        console.fail(f"{table.key} is for several databases", f"Add --dialect, one of {names}.")
    wanted = name or next(iter(table.dialects))
    if wanted not in table.dialects:
        console.fail(f"{table.key} is not for `{name}`", f"Add --dialect, one of {names}.")
    return DIALECTS[wanted]
