"""How servers are set up: the log, timeouts, several masters."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import psycopg
import pytest

from sqlclaimgen.runtime.drivers.servers import SERVERS
from sqlclaimgen.runtime.errors import SchemaMismatch, ServerUnfit, StatementFailed
from sqlclaimgen.runtime.worker.checks import setup
from sqlclaimgen.runtime.worker.events import Event, EventKind, Reporter
from tests.conformance.harness import Case, Stand, on_cases
from tests.servers import MariaDBServer, MySQLServer, on_dialects
from tests.worker.checks.looking import (
    ADVISORY,
    FIFO,
    FORMS,
    LEASE,
    ROW_LOCK,
    Looking,
    answer,
    settings,
)

HELD = (ROW_LOCK, ADVISORY)


@dataclasses.dataclass
class _Queue:
    form: str
    fifo: str | None = None
    table: str = "jobs"


# -- the log -------------------------------------------------------------------------------------


@pytest.mark.server
@pytest.mark.parametrize("server_class", [MySQLServer, MariaDBServer])
def test_a_log_of_statements_is_refused(server_class: Any, tmp_path: Path) -> None:
    options = {"log-bin": "binlog", "binlog-format": "STATEMENT", "server-id": 1}
    with server_class(options) as server, server.database() as database:
        stand = Stand(LEASE, database, tmp_path)
        looking = Looking(stand)
        with pytest.raises(ServerUnfit) as refused:
            looking()
        assert refused.value.setting == "binlog_format = STATEMENT"
        assert "Set binlog_format to ROW or MIXED" in str(refused.value)
        # that is the truth: a claim fails, and with another format it does not
        stand.enqueue([{"size": 1}])
        connection = stand.connect()
        with pytest.raises(StatementFailed, match="1665"):
            stand.claim(connection).__enter__()
        connection.close()
        database.execute("SET GLOBAL binlog_format = 'ROW'")
        with stand.claim(stand.connect()) as deliveries:
            assert len(deliveries) == 1
        looking()
        assert looking.events == []


# -- timeouts ------------------------------------------------------------------------------------


def _short(stand: Stand, name: str, seconds: int) -> Any:
    """A `connect` whose sessions the server ends after so long."""
    if stand.dialect == "postgres":
        return lambda: stand.database.connect(options=f"-c {name}={seconds}s")
    return lambda: stand.database.connect(init_command=f"SET SESSION {name} = {seconds}")


def _timeouts(dialect: str, form: Case) -> list[str]:
    if dialect == "postgres":
        inside = form is ROW_LOCK
        return ["idle_in_transaction_session_timeout" if inside else "idle_session_timeout"]
    both = ["wait_timeout"]
    return [*both, "idle_transaction_timeout"] if (dialect, form) == ("mariadb", ROW_LOCK) else both


@on_cases(*HELD)
def test_a_timeout_shorter_than_the_workers_own_looks(looking: Looking) -> None:
    stand = looking.stand
    for name in _timeouts(stand.dialect, stand.case) if stand.dialect != "sqlite" else ():
        with pytest.raises(ServerUnfit) as refused:
            looking(connect=_short(stand, name, 5))
        assert refused.value.setting == name
        assert f"{name} is 5 seconds" in str(refused.value)
        # the worker asks something every ten seconds, so that a longer one never fires
        looking(connect=_short(stand, name, 60))
        looking(connect=_short(stand, name, 5), longest_handler=4)
    assert looking.events == []


@on_cases(ROW_LOCK)
def test_a_handler_that_has_the_connection_holds_it_alone(looking: Looking) -> None:
    stand = looking.stand
    for name in _timeouts(stand.dialect, stand.case):
        with pytest.raises(ServerUnfit, match="holds its row for 90 seconds without a statement"):
            looking(connect=_short(stand, name, 60), transactional=True, longest_handler=90)
        looking(connect=_short(stand, name, 100), transactional=True, longest_handler=90)
        assert looking.events == []
        # nobody said how long
        looking(connect=_short(stand, name, 100), transactional=True)
        warned = looking.warnings
        assert any(name in str(one) and "`longest_handler`" in str(one) for one in warned)
        looking.events.clear()


@on_cases(LEASE, FIFO)
def test_a_lease_holds_no_connection(looking: Looking) -> None:
    stand = looking.stand
    if stand.dialect == "postgres":
        short = _short(stand, "idle_in_transaction_session_timeout", 5)
    elif stand.dialect == "sqlite":
        short = stand.database.connect
    else:
        short = _short(stand, "wait_timeout", 5)
    looking(connect=short)
    assert looking.events == []
    if stand.dialect != "sqlite":
        with pytest.raises(ServerUnfit):
            looking(connect=short, transactional=True, longest_handler=6)


TRANSACTION = [("timeouts", [("transaction_timeout", 60_000)])]


@pytest.mark.parametrize(
    ("form", "longest", "transactional", "verdict"),
    [
        ("row_lock", 59, False, "fits"),
        ("row_lock", 61, False, "refused"),
        ("row_lock", None, False, "warned"),
        ("advisory_lock", None, False, "fits"),
        ("advisory_lock", 61, True, "refused"),
        ("lease", None, False, "fits"),
        ("lease", None, True, "warned"),
    ],
)
def test_the_limit_of_a_whole_transaction(
    form: str, longest: float | None, transactional: bool, verdict: str
) -> None:
    # PostgreSQL 17's; no look at the connection puts it off
    events: list[Event] = []
    queue: Any = _Queue(form)
    given = settings(longest_handler=longest, transactional=transactional)
    check = setup.timeouts(queue, SERVERS["postgres"], given, Reporter("jobs", events.append))
    if verdict == "refused":
        with pytest.raises(ServerUnfit, match="transaction_timeout is 60 seconds"):
            answer(check, dict(TRANSACTION))
        return
    answer(check, dict(TRANSACTION))
    assert [event.kind for event in events] == [EventKind.WARNED] * (verdict == "warned")


@on_dialects("postgres", "mysql", "mariadb")
@pytest.mark.parametrize("case", [LEASE], ids=lambda case: case.name)
def test_a_setting_that_the_server_does_not_know_is_no_row(looking: Looking) -> None:
    connection = looking.connect()
    cursor = connection.cursor()
    if looking.stand.dialect == "postgres":
        cursor.execute("SELECT name FROM pg_settings WHERE name IN ('no_such', 'work_mem')")
        assert cursor.fetchall() == [("work_mem",)]
    else:
        cursor.execute("SHOW VARIABLES WHERE Variable_name IN ('no_such', 'wait_timeout')")
        assert [row[0] for row in cursor.fetchall()] == ["wait_timeout"]


@on_cases(ROW_LOCK)
def test_a_timeout_of_hours_is_no_reason_to_warn(looking: Looking) -> None:
    stand = looking.stand
    for name in _timeouts(stand.dialect, stand.case):
        looking(connect=_short(stand, name, 3600), transactional=True)
        assert looking.events == []
        looking(connect=_short(stand, name, 3599), transactional=True)
        assert len(looking.warnings) == 1
        looking.events.clear()
        # somebody said how long
        with pytest.raises(ServerUnfit, match="holds its row for 7200 seconds"):
            looking(connect=_short(stand, name, 3600), transactional=True, longest_handler=7200)


@on_cases(*(case.with_(dialects=("mysql", "mariadb")) for case in (LEASE, ROW_LOCK, ADVISORY)))
def test_a_server_as_it_is_set_up_draws_no_warning(looking: Looking) -> None:
    looking(transactional=True)
    assert looking.events == []


# -- encodings -----------------------------------------------------------------------------------


@on_cases(LEASE.with_(dialects=("postgres",)))
def test_a_database_of_no_known_encoding(looking: Looking) -> None:
    database: Any = looking.stand.database
    name = f"{database.name}_ascii"
    database.server.run(
        f"CREATE DATABASE {name} ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0"
    )
    dsn = database.server.dsn(name)
    try:
        for connect in (
            lambda: psycopg.connect(dsn),
            lambda: psycopg.AsyncConnection.connect(dsn),
        ):
            with pytest.raises(ServerUnfit) as refused:
                looking(connect=connect)
            assert refused.value.setting == (
                "client_encoding = SQL_ASCII, server_encoding = SQL_ASCII"
            )
            assert "ENCODING 'UTF8'" in str(refused.value)
            assert 'client_encoding="UTF8"' in str(refused.value)
        # the way out leads there: the next finding is another
        with pytest.raises(SchemaMismatch):
            looking(connect=lambda: psycopg.connect(dsn, client_encoding="UTF8"))
    finally:
        database.server.run(f'DROP DATABASE "{name}"')


@on_cases(LEASE.with_(dialects=("postgres",)))
def test_a_connection_of_no_known_encoding(looking: Looking) -> None:
    database = looking.stand.database
    with pytest.raises(ServerUnfit, match="Leave PGCLIENTENCODING and client_encoding out"):
        looking(connect=lambda: database.connect(client_encoding="SQL_ASCII"))
    looking(connect=lambda: database.connect(client_encoding="LATIN1"))


# -- several masters -----------------------------------------------------------------------------

MASTERS = [
    ([("wsrep_on", "ON"), ("wsrep_provider", "/lib/libgalera_smm.so")], "wsrep_on"),
    ([("group_replication_single_primary_mode", "OFF")], "group_replication_single_primary_mode"),
]
SINGLE: list[list[tuple[str, str]]] = [
    [],
    [("wsrep_on", "OFF"), ("wsrep_provider", "none")],
    [("wsrep_on", "ON"), ("wsrep_provider", "none")],
    [("group_replication_single_primary_mode", "ON")],
]
FORBIDDEN = [_Queue("row_lock"), _Queue("advisory_lock"), _Queue("lease", fifo="strict")]


@pytest.mark.parametrize("dialect", ["mysql", "mariadb"])
@pytest.mark.parametrize("queue", FORBIDDEN, ids=lambda queue: queue.form)
@pytest.mark.parametrize(("variables", "setting"), MASTERS)
def test_locks_of_one_node_are_refused_where_several_write(
    dialect: str, queue: Any, variables: Any, setting: str
) -> None:
    with pytest.raises(ServerUnfit, match="several nodes take writes") as refused:
        answer(setup.multi_master(queue, SERVERS[dialect]), {"variables": variables})
    assert setting in refused.value.setting
    assert "lease form without `fifo`" in str(refused.value)


@pytest.mark.parametrize("variables", SINGLE)
@pytest.mark.parametrize("queue", FORBIDDEN, ids=lambda queue: queue.form)
def test_one_master(queue: Any, variables: Any) -> None:
    answer(setup.multi_master(queue, SERVERS["mariadb"]), {"variables": variables})


def test_the_lease_form_is_served_by_several() -> None:
    queue: Any = _Queue("lease")
    answer(setup.multi_master(queue, SERVERS["mariadb"]), {"variables": MASTERS[0][0]})


@on_cases(*FORMS)
def test_the_running_servers_are_single_masters(looking: Looking) -> None:
    looking()
    assert looking.events == []
