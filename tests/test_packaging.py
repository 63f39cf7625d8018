"""The wheel: everything it needs is in it, and its runtime stands alone."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
GENERATOR = ("jinja2", "sqlglot", "typer", "rich", "pydantic")
DRIVERS = ("psycopg", "pymysql")

USE = """
import sqlite3, sys
from queues import jobs
from sqlclaimgen.runtime import transaction

connection = sqlite3.connect(":memory:", isolation_level=None)
connection.executescript(open("sql/sqlite/jobs.ddl.sql", encoding="utf-8").read())
jobs.enqueue(connection, jobs.New(payload={"n": 1}))
with jobs.claim(connection) as deliveries:
    for delivery in deliveries:
        with transaction(connection):
            delivery.ack(connection)
        print(delivery.row.payload, delivery.attempt)
print(*sorted({name.partition(".")[0] for name in sys.modules}))
"""

pytestmark = pytest.mark.timeout(600)


def environment() -> dict[str, str]:
    """That of a shell in which nothing of this checkout can be imported."""
    hidden = ("PYTHONPATH", "VIRTUAL_ENV", "PYTHONHOME")
    return {name: value for name, value in os.environ.items() if name not in hidden}


def called(*command: str | Path, cwd: Path) -> str:
    done = subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel made from an sdist made from the tree."""
    place = tmp_path_factory.mktemp("dist")
    called(sys.executable, "-m", "build", "--no-isolation", "--outdir", place, ROOT, cwd=place)
    (made,) = place.glob("*.whl")
    return made


def empty(place: Path) -> Path:
    """The folder of programs of a new environment."""
    venv.create(place, with_pip=True)
    return place / ("Scripts" if sys.platform == "win32" else "bin")


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel and what it depends on."""
    place = tmp_path_factory.mktemp("whole")
    programs = empty(place / "venv")
    called(programs / "python", "-m", "pip", "install", "--quiet", wheel, cwd=place)
    return programs


@pytest.fixture(scope="module")
def project(installed: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the installed generator writes in a folder of its own."""
    place = tmp_path_factory.mktemp("project")
    called(installed / "sqlclaimgen", "init", "--dialect", "sqlite", cwd=place)
    called(installed / "sqlclaimgen", "build", cwd=place)
    return place


def test_the_wheel_has_the_data_and_no_tests(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    for path in (*(ROOT / "templates").rglob("*"), *(ROOT / "schemas").rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            assert f"sqlclaimgen/{path.relative_to(ROOT).as_posix()}" in names
    assert "sqlclaimgen/py.typed" in names
    tops = {name.partition("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"sqlclaimgen"}


def test_an_installed_generator_works_from_another_folder(
    installed: Path, project: Path, tmp_path: Path
) -> None:
    current = called(installed / "sqlclaimgen", "build", "--check", project, cwd=tmp_path)
    assert current.endswith("files are current\n")
    assert "format" in called(installed / "sqlclaimgen", "schema", cwd=tmp_path)
    assert "lease" in called(installed / "sqlclaimgen", "show", project, cwd=tmp_path)
    told = called(installed / "sqlclaimgen", "demo", cwd=tmp_path)
    assert "1 of them was begun twice" in told


def test_the_runtime_works_alone(wheel: Path, project: Path, tmp_path: Path) -> None:
    programs = empty(tmp_path / "venv")
    install = ("-m", "pip", "install", "--quiet", "--no-deps", wheel)
    called(programs / "python", *install, cwd=tmp_path)
    *_, used, loaded = called(programs / "python", "-c", USE, cwd=project).splitlines()
    assert used == "{'n': 1} 1"
    assert not set(loaded.split()) & {*GENERATOR, "psycopg", "pymysql"}
    for name in GENERATOR:
        missing = f"import importlib.util as u; assert u.find_spec({name!r}) is None"
        called(programs / "python", "-c", missing, cwd=tmp_path)


def test_importing_the_runtime_loads_no_library() -> None:
    code = (
        "import sys, sqlclaimgen.runtime as runtime\n"
        "for name in dir(runtime):\n    getattr(runtime, name)\n"
        "print(*sorted({name.partition('.')[0] for name in sys.modules}))\n"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    found = set(loaded.stdout.split())
    assert not found & {*GENERATOR, *DRIVERS}
    site = {name for name in found if name not in sys.stdlib_module_names}
    assert {name for name in site if not name.startswith(("_", "sitecustomize"))} == {"sqlclaimgen"}


def test_every_name_of_the_runtime_is_imported_from_where_checkers_look() -> None:
    import ast

    from sqlclaimgen import runtime

    tree = ast.parse(Path(runtime.__file__).read_text(encoding="utf-8"))
    seen = {
        alias.asname: str(node.module).removeprefix("sqlclaimgen.runtime.")
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("sqlclaimgen.runtime.")
        for alias in node.names
    }
    assert seen == vars(runtime)["_MODULES"]
