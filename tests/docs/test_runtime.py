"""docs/runtime.md runs as it is printed: on SQLite, and on the real server where it says PostgreSQL."""

from __future__ import annotations

import dataclasses
import inspect
import logging
import os
import re
import shlex
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from sqlclaimgen import runtime
from sqlclaimgen.runtime.worker.events import LEVELS, EventKind
from sqlclaimgen.runtime.worker.faces import AsyncWorker, Worker
from sqlclaimgen.runtime.worker.settings import Options, Settings
from tests.servers import PostgresDatabase
from tests.support.generated import Generated, generate

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "runtime.md").read_text("utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", TEXT, re.M | re.S)
PROGRAMS = {
    text.partition("\n")[0].removeprefix("# "): text for kind, text in BLOCKS if kind == "python"
}


[DESCRIPTION] = [text for kind, text in BLOCKS if kind == "toml"]
[SETUP] = [text for kind, text in BLOCKS if kind == "sh"]


@pytest.fixture
def made(tmp_path: Path) -> Generated:
    """The page's table, generated, and its programs beside it."""
    generated = generate(DESCRIPTION, tmp_path)
    for name, text in PROGRAMS.items():
        (tmp_path / name).write_text(text, "utf-8")
    return generated


@pytest.fixture
def app(made: Generated) -> Iterator[sqlite3.Connection]:
    """The SQLite file that the programs open, as the page makes it."""
    _run(made, "create.py")
    connection = sqlite3.connect(made.folder / "app.db", isolation_level=None, timeout=30)
    yield connection
    connection.close()


def _environment(**more: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), **more}


