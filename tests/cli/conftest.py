"""Running commands in this process, and a project to run them in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sqlclaimgen.cli.app import app

TABLES = """\
format = 1

[table.jobs]
dialects = ["postgres", "sqlite"]
lease = "60s"
max_attempts = 5
dead_letter = { table = "jobs_dead" }
retry = { backoff = "exponential" }

[table.jobs.columns]
id           = { role = "id", type = "bigint", generated = true }
queue        = { role = "group", type = "text" }
retry_after  = { role = "retry_after" }
attempt      = { role = "attempt" }
locked_until = { role = "locked_until" }
payload      = { role = "payload", type = "json", python = "app.models:Job" }

[table.payouts]
schema = "app"
dialects = ["postgres"]

[table.payouts.columns]
id     = { role = "id", type = "uuid" }
amount = { type = "numeric(10,2)" }
"""


@dataclass(frozen=True)
class Done:
    """What a command left behind."""

    code: int
    out: str
    err: str


Run = Callable[..., Done]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a command with these arguments, as a terminal of 200 columns without colours."""
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "200")

    def command(*arguments: str | Path) -> Done:
        result = CliRunner().invoke(app, [str(one) for one in arguments], prog_name="sqlclaimgen")
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return Done(result.exit_code, result.stdout, result.stderr)

    return command


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a description of two tables; it is the current one."""
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "tables.toml").write_text(TABLES)
    monkeypatch.chdir(tmp_path)
    return tmp_path
