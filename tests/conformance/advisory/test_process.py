"""SQLite's keys live in the process: by database file, freed with the connection that holds them."""

from __future__ import annotations

import gc
import os
import sqlite3
import threading
from pathlib import Path
from typing import Any

import pytest

from sqlclaimgen.runtime.keys import KeyLock, ProcessKeys, space_of
from tests.conformance.advisory.cases import FULL, PLAIN, on
from tests.conformance.harness import Stand, on_cases

ONE = on(PLAIN, "sqlite")


class Session:
    broken = False


def test_a_key_is_held_once() -> None:
    keys, one = ProcessKeys(), Session()
    lock, rival = KeyLock("a", "a"), KeyLock("a", "a")
    assert keys.hold("file", lock, one)
    assert not keys.hold("file", rival, one), "not even by the same connection"
    assert keys.hold("another file", rival, one)
    assert keys.in_use("file") == ["a"]
    keys.drop(lock)
    assert keys.in_use("file") == []
    assert keys.in_use("another file") == ["a"]
    keys.drop(lock)
    assert keys.hold("file", KeyLock("a", "a"), one) is True


def test_a_key_is_free_when_its_session_is_closed() -> None:
    keys, one = ProcessKeys(), Session()
    lock, rival = KeyLock("a", "a"), KeyLock("a", "a")
    assert keys.hold("file", lock, one)
    one.broken = True
    assert keys.in_use("file") == []
    assert keys.hold("file", rival, Session())
    keys.drop(lock)
    assert keys.in_use("file") == ["a"], "a late drop frees nobody else's"


def test_a_key_is_free_when_nobody_has_its_lock() -> None:
    keys = ProcessKeys()
    assert keys.hold("file", KeyLock("a", "a"), Session())
    gc.collect()
    assert keys.in_use("file") == []


def test_many_threads_hold_a_key_one_at_a_time() -> None:
    keys, won = ProcessKeys(), []
    barrier = threading.Barrier(8)

    def one() -> None:
        lock = KeyLock("a", "a")
        barrier.wait(10)
        if keys.hold("file", lock, Session()):
            won.append(lock)

    threads = [threading.Thread(target=one) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_process_holds_nothing() -> None:
    from sqlclaimgen.runtime.keys import PROCESS

    lock, session = KeyLock("a", "a"), Session()
    assert PROCESS.hold("file of this test", lock, session)
    child = os.fork()
    if child == 0:
        os._exit(0 if PROCESS.in_use("file of this test") == [] else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert PROCESS.in_use("file of this test") == ["a"]
    PROCESS.drop(lock)


def test_a_file_is_one_whatever_its_name(tmp_path: Path) -> None:
    file = tmp_path / "a.db"
    file.write_bytes(b"")
    (tmp_path / "link.db").symlink_to(file)
    (tmp_path / "hard.db").hardlink_to(file)
    names = [file, tmp_path / "link.db", tmp_path / "hard.db", tmp_path / "." / "a.db"]
    assert len({space_of(str(name), None) for name in names}) == 1
    assert space_of(str(tmp_path / "gone.db"), None) != space_of(str(file), None)
    one, two = object(), object()
    assert space_of("", one) != space_of("", two)


@on_cases(ONE)
def test_connections_under_two_names_exclude_each_other(stand: Stand, tmp_path: Path) -> None:
    stand.fill([{"account": "7"}, {"account": "7"}])
    link = tmp_path / "link.db"
    link.symlink_to(Path(stand.database.path))  # type: ignore[attr-defined]
    other = sqlite3.connect(link)
    with stand.claim(stand.connect()) as first, stand.claim(other) as second:
        assert (len(first), len(second)) == (1, 0)
    other.close()


@on_cases(ONE)
def test_in_memory_databases_have_keys_of_their_own(stand: Stand) -> None:
    ddl = stand.plan.ddl
    connections = [sqlite3.connect(":memory:") for _ in range(2)]
    for connection in connections:
        connection.executescript(ddl)
        connection.execute("INSERT INTO jobs (account) VALUES ('7')")
        connection.commit()
    with stand.claim(connections[0]) as first, stand.claim(connections[1]) as second:
        assert (len(first), len(second)) == (1, 1)
    for connection in connections:
        connection.close()


@on_cases(ONE)
def test_an_attached_database_has_its_own_keys(stand: Stand, tmp_path: Path) -> None:
    body = 'schema = "App"\n' + stand.case.body
    attached = Stand(
        stand.case.with_(body=body),
        attached_to(stand.database, tmp_path / "app.db"),
        tmp_path / "gen",
    )
    connections = [attached.connect(), attached.connect()]
    for n in (1, 2):
        connections[0].execute("INSERT INTO App.jobs VALUES (?, '7')", (n,))
    connections[0].commit()
    with attached.claim(connections[0]) as first, attached.claim(connections[1]) as second:
        assert (len(first), len(second)) == (1, 0)


def attached_to(database: Any, path: Path) -> Any:
    """The same database with another file attached to each connection, as `app`."""
    return AttachedTo(database, path)


class AttachedTo:
    """A database whose connections have another file attached as `app`."""

    dialect = "sqlite"

    def __init__(self, database: Any, path: Path) -> None:
        self._database = database
        self._path = path

    def connect(self, **options: Any) -> Any:
        connection = self._database.connect(**options)
        connection.execute("ATTACH ? AS app", (str(self._path),))
        return connection

    def execute_script(self, text: str) -> None:
        connection = self.connect()
        connection.executescript(text)
        connection.close()


@on_cases(ONE)
def test_threads_exclude_each_other(stand: Stand) -> None:
    stand.fill([{"account": "7"}, {"account": "7"}, {"account": "8"}])
    took: list[list[int]] = []
    entered, leave = threading.Barrier(3), threading.Event()

    def one() -> None:
        with stand.claim(stand.connect()) as claim:
            took.append([delivery.id for delivery in claim])
            entered.wait(20)
            leave.wait(20)

    threads = [threading.Thread(target=one) for _ in range(2)]
    for thread in threads:
        thread.start()
    entered.wait(20)
    with stand.claim(stand.connect()) as nothing:
        assert len(nothing) == 0
    leave.set()
    for thread in threads:
        thread.join(20)
    assert sorted(id for ids in took for id in ids) == [1, 3]


@on_cases(on(FULL, "sqlite"), ONE)
def test_a_claim_that_was_dropped_frees_its_key(stand: Stand) -> None:
    stand.fill([{"account": "7", "queue": "a"} if stand.case.name == "full" else {"account": "7"}])
    claim = stand.claim(stand.connect())
    assert len(claim) == 1
    del claim
    gc.collect()
    with stand.claim(stand.connect()) as again:
        assert len(again) == 1


@on_cases(ONE)
def test_the_documents_say_so(stand: Stand) -> None:
    (space,) = (s for s in stand.plan.statements if s.name == "key_space")
    assert "one process per file" in " ".join(space.purpose)
    assert "do not see each other's keys" in (stand.module.claim.__doc__ or "")
