"""The README runs as it is printed, and the documents link to what exists."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])


@dataclass(frozen=True)
class Block:
    language: str
    text: str


def blocks(document: Path) -> list[Block]:
    found = re.findall(r"^```(\w*)\n(.*?)^```$", document.read_text("utf-8"), re.M | re.S)
    return [Block(language, text) for language, text in found]


def run(command: str, folder: Path) -> str:
    done = subprocess.run(
        command,
        shell=True,
        cwd=folder,
        env={
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
        },
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


def test_what_the_readme_prints_runs(tmp_path: Path) -> None:
    """Python blocks are files, named in their first line; what a sh block prints is in the text block
    behind it."""
    printed = ""
    for block in blocks(ROOT / "README.md"):
        match block.language:
            case "python":
                name = block.text.splitlines()[0].removeprefix("# ")
                assert name.endswith(".py"), block.text
                (tmp_path / name).write_text(block.text)
            case "sh":
                printed = "".join(run(line, tmp_path) for line in block.text.splitlines())
            case "text":
                assert printed == block.text
            case "sql":
                generated = (tmp_path / "sql" / "sqlite" / "jobs.sql").read_text()
                assert block.text in generated
            case _:
                assert block.language in ("console", "gitattributes"), block.language


def test_what_the_readme_prints_is_typed(tmp_path: Path) -> None:
    for block in blocks(ROOT / "README.md"):
        if block.language == "python":
            (tmp_path / block.text.splitlines()[0].removeprefix("# ")).write_text(block.text)
    run("sqlclaimgen init --dialect sqlite --dialect postgres", tmp_path)
    run("sqlclaimgen build", tmp_path)
    run(f"MYPYPATH={ROOT} mypy --strict *.py", tmp_path)
    run("ruff check --isolated . && ruff format --isolated --check queues", tmp_path)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(document: Path) -> None:
    text = document.read_text("utf-8")
    for target in re.findall(r"\]\(([^)#\s]+)", text):
        if not target.startswith(("http://", "https://")):
            assert (document.parent / target).exists(), target


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_says_nothing_of_this_machine(document: Path) -> None:
    text = document.read_text("utf-8")
    assert str(ROOT) not in text
    assert "\r" not in text
    assert not re.search(r"(?<![\w/.])/(root|work|tmp|home)/", text)


def test_the_gitattributes_cover_what_is_generated(tmp_path: Path) -> None:
    (advice,) = (b.text for b in blocks(ROOT / "README.md") if b.language == "gitattributes")
    run("git init -q . && sqlclaimgen init && sqlclaimgen build", tmp_path)
    (tmp_path / ".gitattributes").write_text(advice)
    files = [
        path.relative_to(tmp_path).as_posix()
        for path in tmp_path.rglob("*")
        if path.is_file() and ".git" not in path.parts and path.name not in _WRITTEN_BY_HAND
    ]
    assert files
    for file in files:
        assert "eol: lf" in run(f"git check-attr eol -- {file}", tmp_path), file


_WRITTEN_BY_HAND = {"tables.toml", ".gitattributes"}
