"""Plans and templates to `{path: text}`: pure, the same bytes for the same input."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from sqlclaimgen.dialects import DIALECTS
from sqlclaimgen.rendering import pages, python_module, sql_files, vendored
from sqlclaimgen.statements import Plan, plan

if TYPE_CHECKING:
    from sqlclaimgen.description import Description
    from sqlclaimgen.description.model import Table

__all__ = ["plans", "render", "table_files"]


def plans(table: Table) -> tuple[Plan, ...]:
    """The table's plan on each of its databases, in the order in which output lists them."""
    return tuple(
        plan(table, dialect) for name, dialect in DIALECTS.items() if name in table.dialects
    )


def table_files(description: Description, table: Table) -> dict[PurePosixPath, str]:
    """The files of one table, by their paths relative to the description's folder."""
    output = description.output
    files: dict[PurePosixPath, str] = {}
    made = plans(table)
    for one in made:
        folder = PurePosixPath(output.sql) / one.dialect.name
        files[folder / f"{table.key}.ddl.sql"] = sql_files.ddl(description, one)
        files[folder / f"{table.key}.sql"] = sql_files.statements(description, one)
    python = PurePosixPath(output.python) / f"{table.key}.py"
    files[python] = python_module.render(description, table, made)
    files[PurePosixPath(output.docs) / f"{table.key}.md"] = pages.render(description, table, made)
    return files


def render(description: Description) -> dict[PurePosixPath, str]:
    """Every file of a description, by its path relative to the description's folder."""
    output = description.output
    files: dict[PurePosixPath, str] = {}
    for table in description.tables:
        files |= table_files(description, table)
    if output.runtime == "vendored":
        files |= vendored.files(PurePosixPath(output.python))
    files.setdefault(
        PurePosixPath(output.python) / "__init__.py", python_module.package(description)
    )
    return files
