"""Generated modules under the checkers and the formatter, without a comment that silences any."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.generated import Generated

from .conftest import TABLES, root

pytestmark = pytest.mark.timeout(600)


def tool(folder: Path, *command: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", *map(str, command)],
        cwd=folder,
        env={**os.environ, "MYPYPATH": str(root()), "PYTHONPATH": str(root())},
        capture_output=True,
        text=True,
        check=False,
    )


def mypy(folder: Path, *paths: str) -> str:
    options = ("--strict", "--follow-imports=silent", "--config-file=", "--no-error-summary")
    return tool(folder, "mypy", *options, *paths).stdout


def pyright(folder: Path, *paths: str) -> list[tuple[str, int, str]]:
    """The errors: file, line (from 1), text."""
    settings = {"typeCheckingMode": "strict", "extraPaths": [str(root())], "include": list(paths)}
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    done = tool(folder, "pyright", "--outputjson", "--pythonpath", sys.executable)
    found = json.loads(done.stdout)["generalDiagnostics"]
    return [
        (Path(one["file"]).name, one["range"]["start"]["line"] + 1, one["message"]) for one in found
    ]


def test_every_module_is_there_and_runs(everything: Generated) -> None:
    sys.path.insert(0, str(everything.folder))
    try:
        for key in TABLES:
            assert everything.module(key).QUEUE.format == 1
    finally:
        sys.path.remove(str(everything.folder))


def test_mypy_strict(everything: Generated) -> None:
    assert mypy(everything.folder, "queues") == ""


def test_pyright_strict(everything: Generated) -> None:
    assert pyright(everything.folder, "queues") == []


@pytest.mark.parametrize(
    "select", [(), ("--select", "E,F,W,I,B,UP,C4,SIM,RET,PIE,PTH,N,A,D,ANN,S,FURB")]
)
def test_ruff_check(everything: Generated, select: tuple[str, ...]) -> None:
    # Long names of the user's make long lines; the SQL is indented as the .sql file has it.
    # S608 suspects SQL that is put together: here it is whole.
    ignored = ("--ignore", "E501,W291,D105,D107,D203,D212,D213,S608") if select else ()
    done = tool(everything.folder, "ruff", "check", "--isolated", *select, *ignored, "queues")
    assert done.returncode == 0, done.stdout


def test_ruff_format(everything: Generated) -> None:
    done = tool(everything.folder, "ruff", "format", "--diff", "--isolated", "queues")
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    "mark", ["# type:", "# pyright:", "noqa", "fmt:", "# pragma", "ruff:", "mypy:"]
)
def test_nothing_is_silenced(everything: Generated, mark: str) -> None:
    for path in (everything.folder / "queues").glob("*.py"):
        assert mark not in path.read_text(encoding="utf-8")


def test_only_the_runtime_and_the_teams_own_types_are_imported(everything: Generated) -> None:
    for path in (everything.folder / "queues").glob("*.py"):
        text = path.read_text(encoding="utf-8")
        for name in re.findall(r"^(?:from|import) ([\w]+)", text, re.MULTILINE):
            assert name in sys.stdlib_module_names | {"sqlclaimgen", "app"}
