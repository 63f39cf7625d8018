"""SQLite: what happens to the file itself, as a worker opens it and while it has it open."""

from __future__ import annotations

import shutil
import sqlite3
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from sqlclaimgen.runtime import EventKind
from sqlclaimgen.runtime.drivers.sqlite import SQLiteSession
from sqlclaimgen.runtime.errors import FaultKind
from sqlclaimgen.runtime.steps import Result
from tests.conformance.harness import Stand, on_cases
from tests.servers import SQLiteDatabase
from tests.worker.held.cases import ADVISORY
from tests.worker.support.cases import JOBS
from tests.worker.support.running import Log, worker_of, working

LEASE = JOBS.with_(dialects=["sqlite"])
KEYED = ADVISORY.with_(dialects=["sqlite"])


# -- opening ----------------------------------------------------------------------------------------


class Contended(SQLiteSession):
    """A session whose first change of the journal's mode is refused at once, as it is when another
    process changes it at that moment: SQLite does not wait there, whatever the busy timeout is."""

    refused = False

    def run(self, sql: str, parameters: Mapping[str, Any]) -> Result:
        if sql == "PRAGMA journal_mode = WAL" and not self.refused:
            self.refused = True
            raise busy(self.connection)
        return super().run(sql, parameters)


def busy(connection: sqlite3.Connection) -> sqlite3.OperationalError:
    """SQLite's own error for a file that another connection has locked."""
    (path,) = (row[2] for row in connection.execute("PRAGMA database_list"))
    one, other = (sqlite3.connect(path, timeout=0, isolation_level=None) for _ in range(2))
    one.execute("BEGIN EXCLUSIVE")
    with pytest.raises(sqlite3.OperationalError) as refused:
        other.execute("BEGIN EXCLUSIVE")
    one.close()
    other.close()
    return refused.value


def test_a_change_to_wal_that_is_refused_is_tried_again(tmp_path: Path) -> None:
    session = Contended(sqlite3.connect(tmp_path / "app.db"))
    session.prepare(30)
    assert session.refused
    assert session.run("PRAGMA journal_mode", {}).rows == [("wal",)]


def test_a_mode_that_is_set_is_not_set_again(tmp_path: Path) -> None:
    path = tmp_path / "app.db"
    first = sqlite3.connect(path)
    first.execute("PRAGMA journal_mode = WAL")
    statements: list[str] = []
    connection = sqlite3.connect(path)
    connection.set_trace_callback(statements.append)
    SQLiteSession(connection).prepare(30)
    assert "PRAGMA journal_mode" in statements
    assert "PRAGMA journal_mode = WAL" not in statements


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    path = tmp_path / "app.db"
    sqlite3.connect(path).executescript("CREATE TABLE t (x)")
    session = SQLiteSession(sqlite3.connect(f"file:{path}?mode=ro", uri=True))
    with pytest.raises(OSError, match="cannot be written") as refused:
        session.prepare(30)
    assert str(path) in str(refused.value)


def test_an_error_of_the_whole_file_is_no_fault_of_a_row(tmp_path: Path) -> None:
    path = tmp_path / "app.db"
    path.write_bytes(b"no database" * 1000)
    session = SQLiteSession(sqlite3.connect(path))
    with pytest.raises(sqlite3.DatabaseError) as refused:
        session.run("SELECT * FROM sqlite_master", {})
    assert session.fault(refused.value) is FaultKind.LOST


# -- a file in the place of the one that is open -----------------------------------------------------


def replace(stand: Stand, rows: int) -> None:
    """Move another file into the database's place: the same tables, emptied, and `rows` new rows."""
    assert isinstance(stand.database, SQLiteDatabase)
    path = stand.database.path
    stand.database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    other = path.with_suffix(".new")
    shutil.copy(path, other)
    connection = sqlite3.connect(other)
    connection.execute("DELETE FROM jobs")
    for number in range(rows):
        stand.module.enqueue(connection, stand.module.New(payload=100 + number))
    connection.commit()
    connection.execute("PRAGMA journal_mode = DELETE")
    connection.close()
    other.replace(path)
    for suffix in ("-wal", "-shm"):
        Path(f"{path}{suffix}").unlink(missing_ok=True)


@on_cases(LEASE, KEYED)
def test_an_idle_worker_goes_on_with_the_new_file(stand: Stand) -> None:
    log = Log()
    seen: list[Any] = []
    with working(worker_of("blocking", stand, lambda d: seen.append(d.row.payload), on_event=log)):
        log.wait_for(EventKind.WAITED)
        replace(stand, 3)
        log.wait_for(EventKind.SETTLED, 3)
    assert sorted(seen) == [100, 101, 102]
    disconnected = log.of(EventKind.DISCONNECTED)
    assert disconnected and all("was replaced or removed" in str(e.error) for e in disconnected)


@on_cases(LEASE, KEYED)
def test_a_row_of_the_old_file_is_lost(stand: Stand) -> None:
    log = Log()
    begun, go_on = threading.Event(), threading.Event()

    def handle(delivery: Any) -> None:
        if delivery.row.payload == 1:
            begun.set()
            go_on.wait(20)

    stand.enqueue([{"payload": 1}])
    with working(worker_of("blocking", stand, handle, on_event=log, concurrency=2)):
        assert begun.wait(20)
        replace(stand, 3)
        log.wait_for(EventKind.SETTLED, 3)
        go_on.set()
        lost = log.wait_for(EventKind.LOST)
    assert lost.attempt == 1
    assert stand.connect().execute("SELECT COUNT(*) FROM jobs").fetchone() == (0,)
