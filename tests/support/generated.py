"""From the text of a description to an imported module and a table on a server."""

from __future__ import annotations

import dataclasses
import importlib.util
import itertools
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlclaimgen.description import Description, parse
from sqlclaimgen.dialects import DIALECTS
from sqlclaimgen.rendering import render
from sqlclaimgen.statements import Plan, plan

if TYPE_CHECKING:
    from tests.servers.base import Database

_count = itertools.count(1)

Edit = Callable[[str], str]
"""What a broken twin does to the text of a statement."""


@dataclass(frozen=True)
class Generated:
    """A description's output, written to a folder."""

    description: Description
    folder: Path

    def module(self, key: str) -> Any:
        """A fresh copy of the module of the table `key`, imported under a name of its own."""
        path = self.folder / self.description.output.python / f"{key}.py"
        name = f"generated_{next(_count)}_{key}"
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
        return module

    def plan(self, key: str, dialect: str) -> Plan:
        """The plan of a table on a database."""
        table = next(table for table in self.description.tables if table.key == key)
        return plan(table, DIALECTS[dialect])

    def install(self, database: Database, key: str) -> None:
        """Run the emitted DDL of the table `key` on `database`."""
        path = self.folder / self.description.output.sql / database.dialect / f"{key}.ddl.sql"
        database.execute_script(path.read_text(encoding="utf-8"))

    def twin(self, key: str, dialect: str, edits: Mapping[str, Edit]) -> Any:
        """A copy of a module whose statements were broken on purpose. Fails when an edit changes
        nothing: a twin that is not broken proves nothing."""
        module = self.module(key)
        queue = module.QUEUE
        texts = dict(queue.statements[dialect])
        for name, edit in edits.items():
            changed = edit(texts[name])
            assert changed != texts[name], f"the edit of {name} changed nothing"
            texts[name] = changed
        statements = {**queue.statements, dialect: texts}
        module.QUEUE = dataclasses.replace(queue, statements=statements)
        return module


def generate(toml: str, folder: Path) -> Generated:
    """Generate everything for the description `toml` into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "tables.toml"
    path.write_text(toml, encoding="utf-8")
    description = parse(path.read_bytes(), path)
    for relative, text in render(description).items():
        target = folder / relative
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    return Generated(description, folder)
