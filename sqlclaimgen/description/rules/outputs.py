"""Outputs: folders of the generated files, relative to the description."""

from __future__ import annotations

import keyword
import sys
from typing import TYPE_CHECKING

from sqlclaimgen.description.model import Output
from sqlclaimgen.description.rules.keys import DEVICES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlclaimgen.description.findings import Findings
    from sqlclaimgen.description.shape import OutputShape, TableShape

VENDORED = "claim_runtime"
"""The package of the runtime's copy, inside the modules' own."""

_REFUSED = frozenset('<>:"|?*')
"""Characters that Windows takes in no name."""

_IMPORTED = frozenset({"sqlclaimgen", "psycopg", "pymysql"})


def resolve(shape: OutputShape, findings: Findings) -> Output:
    """The folders, checked."""
    for key in ("sql", "python", "docs"):
        _check_folder(key, getattr(shape, key), findings)
    folders = [part for part in shape.python.split("/") if part not in ("", ".")]
    package = shape.python.rstrip("/").rpartition("/")[2]
    if "sqlclaimgen" in folders:
        package = "sqlclaimgen"
    if package.isidentifier() and package in sys.stdlib_module_names | {"sqlclaimgen"}:
        findings.error(
            "OUTPUT-SHADOWS",
            f"a package `{package}` would hide Python's own `{package}`"
            if package != "sqlclaimgen"
            else "a package `sqlclaimgen` would hide the generator and its runtime, or be hidden by them",
            'Name the folder otherwise: python = "queues".',
            ("output", "python"),
        )
    elif package not in (".", "..", "") and (
        not package.isidentifier() or keyword.iskeyword(package)
    ):
        findings.error(
            "OUTPUT",
            f'`output.python` ends in "{package}", which Python cannot import',
            "Use letters, digits and underscores for the last folder.",
            ("output", "python"),
        )
    return Output(shape.sql, shape.python, shape.docs, shape.runtime)


def check_modules(
    output: OutputShape, tables: Mapping[str, TableShape], findings: Findings
) -> None:
    """Refuse modules that would hide others, and types that are looked for in a generated module."""
    folders = [part for part in output.python.split("/") if part not in ("", ".")]
    top = not folders or folders[-1] == ".."
    for key, table in tables.items():
        if output.runtime == "vendored" and key == VENDORED:
            findings.error(
                "OUTPUT-SHADOWS",
                f"the copy of the runtime is the package `{key}`, and would hide this table's module",
                f'Write [table.{key}_jobs] and name = "{key}", or leave `output.runtime` out.',
                ("table", key),
            )
        elif top and key in sys.stdlib_module_names | _IMPORTED:
            findings.error(
                "OUTPUT-SHADOWS",
                f"a module `{key}` beside this file would hide Python's or a driver's own `{key}`",
                'Name a folder for the modules: python = "queues".',
                ("table", key),
            )
        for name, column in table.columns.items():
            module = (column.python or "").partition(":")[0].split(".")
            if module[-1] in tables and _ends(folders, module[:-1]):
                findings.error(
                    "PYTHON-TYPE",
                    f"`python` of column `{name}` names a type in the generated module "
                    f"`{'.'.join(module)}`",
                    "Name a type of a module of your own: a generated one is written anew.",
                    ("table", key, "columns", name, "python"),
                )


def _ends(folders: list[str], package: list[str]) -> bool:
    """Whether `package` is how the modules in these folders may be imported."""
    if not package:
        return not folders
    return folders[-len(package) :] == package


def _not_on_windows(part: str) -> bool:
    """Whether Windows keeps the name for a device, with any ending, or cuts or refuses it."""
    if part in ("", ".", ".."):
        return False
    device = part.partition(".")[0].rstrip(" ").lower() in DEVICES
    return device or part[-1] in ". " or not _REFUSED.isdisjoint(part)


def _check_folder(key: str, folder: str, findings: Findings) -> None:
    if not folder.strip():
        what, hint = "is empty", 'Write a folder, "." for the one of this file.'
    elif "\\" in folder or "\0" in folder or any(not c.isprintable() for c in folder):
        what, hint = (
            f"is {folder!a}, a path of one system only",
            "Write folders with `/`, on every system.",
        )
    elif folder.startswith(("/", "~")) or folder[1:2] == ":":
        what = f'is "{folder}", which is another place on every machine'
        hint = "Write it relative to this file."
    elif (part := next(filter(_not_on_windows, folder.split("/")), None)) is not None:
        what = f'is "{folder}", and "{part}" cannot be a folder on Windows'
        hint = "Use letters, digits, hyphens and underscores."
    else:
        return
    findings.error("OUTPUT", f"`output.{key}` {what}", hint, ("output", key))
