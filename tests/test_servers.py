"""The servers of the tests do what the other tests take for granted."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import psycopg
import pymysql
import pytest

from tests.servers import (
    ClientFailed,
    Database,
    InnoDBDatabase,
    MySQLDatabase,
    PgBouncer,
    PostgresDatabase,
    PostgresServer,
    ServerPark,
    on_dialects,
    programs,
)
from tests.servers.processes import base_folder, is_alive, temporary_folder

OLDEST = {"postgres": (11,), "mysql": (8, 0, 1), "mariadb": (10, 6), "sqlite": (3, 35)}
ROW_LOCKING = ("postgres", "mysql", "mariadb")


@pytest.fixture
def rows(database: Database) -> Database:
    """A database with a table of three rows."""
    database.execute("CREATE TABLE work (id INTEGER PRIMARY KEY, note VARCHAR(40))")
    database.execute("INSERT INTO work VALUES (1, 'a'), (2, 'b'), (3, 'c')")
    return database


def test_the_server_is_one_the_product_supports(database: Database) -> None:
    assert database.server.version_info >= OLDEST[database.dialect]
    assert database.server.running


@pytest.mark.parametrize("name", programs.NAMES)
def test_what_is_printed_of_a_program_runs_in_a_shell(name: str) -> None:
    line = f"{programs.find(name).by_hand()} --version"
    bare = {key: value for key, value in os.environ.items() if key != "LD_LIBRARY_PATH"}
    subprocess.run(["sh", "-c", line], env=bare, check=True, capture_output=True, timeout=60)


def test_mysql_is_not_mariadb(mysql_database: MySQLDatabase) -> None:
    assert "MariaDB" not in mysql_database.value("SELECT VERSION()")


def test_the_dsn_names_the_dialect(database: Database) -> None:
    scheme = "postgresql" if database.dialect == "postgres" else database.dialect
    assert database.dsn.startswith(f"{scheme}://")


def test_two_databases_share_nothing(rows: Database) -> None:
    with rows.server.database() as other:
        other.execute("CREATE TABLE work (id INTEGER PRIMARY KEY)")
        assert other.execute("SELECT id FROM work") == []
    assert rows.execute("SELECT id FROM work ORDER BY id") == [(1,), (2,), (3,)]


def test_a_dropped_database_ends_its_sessions(database: Database) -> None:
    other = database.server.database()
    other.execute("CREATE TABLE work (id INTEGER PRIMARY KEY)")
    connection = other.connect()
    connection.cursor().execute("INSERT INTO work VALUES (1)")
    other.drop()
    other.drop()
    with pytest.raises((psycopg.Error, pymysql.Error, sqlite3.Error)):
        connection.cursor().execute("SELECT 1")


def test_placeholders_are_the_same_on_every_dialect(rows: Database) -> None:
    assert rows.execute("SELECT note FROM work WHERE id = %s", [2]) == [("b",)]
    assert rows.execute("SELECT note FROM work WHERE id = %(id)s", {"id": 3}) == [("c",)]
    assert rows.execute("SELECT id FROM work WHERE note LIKE '%a%'") == [(1,)]
    assert rows.value("SELECT id FROM work WHERE note LIKE 'b%%' AND id > %s", [0]) == 2


def test_connections_are_in_a_transaction_unless_asked(rows: Database) -> None:
    connection = rows.connect()
    connection.cursor().execute("UPDATE work SET note = 'x' WHERE id = 1")
    connection.rollback()
    eager = rows.connect(autocommit=True)
    eager.cursor().execute("UPDATE work SET note = 'y' WHERE id = 2")
    assert rows.execute("SELECT note FROM work ORDER BY id") == [("a",), ("y",), ("c",)]


def test_postgres_has_asynchronous_connections(postgres_database: PostgresDatabase) -> None:
    async def ask() -> object:
        async with await postgres_database.connect_async(autocommit=True) as connection:
            assert postgres_database.session_id(connection) in postgres_database.sessions()
            return await (await connection.execute("SELECT 42")).fetchone()

    assert asyncio.run(ask()) == (42,)


@on_dialects("mysql", "mariadb")
def test_updates_count_matched_rows_when_asked(rows: InnoDBDatabase) -> None:
    same = "UPDATE work SET note = 'a' WHERE id = 1"
    assert rows.connect().cursor().execute(same) == 0
    assert rows.connect(found_rows=True).cursor().execute(same) == 1


SCRIPT = """
-- a comment; with a semicolon
CREATE TABLE one (id INTEGER PRIMARY KEY);
INSERT INTO one VALUES (1); INSERT INTO one VALUES (2);
CREATE TABLE two (id INTEGER PRIMARY KEY, note VARCHAR(20));
INSERT INTO two VALUES (1, 'ä; 100%');
"""


def test_a_script_runs_through_the_driver(database: Database) -> None:
    database.execute_script(SCRIPT)
    assert database.value("SELECT COUNT(*) FROM one") == 2
    assert database.value("SELECT note FROM two") == "ä; 100%"


def test_a_failing_script_is_an_error(database: Database) -> None:
    with pytest.raises(Exception, match="missing_table"):
        database.execute_script("CREATE TABLE one (id INTEGER);\nDELETE FROM missing_table;\n")


def test_a_file_runs_through_the_client(database: Database, tmp_path: Path) -> None:
    path = tmp_path / "a script.sql"
    path.write_text(SCRIPT + "SELECT note FROM two;\n", encoding="utf-8")
    assert "ä; 100%" in database.load_with_client(path)
    assert database.value("SELECT COUNT(*) FROM one") == 2
    path.write_text("DELETE FROM missing_table;\nCREATE TABLE late (id INTEGER);\n")
    with pytest.raises(ClientFailed, match="missing_table"):
        database.load_with_client(path)
    with pytest.raises(Exception, match="late"):
        database.execute("SELECT * FROM late")


def test_a_killed_session_is_gone(rows: Database) -> None:
    connection = rows.connect()
    connection.cursor().execute("UPDATE work SET note = 'x' WHERE id = 1")
    session = rows.session_id(connection)
    assert rows.sessions() == {session}
    assert rows.locked_rows("work", "id")
    rows.kill_session(session)
    assert rows.sessions() == set()
    assert rows.locked_rows("work", "id") == set()
    assert rows.value("SELECT note FROM work WHERE id = 1") == "a"
    with pytest.raises((psycopg.Error, pymysql.Error, sqlite3.Error)):
        connection.cursor().execute("SELECT 1")
    with pytest.raises(LookupError):
        rows.kill_session(session)


@on_dialects(*ROW_LOCKING)
def test_locked_rows_names_just_those(rows: Database) -> None:
    holder = rows.connect()
    for number in (1, 3):
        holder.cursor().execute("SELECT id FROM work WHERE id = %s FOR UPDATE", [number])
    assert rows.locked_rows("work", "id") == {1, 3}
    holder.rollback()
    assert rows.locked_rows("work", "id") == set()


@on_dialects("sqlite")
def test_sqlite_locks_every_row_or_none(rows: Database) -> None:
    holder = rows.connect(autocommit=True)
    holder.execute("BEGIN IMMEDIATE")
    assert rows.locked_rows("work", "id") == {1, 2, 3}
    holder.rollback()
    assert rows.locked_rows("work", "id") == set()


@on_dialects("mysql", "mariadb")
def test_row_locks_are_counted_per_session(rows: InnoDBDatabase) -> None:
    holder = rows.connect()
    for number in (1, 3):
        holder.cursor().execute("SELECT id FROM work WHERE id = %s FOR UPDATE", [number])
    counts = rows.innodb_lock_counts()
    assert counts.keys() == {rows.session_id(holder)}
    assert counts[rows.session_id(holder)] == 2
    if isinstance(rows, MySQLDatabase):
        assert {(lock[1], lock[5]) for lock in rows.innodb_locks()} == {
            ("work", "1"),
            ("work", "3"),
        }


@on_dialects(*ROW_LOCKING)
def test_a_waiting_session_is_seen(rows: Database) -> None:
    holder, waiter = rows.connect(), rows.connect()
    update = "UPDATE work SET note = 'x' WHERE id = 1"
    holder.cursor().execute(update)
    thread = threading.Thread(target=lambda: waiter.cursor().execute(update))
    thread.start()
    rows.wait_until_blocked(rows.session_id(waiter))
    assert not rows.is_blocked(rows.session_id(holder))
    holder.rollback()
    thread.join(10)
    assert not rows.is_blocked(rows.session_id(waiter))


def test_plans_name_the_index(rows: Database) -> None:
    rows.execute("CREATE INDEX work_note ON work (note)")
    plan = rows.explain("SELECT id FROM work WHERE note = %s", ["a"])
    assert "work_note" in str(plan) or rows.dialect == "postgres", plan


def test_data_outlives_a_restart_and_a_crash(rows: Database) -> None:
    server = rows.server
    connection = rows.connect()
    connection.cursor().execute("UPDATE work SET note = 'lost' WHERE id = 1")
    server.restart()
    assert rows.value("SELECT note FROM work WHERE id = 1") == "a"
    rows.execute("UPDATE work SET note = 'kept' WHERE id = 2")
    server.kill()
    assert not server.running
    server.start()
    assert rows.execute("SELECT note FROM work ORDER BY id") == [("a",), ("kept",), ("c",)]


def test_settings_reach_the_server() -> None:
    with PostgresServer({"max_connections": 17}) as server, server.database() as database:
        assert database.value("SHOW max_connections") == "17"


@on_dialects(*ROW_LOCKING)
def test_sessions_are_not_in_utc_unless_they_say_so(database: Database) -> None:
    question = {
        "postgres": "SELECT extract(timezone FROM now())::int / 60",
        "mysql": "SELECT TIMESTAMPDIFF(MINUTE, UTC_TIMESTAMP(), NOW())",
        "mariadb": "SELECT TIMESTAMPDIFF(MINUTE, UTC_TIMESTAMP(), NOW())",
    }[database.dialect]
    cursor = database.connect().cursor()
    cursor.execute(question)
    assert cursor.fetchone()[0] == 330
    assert database.value(question) == 0


def test_pgbouncer_shares_one_session(postgres_database: PostgresDatabase) -> None:
    with PgBouncer(postgres_database, pool_size=1) as pooler:
        pids = set()
        for _ in range(2):
            with pooler.connect(autocommit=True) as connection:
                row = connection.execute("SELECT pg_backend_pid(), 40 + 2").fetchone()
                assert row is not None and row[1] == 42
                pids.add(row[0])
        assert len(pids) == 1


def test_a_missing_program_fails_the_test_and_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(programs.override_variable("mysql"), "/nowhere/mysqld")
    park = ServerPark()
    for _ in range(2):
        with pytest.raises(pytest.fail.Exception, match="make servers"):
            park["mysql"]


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no death signal")
@on_dialects("postgres", "mariadb")
def test_a_server_dies_with_a_killed_test_run(database: Database, tmp_path: Path) -> None:
    program = tmp_path / "run.py"
    program.write_text(
        textwrap.dedent(f"""
        import os, time
        from tests.servers import SERVERS
        server = SERVERS[{database.dialect!r}]()
        server.start()
        print(server.pid, flush=True)
        time.sleep(60)
        """)
    )
    root = Path(__file__).parent.parent
    runner = subprocess.Popen(
        [sys.executable, str(program)],
        env={**os.environ, "PYTHONPATH": str(root)},
        stdout=subprocess.PIPE,
        text=True,
    )
    with runner:
        assert runner.stdout is not None
        pid = int(runner.stdout.readline())
        assert is_alive(pid)
        runner.kill()
    deadline = time.monotonic() + 10
    while is_alive(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not is_alive(pid)
    # Any later run takes away the data the killed one left.
    temporary_folder("any").rmdir()
    assert not list(base_folder().glob(f"sqlclaimgen-tests-{runner.pid}-*"))


def test_pymysql_logs_in_with_a_password(mysql_database: MySQLDatabase) -> None:
    mysql_database.execute("CREATE USER claimer IDENTIFIED BY 'secret'")
    mysql_database.execute(f"GRANT ALL ON {mysql_database.name}.* TO claimer")
    connection = mysql_database.connect(user="claimer", password="secret")
    assert isinstance(connection, pymysql.connections.Connection)
    mysql_database.execute("DROP USER claimer")
