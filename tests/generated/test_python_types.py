"""Types of the user's own and defaults in a generated module, imported and looked at."""

from __future__ import annotations

import subprocess
import sys
import typing
from pathlib import Path

import pytest

from tests.support.generated import generate

TYPES = (
    "datetime",
    "runtime",
    "dataclasses",
    "SQL",
    "Iterable",
    "t",
    "uuid",
    "decimal",
    "_T",
    "__U",
)


def test_types_called_like_names_of_the_module_s_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "team_types.py").write_text(
        "".join(f"class {name}(str): ...\n" for name in TYPES), "utf-8"
    )
    monkeypatch.syspath_prepend(tmp_path)
    columns = "".join(
        f'c{n} = {{ type = "text", python = "team_types:{name}" }}\n'
        for n, name in enumerate(TYPES)
    )
    made = generate(
        'format = 1\n[table.jobs.columns]\nid = { role = "id", type = "bigint" }\n'
        f'locked_until = {{}}\nat = {{ type = "uuid" }}\namount = {{ type = "numeric(3,1)" }}\n{columns}',
        tmp_path / "made",
    )
    module = made.module("jobs")
    hints = typing.get_type_hints(module.Row)
    named = [hints[f"c{n}"] for n in range(len(TYPES))]
    assert [(kind.__module__, kind.__qualname__) for kind in named] == [
        ("team_types", name) for name in TYPES
    ]
    assert set(module.QUEUE.statements) == {"postgres", "mysql", "mariadb", "sqlite"}


@pytest.mark.parametrize("written", ["0", "0.0", "-3", "1e308", "1e-7"])
def test_the_default_of_a_double_is_a_float(tmp_path: Path, written: str) -> None:
    made = generate(
        'format = 1\n[table.jobs.columns]\nid = { role = "id", type = "bigint", generated = true }\n'
        f'locked_until = {{}}\nrate = {{ type = "double", default = {written} }}\n',
        tmp_path,
    )
    rate = made.module("jobs").New().rate
    assert type(rate) is float
    assert rate == float(written)
    assert "e+" not in (tmp_path / "queues" / "jobs.py").read_text("utf-8")


def test_a_module_of_types_may_use_the_queue_in_its_functions(tmp_path: Path) -> None:
    """Imported at its top, the two would import each other; the page, the module and the reference say so."""
    generate(
        'format = 1\n[table.jobs.columns]\nid = { role = "id", type = "bigint" }\nlocked_until = {}\n'
        'report = { type = "json", python = "team_reports:Report" }\n',
        tmp_path,
    )

    def imported(name: str) -> str:
        done = subprocess.run(
            [sys.executable, "-c", f"import {name}"],
            cwd=tmp_path,
            env={"PYTHONPATH": f"{tmp_path}:{Path(__file__).parents[2]}"},
            capture_output=True,
            text=True,
            check=False,
        )
        return done.stderr

    kind = "class Report(dict[str, int]): ...\n"
    types = tmp_path / "team_reports.py"
    types.write_text(
        f"def enqueue() -> None:\n    from queues import jobs\n    jobs.enqueue\n{kind}"
    )
    assert (imported("team_reports"), imported("queues.jobs")) == ("", "")
    types.write_text(f"from queues import jobs\n{kind}")
    assert "partially initialized module 'team_reports'" in imported("team_reports")
    page = (tmp_path / "docs/queues/jobs.md").read_text("utf-8")
    assert (
        "imports `team_reports`: what is imported there may not import this module at its" in page
    )
    module = (tmp_path / "queues/jobs.py").read_text("utf-8")
    assert "their modules may not import it at their top" in module


def test_a_module_without_types_says_nothing_of_them(tmp_path: Path) -> None:
    made = generate(
        'format = 1\n[table.jobs.columns]\nid = { role = "id", type = "bigint" }\nlocked_until = {}\n',
        tmp_path,
    )
    assert "\n" not in str(made.module("jobs").__doc__)
    assert "at its top" not in (tmp_path / "docs/queues/jobs.md").read_text("utf-8")
