"""`demo`: a worker really dies, and its job is really done by another."""

from __future__ import annotations

import re
import sqlite3
import sys
from pathlib import Path

import pytest

from .conftest import Run


def test_the_demo_tells_what_happened(
    run: Run, tmp_path: Path, capfd: pytest.CaptureFixture
) -> None:
    done = run("demo", "--folder", tmp_path / "demo")
    assert done.code == 0, done.err
    first, second = dict.fromkeys(re.findall(r"worker (\d+)", done.out))
    assert f"worker {first}: job 1, attempt 1: begun\n" in done.out
    if sys.platform != "win32":
        assert f"worker {first} was killed: signal 9\n" in done.out
    assert "job 1 is still leased" in done.out
    assert re.search(rf"worker {second} after [\d.]+ s: job 1, attempt 2: acknowledged\n", done.out)
    before, between, after = (
        re.findall(r"^ +(\d)  .{18}  +(\d)  (NULL|\d\d:\S+).*?  (NULL|\d\d:\S+)$", part, re.M)
        for part in re.split(r"^[45]\.", done.out, flags=re.M)
    )
    assert [(id, attempt) for id, attempt, *_ in before] == [("1", "1"), ("2", "1"), ("3", "1")]
    assert [row[2] == "NULL" for row in between] == [False, True, True]
    assert between[0][1] == "2" and between[0][3] == "NULL"
    assert [row[1] for row in after] == ["3", "2", "2"] and all(row[3] != "NULL" for row in after)
    assert "All 3 jobs are finished; 1 of them was begun twice" in done.out
    with sqlite3.connect(tmp_path / "demo" / "jobs.db") as connection:
        query = "SELECT id, attempt FROM jobs WHERE processed_at IS NOT NULL ORDER BY id"
        assert connection.execute(query).fetchall() == [(1, 3), (2, 2), (3, 2)]
    connection.close()


def test_the_demo_wants_a_new_folder(run: Run, tmp_path: Path) -> None:
    (tmp_path / "mine").touch()
    done = run("demo", "--folder", tmp_path)
    assert done.code == 2 and "is not empty" in done.err
