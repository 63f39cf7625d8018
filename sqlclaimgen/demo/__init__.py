"""A crash and its recovery, on SQLite and without a server: what `sqlclaimgen demo` runs.

Every line that it says of a row was read from the database, and of a worker from its process.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import time
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from sqlclaimgen import output
from sqlclaimgen.description import load
from sqlclaimgen.rendering import render
from sqlclaimgen.templating import folder

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    Say = Callable[[str], None]

JOBS = ("render invoice 17", "mail it", "archive it")

_ENQUEUE = """\
import sqlite3
from queues import jobs

connection = sqlite3.connect("jobs.db", isolation_level=None)
for payload in {payloads!r}:
    print(jobs.enqueue(connection, jobs.New(payload=payload)))
"""


class DemoFailed(Exception):
    """The demonstration did not go as it should; the text says where."""


def run(place: Path, say: Say, head: Say) -> None:
    """Run it in the empty folder `place`. `say` takes each line, `head` each heading. Raises DemoFailed."""
    source = folder("templates") / "demo"
    for name in ("tables.toml", "worker.py"):
        shutil.copyfile(source / name, place / name)
    head("1. A description of a work table, tables.toml")
    for line in (place / "tables.toml").read_text(encoding="utf-8").splitlines():
        say(f"    {line}")
    head("2. sqlclaimgen build")
    description = load(place / "tables.toml")
    survey = output.survey(description, render(description))
    output.write(survey)
    for one in survey.differences:
        say(f"    wrote {one.path}")
    head("3. The table is made from sql/sqlite/jobs.ddl.sql, and three jobs are enqueued")
    with _connected(place) as connection:
        connection.executescript((place / "sql/sqlite/jobs.ddl.sql").read_text(encoding="utf-8"))
        _python(place, _ENQUEUE.format(payloads=JOBS))
        _show(connection, say)
        say("    attempt is the number of the next delivery; locked_until is the lease")
        _crash(place, connection, say, head)
        _recover(place, connection, say, head)


def _crash(place: Path, connection: sqlite3.Connection, say: Say, head: Say) -> None:
    head("4. A worker claims a job, and is killed in the middle of it")
    with _worker(place, "stuck") as worker:
        say(f"    worker {worker.pid}: {_line(worker)}")
        worker.kill()
        code = worker.wait()
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        say(f"    worker {worker.pid} was killed: {how}")
    _show(connection, say)
    held = connection.execute(
        "SELECT id FROM jobs WHERE locked_until > ? AND processed_at IS NULL", (_now(),)
    ).fetchall()
    for (id,) in held:
        say(f"    job {id} is still leased: nobody else may take it before its lease runs out")


def _recover(place: Path, connection: sqlite3.Connection, say: Say, head: Say) -> None:
    head("5. A second worker takes what is free, and the dead worker's job when its lease runs out")
    started = time.monotonic()
    with _worker(place) as worker:
        assert worker.stdout is not None
        for line in worker.stdout:
            say(
                f"    worker {worker.pid} after {time.monotonic() - started:.1f} s: {line.rstrip()}"
            )
        if worker.wait() != 0:
            raise DemoFailed(f"worker {worker.pid} ended with exit code {worker.returncode}")
    _show(connection, say)
    left = connection.execute("SELECT COUNT(*) FROM jobs WHERE processed_at IS NULL").fetchone()[0]
    twice = connection.execute("SELECT COUNT(*) FROM jobs WHERE attempt > 2").fetchone()[0]
    if left:
        raise DemoFailed(f"{left} jobs are not finished")
    say(
        f"    All {len(JOBS)} jobs are finished; {twice} of them was begun twice, for its worker died."
    )


@contextmanager
def _connected(place: Path) -> Generator[sqlite3.Connection]:
    connection = sqlite3.connect(place / "jobs.db", isolation_level=None, timeout=10)
    try:
        yield connection
    finally:
        connection.close()


@contextmanager
def _worker(place: Path, *arguments: str) -> Generator[subprocess.Popen[str]]:
    """A worker process, gone when the block is left."""
    command = [sys.executable, "worker.py", *arguments]
    with subprocess.Popen(
        command,
        cwd=place,
        env=_environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as worker:
        try:
            yield worker
        finally:
            worker.kill()


def _line(worker: subprocess.Popen[str]) -> str:
    assert worker.stdout is not None
    line = worker.stdout.readline().rstrip()
    if not line:
        raise DemoFailed(f"worker {worker.pid} ended with exit code {worker.wait()} and no job")
    return line


def _python(place: Path, code: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=place,
        env=_environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise DemoFailed(done.stderr)


def _environment() -> dict[str, str]:
    """That of this process, in which the package can be imported however it was found here."""
    found = str(Path(__file__).parents[2])
    return {**os.environ, "PYTHONPATH": os.pathsep.join([found, os.environ.get("PYTHONPATH", "")])}


def _now() -> int:
    return time.time_ns() // 1000


def _show(connection: sqlite3.Connection, say: Say) -> None:
    """The rows as they are."""
    row = "    {:>2}  {:<18}  {:>7}  {:<32}  {}"
    say(row.format("id", "payload", "attempt", "locked_until", "processed_at").rstrip())
    query = "SELECT id, payload, attempt, locked_until, processed_at FROM jobs ORDER BY id"
    for id, payload, attempt, locked_until, processed_at in connection.execute(query):
        until = _time(locked_until)
        if locked_until is not None:
            until += f" ({(locked_until - _now()) / 1e6:+.1f} s from now)"
        say(row.format(id, payload, attempt, until, _time(processed_at)).rstrip())


def _time(microseconds: int | None) -> str:
    if microseconds is None:
        return "NULL"
    return datetime.fromtimestamp(microseconds / 1e6, UTC).strftime("%H:%M:%S.%f")[:-3]
