"""A DSN that leads nowhere: what is said of it, and that no password is."""

from __future__ import annotations

import string
import sys
from pathlib import Path

import pytest

from .conftest import Run

CHARACTERS = [
    *string.punctuation,
    " ",
    "\t",
    "\n",
    "\r",
    "%zz",
    "%00",
    "℀",
    "\udcff",
    "é",
    "@@",
    "://",
]
SHAPES = [
    "postgresql://u:{}@127.0.0.1:1/db",
    "postgres://u:{}@127.0.0.1:1",
    "mysql://u:{}@127.0.0.1:1/db",
    "mariadb://u:{}@127.0.0.1:1/db",
    "postgresql+psycopg://u:{}@127.0.0.1:1/db",
    "postgresql://127.0.0.1:1/db?user=u&password={}",
    "mysql://127.0.0.1:1/db?password={}",
    "host=127.0.0.1 port=1 password={}",
    "host=127.0.0.1 port=1 password='{}",
    "u:{}@127.0.0.1/db",
    "sqlite://u:{}@127.0.0.1/db",
    "oracle://u:{}@127.0.0.1/db",
]
WRONG = [
    "postgresql://u:s3cr3t@[::1/db",
    "postgresql://u:12345s3c@r3t:5432:1/db",
    "mysql://u:s3cr3t@h:99999/db",
    "mysql://u:s3cr3t@h:port/db",
    "mysql://u:s3cr3t@h/db?s3c=r3t",
    "mysql://u:s3cr3t@h/db?s3cr3t",
    "postgresql://u:s3cr3t@h/db?s3c=r3t",
    "s3cr3t",
    "s3c=r3t",
]


def refused(run: Run, project: Path, monkeypatch: pytest.MonkeyPatch, dsn: str) -> str:
    """What is said of a DSN: one line, and one with the way out."""
    monkeypatch.setenv("SQLCLAIMGEN_DSN", dsn)
    done = run("stats", "payouts")
    assert (done.code, done.out) == (2, ""), dsn
    assert "s3c" not in done.err and "r3t" not in done.err, dsn
    what, way_out = done.err.splitlines()
    assert what.startswith("error: ") and way_out.startswith("    hint: "), dsn
    return done.err


@pytest.mark.parametrize("shape", SHAPES)
def test_no_part_of_a_password_is_printed(
    project: Path, run: Run, monkeypatch: pytest.MonkeyPatch, shape: str
) -> None:
    for character in CHARACTERS:
        said = refused(run, project, monkeypatch, shape.format(f"s3c{character}r3t"))
        if character in "@/?#" and shape.startswith(("mysql://u", "postgresql://u")):
            assert "percent-encode the password" in said


@pytest.mark.parametrize("dsn", WRONG)
def test_what_is_wrong_beside_a_password_does_not_print_it(
    project: Path, run: Run, monkeypatch: pytest.MonkeyPatch, dsn: str
) -> None:
    refused(run, project, monkeypatch, dsn)


def test_a_file_that_is_no_database(
    project: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SQLCLAIMGEN_DSN", "sqlite:///tables.toml")
    done = run("stats", "jobs", "--group", "a")
    assert done.code == 2 and "file is not a database" in done.err


@pytest.mark.parametrize("driver", ["psycopg", "pymysql"])
def test_a_percent_encoded_password_reaches_the_driver(
    project: Path, run: Run, monkeypatch: pytest.MonkeyPatch, driver: str
) -> None:
    module = pytest.importorskip(driver)
    given: list[object] = []

    def connect(*arguments: object, **options: object) -> None:
        given.extend([*arguments, options.get("password"), options.get("host")])
        raise module.OperationalError("said by the server")

    monkeypatch.setattr(sys.modules[driver], "connect", connect)
    scheme = "postgresql" if driver == "psycopg" else "mysql"
    dsn = f"{scheme}://u:s%40%2F%23%3F%5B%5D%25%20%3A@[::1]:5/db"
    monkeypatch.setenv("SQLCLAIMGEN_DSN", dsn)
    done = run("stats", "payouts")
    assert done.err.startswith("error: no connection: said by the server\n")
    assert given == ([dsn, None, None] if driver == "psycopg" else ["s@/#?[]% :", "::1"])


def test_an_id_that_no_number_holds(project: Path, run: Run) -> None:
    done = run("redrive", "jobs", "--id", "9" * 20, "--dsn", "sqlite:///nowhere.db")
    assert done.code == 2 and "is no id of jobs" in done.err
