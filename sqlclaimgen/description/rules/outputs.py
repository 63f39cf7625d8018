"""Outputs: folders of the generated files, relative to the description."""

from __future__ import annotations

import keyword
import sys
from typing import TYPE_CHECKING

from sqlclaimgen.description.model import Output

if TYPE_CHECKING:
    from sqlclaimgen.description.findings import Findings
    from sqlclaimgen.description.shape import OutputShape


def resolve(shape: OutputShape, findings: Findings) -> Output:
    """The folders, checked."""
    for key in ("sql", "python", "docs"):
        _check_folder(key, getattr(shape, key), findings)
    package = shape.python.rstrip("/").rpartition("/")[2]
    if package.isidentifier() and package in sys.stdlib_module_names | {"sqlclaimgen"}:
        findings.error(
            "OUTPUT-SHADOWS",
            f"a package `{package}` would hide Python's own `{package}`"
            if package != "sqlclaimgen"
            else "a package `sqlclaimgen` would hide the generator and its runtime",
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
    else:
        return
    findings.error("OUTPUT", f"`output.{key}` {what}", hint, ("output", key))
