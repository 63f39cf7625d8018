"""One description gives the same bytes: twice, under any hash seed, under every Python."""

from __future__ import annotations

import functools
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import TABLES, root, toml

pytestmark = pytest.mark.timeout(600)

DEPENDENCIES = ("typer", "pydantic", "jinja2", "rich", "sqlglot")
ASK = "import sys, venv, ensurepip; print(sys.implementation.name, *sys.version_info[:2])"


@functools.cache
def interpreters() -> dict[str, Path]:
    """Each other CPython from 3.11 on that runs here, by its version. A name on PATH may be a stub
    of a version manager, so each is run; of pyenv the versions themselves are tried."""
    found: dict[str, Path] = {}
    names = [shutil.which(f"python3.{minor}") for minor in range(11, 16)]
    candidates = [Path(name) for name in names if name]
    if pyenv := shutil.which("pyenv"):
        place = subprocess.run([pyenv, "root"], capture_output=True, text=True, check=False).stdout
        candidates += sorted(Path(place.strip()).glob("versions/*/bin/python"))
    for path in candidates:
        done = subprocess.run([path, "-c", ASK], capture_output=True, text=True, check=False)
        name, *version = done.stdout.split() or [""]
        if name == "cpython" and (3, 11) <= tuple(map(int, version)) != sys.version_info[:2]:
            found.setdefault(".".join(version), path)
    return found


def built(python: Path, folder: Path, seed: int) -> dict[str, str]:
    """The hashes of what a build writes."""
    folder.mkdir()
    (folder / "tables.toml").write_text(toml(TABLES), encoding="utf-8")
    done = subprocess.run(
        [python, "-m", "sqlclaimgen", "build", "tables.toml"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(root()), "PYTHONHASHSEED": str(seed)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return built(Path(sys.executable), tmp_path_factory.mktemp("first") / "here", 0)


@pytest.mark.parametrize("seed", [1, 2])
def test_under_another_hash_seed(first: dict[str, str], tmp_path: Path, seed: int) -> None:
    assert built(Path(sys.executable), tmp_path / "there", seed) == first


def test_nothing_says_where_or_when(first: dict[str, str], tmp_path: Path) -> None:
    built(Path(sys.executable), tmp_path / "there", 3)
    for path in (tmp_path / "there").rglob("*"):
        if path.is_file() and path.name != "tables.toml":
            content = path.read_text(encoding="utf-8")
            assert str(tmp_path) not in content and Path.home().as_posix() not in content
            assert b"\r" not in path.read_bytes() and content.endswith("\n")


@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13", "3.14", "3.15"])
def test_under_another_python(tmp_path: Path, version: str) -> None:
    python = interpreters().get(version)
    if python is None:
        pytest.skip(f"no other CPython {version} runs here")
    subprocess.run([python, "-m", "venv", tmp_path / "venv"], check=True)
    own = tmp_path / "venv" / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    installed = subprocess.run(
        [own, "-m", "pip", "install", "--quiet", *DEPENDENCIES],
        capture_output=True,
        text=True,
        check=False,
    )
    assert installed.returncode == 0, installed.stderr
    assert built(own, tmp_path / "there", 4) == built(Path(sys.executable), tmp_path / "here", 5)