def _run(made: Generated, *command: str, **more: str) -> str:
    done = subprocess.run(
        [sys.executable, *command],
        cwd=made.folder,
        env=_environment(**more),
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@contextmanager
def _service(made: Generated, name: str, more: Mapping[str, str]) -> Iterator[Any]:
    """A program that runs until it is told to stop, and then ends in order."""
    with subprocess.Popen(
        [sys.executable, name],
        cwd=made.folder,
        env=_environment(**more),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        try:
            yield process
            process.send_signal(signal.SIGTERM)
            rest, _ = process.communicate(timeout=60)
            assert process.returncode == 0, rest
        finally:
            process.kill()


def _sent(process: Any) -> str:
    """The next mail that a service says it sent."""
    for line in process.stdout:
        if found := re.search("sent to (.+)", line):
            return found[1]
    raise AssertionError("it has ended")


def _rows(connection: sqlite3.Connection, table: str) -> int:
    return int(connection.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0])


def test_every_program_is_run_here() -> None:
    assert set(PROGRAMS) == {
        "create.py",
        "threads.py",
        "threads_postgres.py",
        "loop_postgres.py",
        "by_hand_postgres.py",
        "nightly.py",
        "transactional.py",
        "events.py",
        "test_mails.py",
        "test_send.py",
    }


def test_the_page_needs_nothing_but_itself(tmp_path: Path) -> None:
    """What it prints, in a folder of its own: the description, its commands, then a program."""
    (tmp_path / "tables.toml").write_text(DESCRIPTION, "utf-8")
    for name, text in PROGRAMS.items():
        (tmp_path / name).write_text(text, "utf-8")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for line in (*SETUP.splitlines(), "python transactional.py"):
        done = subprocess.run(
            shlex.split(line),
            cwd=tmp_path,
            env=_environment(PATH=path),
            capture_output=True,
            text=True,
            timeout=90,
            check=False,
        )
        assert done.returncode == 0, line + done.stdout + done.stderr
    connection = sqlite3.connect(tmp_path / "app.db")
    assert (_rows(connection, "sent"), _rows(connection, "mails")) == (2, 0)
    connection.close()


def test_threads(made: Generated, app: sqlite3.Connection) -> None:
    with _service(made, "threads.py", {}) as process:
        assert {_sent(process), _sent(process)} == {"a@example.org", "b@example.org"}
    assert (_rows(app, "mails"), _rows(app, "mails_dead")) == (0, 1)


@pytest.mark.parametrize("program", ["threads_postgres.py", "loop_postgres.py"])
def test_on_postgres(made: Generated, postgres_database: PostgresDatabase, program: str) -> None:
    database = postgres_database
    (line,) = [text for kind, text in BLOCKS if kind == "console"]
    (file,) = re.findall(r"-f (\S+)$", line.strip())
    database.load_with_client(made.folder / file)
    mails = made.module("mails")
    connection = database.connect(autocommit=True)
    with _service(made, program, {"DATABASE_URL": database.dsn}) as process:
        for name in ("a@example.org", "b@example.org"):
            mails.enqueue(connection, mails.New(recipient=name, payload={}))
            assert _sent(process) == name
    assert database.value("SELECT COUNT(*) FROM mails") == 0
    connection.close()
    database.wait_until_idle()


def test_by_hand_on_postgres(made: Generated, postgres_database: PostgresDatabase) -> None:
    database = postgres_database
    database.load_with_client(made.folder / "sql/postgres/mails.ddl.sql")
    said = _run(made, "by_hand_postgres.py", DATABASE_URL=database.dsn)
    assert said == "sent to a@example.org\n"
    assert database.value("SELECT COUNT(*) FROM mails") == 0
    assert database.execute("SELECT * FROM orders") == [("a@example.org", True)]


def test_cron(made: Generated, app: sqlite3.Connection) -> None:
    said = _run(made, "nightly.py")
    assert sorted(re.findall("sent to (.+)", said)) == ["a@example.org", "b@example.org", "nobody"]
    assert _rows(app, "mails") == 0
    assert "sent to" not in _run(made, "nightly.py")


def test_transactional(made: Generated, app: sqlite3.Connection) -> None:
    _run(made, "transactional.py")
    sent = app.execute("SELECT recipient FROM sent ORDER BY 1").fetchall()
    assert sent == [("a@example.org",), ("b@example.org",)]
    assert (_rows(app, "mails"), _rows(app, "mails_dead")) == (0, 1)


def test_events(made: Generated, app: sqlite3.Connection) -> None:
    assert "Counter({'Ack': 3})\n" in _run(made, "events.py")


def test_the_help_for_tests(made: Generated) -> None:
    assert "1 passed" in _run(made, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_mails.py")
    assert "1 passed" in _run(made, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_send.py")


def test_the_programs_are_typed(made: Generated) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", *PROGRAMS],
        cwd=made.folder,
        env=_environment(MYPYPATH=str(ROOT)),
        capture_output=True,
        text=True,
        timeout=170,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_setting_is_in_the_table() -> None:
    section = TEXT.partition("## Settings")[2].partition("\n## ")[0]
    listed = set(re.findall(r"^\| `(\w+)`", section, re.M))
    for face in (Worker, AsyncWorker):
        given = set(inspect.signature(face.__init__).parameters) - {"self", "queue", "handler"}
        assert given == {"connect", "options"}
    defaults: dict[str, Any] = {f.name: f.default for f in dataclasses.fields(Settings)}
    assert listed == {"connect", *Options.__annotations__} == {"connect", *defaults}
    for name, unless in re.findall(r"^\| `(\w+)` \| `?\"?([\w.]+)\"?`? \|", section, re.M):
        if unless in ("required", "none"):
            continue
        default = defaults[name]
        assert str(default) == unless or float(default) == float(unless), name


def test_every_event_and_every_error_is_told() -> None:
    events = TEXT.partition("## Events")[2]
    assert {kind.value for kind in EventKind} <= set(re.findall(r"`(\w+)`", events))
    errors = TEXT.partition("## Errors")[2].partition("\n## ")[0]
    told = set(re.findall(r"`(\w+)`", errors))
    raised = {
        name
        for name in dir(runtime)
        if isinstance(found := getattr(runtime, name), type)
        and issubclass(found, runtime.ClaimError)
        and found is not runtime.ClaimError
    }
    assert raised <= told


def test_the_levels_of_events_are_told() -> None:
    said = " ".join(TEXT.partition("## Events")[2].partition("\n## ")[0].split())
    said = said.partition("`claim_attempt` and so on: ")[2].partition(" the rest as DEBUG")[0]
    told: dict[str, str] = {}
    for part in said.split(";"):
        names, _, level = part.partition(" as ")
        told |= dict.fromkeys(re.findall(r"`(\w+)`", names), level)
    given = {kind.value: logging.getLevelName(level) for kind, level in LEVELS.items()}
    assert told == given
