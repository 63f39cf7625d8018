"""The lock: the same bytes for the same input, and what running consumers must agree on."""

from __future__ import annotations

import tomllib
from pathlib import Path, PurePosixPath

import pytest

from sqlclaimgen import lockfile
from sqlclaimgen.description import DescriptionInvalid, parse
from sqlclaimgen.lockfile import Entry, Lock, agreement

HEAD = "format = 1\n[table.jobs]\n"
LEASE = 'id = { role = "id", type = "bigint" }\nlocked_until = {}\n'


def agreed(keys: str, columns: str) -> dict[str, str]:
    text = f'{HEAD}dialects = ["postgres"]\n{keys}\n[table.jobs.columns]\n{columns}'
    return agreement(parse(text.encode(), Path("tables.toml")).tables[0])


def test_a_lock_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    entry = Entry(
        {PurePosixPath("sql/b.sql"): "2", PurePosixPath("sql/a.sql"): "1"},
        {"jobs": {"form": "lease", "key": 'a"b\\ü\x7f'}},
        {PurePosixPath("sql/a.sql"): ("3", "4")},
    )
    lock = Lock({"tables.toml": entry, "other.toml": Entry({PurePosixPath("x.py"): "3"})})
    (tmp_path / lockfile.NAME).write_text(lock.text(), encoding="utf-8")
    assert lockfile.load(tmp_path) == lock
    assert list(tomllib.loads(lock.text())["descriptions"]) == ["other.toml", "tables.toml"]
    assert lock.text().index("sql/a.sql") < lock.text().index("sql/b.sql")


def test_no_lock_is_an_empty_one(tmp_path: Path) -> None:
    assert lockfile.load(tmp_path) == Lock()


@pytest.mark.parametrize(
    "content",
    [
        b"<<<<<<< ours\nformat = 1\n",
        b"format = 0\n",
        b"\xff",
        b"format = 1\n[descriptions.'a.toml']\nfiles = {'a' = 5}\n",
        b"format = 1\n[descriptions.'a.toml'.files]\n\"a\\u0000b\" = 'x'\n",
        b"x = " + b"[" * 2000 + b"]" * 2000,
        b"format = 1\n[descriptions.'a.toml']\n",
        b"format = 1\ndescriptions = 5\n",
        b"format = 1\n[descriptions.'a.toml']\nfiles = 5\n",
    ],
)
def test_a_broken_lock_says_what_to_do(tmp_path: Path, content: bytes) -> None:
    (tmp_path / lockfile.NAME).write_bytes(content)
    with pytest.raises(DescriptionInvalid) as raised:
        lockfile.load(tmp_path)
    (found,) = raised.value.diagnostics
    assert found.code == "LOCK-UNREADABLE"
    assert "sqlclaimgen build" in found.hint


def test_a_lock_of_a_newer_version_is_none_to_delete(tmp_path: Path) -> None:
    (tmp_path / lockfile.NAME).write_bytes(b"format = 2\n")
    with pytest.raises(DescriptionInvalid) as raised:
        lockfile.load(tmp_path)
    assert raised.value.diagnostics[0].hint == "Install the version of sqlclaimgen that wrote it."


def test_line_ends_do_not_count() -> None:
    assert lockfile.digest(b"a\r\nb\r\n") == lockfile.digest(b"a\nb\n")


def test_an_agreement_holds_what_consumers_share() -> None:
    assert agreed("", LEASE) == {
        "form": "lease",
        "clock": "host",
        "token": "locked_until timestamp(6)",
    }
    assert agreed("", 'id = { role = "id", type = "bigint" }\n') == {
        "form": "row_lock",
        "clock": "host",
    }
    assert agreed(
        'schema = "app"\nadvisory_lock = "a-{id}"', 'id = { role = "id", type = "bigint" }\n'
    ) == {"form": "advisory_lock", "key": "a-{id}", "schema": "app", "clock": "host"}


@pytest.mark.parametrize(
    "change",
    [
        'attempt = { role = "attempt" }\n',
        'queue = { role = "group", type = "text" }\n',
        'queue = { role = "group", type = "text", fifo = true }\n',
    ],
)
def test_what_holds_a_row_is_agreed_on(change: str) -> None:
    before, after = agreed("", LEASE), agreed("", LEASE + change)
    (line,) = lockfile.drains(Entry(tables={"jobs": before}), Entry(tables={"jobs": after}))
    assert line.startswith("jobs: ") and "was not set, is" in line


@pytest.mark.parametrize(
    "change",
    ['note = { type = "text", null = true }\n', 'payload = { role = "payload", type = "json" }\n'],
)
def test_what_a_row_carries_is_not(change: str) -> None:
    assert agreed("", LEASE) == agreed("", LEASE + change)
    assert agreed('lease = "60s"', LEASE) == agreed('lease = "30s"', LEASE)


def test_new_and_old_tables_drain_nothing() -> None:
    one = {"form": "lease"}
    assert lockfile.drains(Entry(), Entry(tables={"jobs": one})) == []
    assert lockfile.drains(Entry(tables={"jobs": one}), Entry()) == []


def test_a_renamed_description_takes_its_files_along(tmp_path: Path) -> None:
    old = Entry({PurePosixPath("a.sql"): "1"}, {"jobs": {"form": "lease"}})
    lock = Lock({"old.toml": old, "other.toml": Entry({PurePosixPath("b.sql"): "2"})})
    (tmp_path / "new.toml").touch()
    (tmp_path / "other.toml").touch()
    assert lock.taken_over(tmp_path, "new.toml") == old
    after = lock.replaced(tmp_path, "new.toml", old)
    assert list(after.entries) == ["other.toml", "new.toml"]
