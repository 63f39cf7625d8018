"""The live tables against the description: what loses rows is refused, before a worker's first claim and
once for each connection by hand."""

from __future__ import annotations

import dataclasses
import functools
import logging
from collections.abc import Callable
from typing import Any

import pytest

from sqlclaimgen.runtime import EventKind
from sqlclaimgen.runtime.errors import SchemaMismatch, ServerUnfit, StatementFailed
from sqlclaimgen.runtime.looking import told
from sqlclaimgen.runtime.worker.faces import Worker
from tests.conformance.harness import Stand, on_cases
from tests.servers import on_dialects
from tests.support.tenants import with_a_key_of_two_columns
from tests.worker.checks.looking import ADVISORY, FIFO, FORMS, LEASE, ROW_LOCK, Looking
from tests.worker.support.running import Log, OnThread, worker_of

MARIADB = ("mysql", "mariadb")


def new(stand: Stand) -> dict[str, Any]:
    """A row of the case."""
    row: dict[str, Any] = {"account": 1} if stand.case.name == "advisory" else {"size": 1}
    return {**row, "queue": "a"} if stand.case.name == "fifo" else row


def refused(kind: type[Any], *calls: Callable[[], Any]) -> Any:
    """Make each call. Returns the error, which is the same of all."""
    found: list[Any] = []
    for call in calls:
        with pytest.raises(kind) as caught:
            call()
        found.append(caught.value)
    assert len({str(error) for error in found}) == 1
    return found[0]


def claim(stand: Stand, connection: Any) -> Any:
    """A claim by hand, of a group where the table has them."""
    group: dict[str, Any] = {"group": "a"} if stand.case.name == "fifo" else {}
    return stand.claim(connection, **group)


def by_hand(stand: Stand, **options: Any) -> Callable[[], None]:
    """A claim by hand on a connection of its own, which must be left as it was."""

    def call() -> None:
        connection = stand.connect(**options)
        try:
            with claim(stand, connection):
                pass
        finally:
            if stand.dialect == "postgres":
                assert connection.info.transaction_status == 0
            connection.close()

    return call


@on_cases(*FORMS)
def test_an_id_that_is_not_unique_is_refused(looking: Looking) -> None:
    stand = looking.stand
    with_a_key_of_two_columns(stand)
    before = stand.rows()
    calls: list[Callable[[], Any]] = [looking, by_hand(stand)]
    if stand.dialect != "sqlite":
        calls.append(by_hand(stand, autocommit=True))
    error = refused(SchemaMismatch, *calls)
    assert (error.table, error.column) == ("jobs", "id")
    assert "no unique index on this column alone" in str(error)
    assert stand.rows() == before
    stand.database.wait_until_idle()


@on_cases(LEASE)
def test_a_unique_index_is_as_good_as_a_primary_key(looking: Looking) -> None:
    stand = looking.stand
    with_a_key_of_two_columns(stand)
    if stand.dialect in ("postgres", "sqlite"):
        stand.database.execute("CREATE UNIQUE INDEX some_ids ON jobs (id) WHERE attempt = 1")
        refused(SchemaMismatch, looking, by_hand(stand))
    stand.database.execute("CREATE UNIQUE INDEX all_ids ON jobs (id)")
    looking()
    by_hand(stand)()
    assert looking.events == []


@on_cases(LEASE)
def test_a_connection_is_looked_at_once(stand: Stand) -> None:
    if stand.dialect == "sqlite":
        pytest.skip("sqlite3's connections are looked at before every claim")
    connection = stand.connect()
    with stand.claim(connection):
        pass
    with_a_key_of_two_columns(stand)
    with stand.claim(connection):
        pass
    refused(SchemaMismatch, by_hand(stand))


@on_dialects("sqlite")
@pytest.mark.parametrize("case", [LEASE, ADVISORY, FIFO], ids=lambda case: case.name)
def test_a_missing_column_is_no_string(looking: Looking) -> None:
    # SQLite takes "size" for a string where there is no such column: each row would hold its name
    stand = looking.stand
    column = "attempt" if stand.case.name == "advisory" else "size"
    stand.database.execute(f"ALTER TABLE jobs RENAME COLUMN {column} TO other")
    connection = stand.connect()
    stats = functools.partial(stand.module.stats, **({"group": "a"} if stand.case is FIFO else {}))
    calls: list[Callable[[], Any]] = [
        by_hand(stand),
        lambda: stats(connection),
    ]
    error = refused(SchemaMismatch, *calls)
    assert error.column == column
    assert error.statement in stand.sql
    with pytest.raises(SchemaMismatch):
        looking()


@on_cases(LEASE.with_(dialects=MARIADB), ROW_LOCK.with_(dialects=MARIADB))
def test_a_time_that_every_update_moves(looking: Looking) -> None:
    stand = looking.stand
    stand.database.execute(
        "ALTER TABLE jobs MODIFY run_after DATETIME(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6)"
        " ON UPDATE CURRENT_TIMESTAMP(6)"
    )
    error = refused(SchemaMismatch, looking, by_hand(stand))
    assert error.column == "run_after"
    assert "ON UPDATE CURRENT_TIMESTAMP" in str(error)


@on_cases(LEASE.with_(dialects=MARIADB))
def test_a_time_of_the_teams_own_may_move(looking: Looking) -> None:
    looking.stand.database.execute(
        "ALTER TABLE jobs ADD changed DATETIME(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6)"
        " ON UPDATE CURRENT_TIMESTAMP(6)"
    )
    looking()
    by_hand(looking.stand)()
    assert looking.events == []


@on_cases(LEASE.with_(dialects=MARIADB), ROW_LOCK.with_(dialects=MARIADB))
def test_a_session_in_another_zone_writes_no_timestamp(looking: Looking) -> None:
    stand = looking.stand
    stand.enqueue([new(stand)])
    other = {"init_command": "SET time_zone = '+05:30'"}
    by_hand(stand, **other)()  # a DATETIME is the same in every zone
    stand.database.execute(
        "ALTER TABLE jobs MODIFY run_after TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6)"
    )
    looking()  # the worker sets its own sessions
    by_hand(stand, init_command="SET time_zone = '+00:00'")()
    connection = stand.connect(**other)
    error = refused(
        ServerUnfit,
        by_hand(stand, **other),
        lambda: stand.module.enqueue(stand.connect(**other), stand.module.New(**new(stand))),
        lambda: stand.module.stats(connection),
    )
    assert error.setting == "time_zone"
    assert "+05:30" in str(error) and "run_after" in str(error)


@on_cases(LEASE.with_(dialects=MARIADB))
def test_a_lease_is_not_settled_from_another_zone(stand: Stand) -> None:
    stand.database.execute("ALTER TABLE jobs MODIFY locked_until TIMESTAMP(6) NULL")
    utc = stand.connect(init_command="SET time_zone = '+00:00'")
    stand.module.enqueue(utc, stand.module.New(**new(stand)))
    utc.commit()
    other = stand.connect(init_command="SET time_zone = '+05:30'")
    with stand.claim(utc) as deliveries:
        for delivery in deliveries:
            with pytest.raises(ServerUnfit, match="TIMESTAMP"):
                delivery.ack(other)
            with pytest.raises(ServerUnfit, match="TIMESTAMP"):
                stand.module.extend(other, [delivery])
            delivery.ack(utc)
    assert stand.count == 0


@on_cases(*(case.with_(dialects=("postgres",)) for case in FORMS))
@pytest.mark.parametrize("style", ["SQL, DMY", "German"])
def test_dates_that_the_driver_cannot_read(looking: Looking, style: str) -> None:
    stand = looking.stand
    stand.enqueue([new(stand)])
    before = stand.rows()
    options = f"-c datestyle={style.replace(' ', '')}"
    error = refused(
        ServerUnfit,
        lambda: looking(connect=lambda: stand.connect(options=options)),
        by_hand(stand, options=options),
    )
    assert error.setting == "DateStyle"
    assert stand.rows() == before, "no lease was taken"


SECURED = tuple(case.with_(dialects=("postgres",)) for case in (LEASE, ROW_LOCK, ADVISORY))


@pytest.fixture
def secured(stand: Stand) -> Any:
    """A login with every right on the table, whose rows its owner secures; dropped afterwards."""
    run, name = stand.database.execute, f"{stand.database.name}_app"
    run(f"CREATE ROLE {name} LOGIN")
    run(f"GRANT ALL ON ALL TABLES IN SCHEMA public TO {name}")
    run("ALTER TABLE jobs ENABLE ROW LEVEL SECURITY")
    yield lambda: stand.connect(user=name)
    run(f"DROP OWNED BY {name}")
    run(f"DROP ROLE {name}")


def warned(looking: Looking, caplog: pytest.LogCaptureFixture, **given: Any) -> list[str]:
    """The warnings of a worker's look, and those that a claim by hand logged."""
    looking(**given)
    connection = given.get("connect", looking.connect)()
    told.clear()
    with caplog.at_level(logging.WARNING, "sqlclaimgen"), looking.stand.claim(connection):
        pass
    connection.close()
    return [
        *map(str, looking.warnings),
        *(record.getMessage() for record in caplog.records if record.name == "sqlclaimgen"),
    ]


@on_cases(*SECURED)
@pytest.mark.parametrize("policy", [None, "FOR SELECT USING (true)", "TO postgres USING (true)"])
def test_rows_that_the_role_may_not_see(looking: Looking, secured: Any, policy: str | None) -> None:
    stand = looking.stand
    stand.enqueue([new(stand)])
    if policy is not None:
        stand.database.execute(f"CREATE POLICY chosen ON jobs {policy}")

    def claimed() -> None:
        with claim(stand, secured()):
            pass

    error = refused(
        ServerUnfit,
        lambda: looking(connect=secured),
        claimed,
    )
    assert stand.module.stats(secured()).row_security
    assert error.setting == "row_security"
    assert ("SELECT" in str(error)) is ("SELECT" not in str(policy))
    assert "UPDATE" in str(error)


@on_cases(LEASE.with_(dialects=("postgres",)))
def test_rows_that_a_policy_chooses(
    looking: Looking, secured: Any, caplog: pytest.LogCaptureFixture
) -> None:
    stand = looking.stand
    condition = "size::text = current_setting('app.tenant', true)"
    stand.database.execute(f"CREATE POLICY chosen ON jobs USING ({condition})")
    found = warned(looking, caplog, connect=secured)
    assert len(found) == 2 and len({*found}) == 1
    assert "row level security" in found[0]


@on_cases(LEASE)
def test_a_column_that_no_insert_names(looking: Looking, caplog: pytest.LogCaptureFixture) -> None:
    stand = looking.stand
    number = "int" if stand.dialect != "sqlite" else "INTEGER"
    for table in ("jobs", "jobs_dead"):
        if stand.dialect == "sqlite":  # which adds none without a default
            rows = stand.database.execute(f"SELECT sql FROM sqlite_master WHERE name = '{table}'")
            stand.database.execute(f"DROP TABLE {table}")
            made = rows[0][0].rstrip().removesuffix("STRICT").rstrip().removesuffix(")")
            stand.database.execute(f"{made}, tenant {number} NOT NULL, fine {number} DEFAULT 1)")
            continue
        stand.database.execute(f"ALTER TABLE {table} ADD tenant {number} NOT NULL")
        stand.database.execute(f"ALTER TABLE {table} ADD fine {number} NOT NULL DEFAULT 1")
    found = warned(looking, caplog)
    assert len(found) == 4 and len({*found}) == 2
    assert "jobs, column tenant" in found[0] and "enqueue" in found[0]
    assert "jobs_dead, column tenant" in found[1] and "dead_letter" in found[1]


@on_dialects("postgres")
@pytest.mark.parametrize("case", [LEASE.with_(dialects=("postgres",))], ids=["lease"])
def test_a_table_partitioned_by_another_column(
    looking: Looking, caplog: pytest.LogCaptureFixture
) -> None:
    stand = looking.stand
    stand.database.execute("ALTER TABLE jobs RENAME TO plain")
    stand.database.execute("DROP INDEX jobs_claim")
    stand.database.execute(
        "CREATE TABLE jobs (LIKE plain INCLUDING DEFAULTS) PARTITION BY RANGE (run_after)"
    )
    stand.database.execute("CREATE TABLE jobs_all PARTITION OF jobs DEFAULT")
    refused(SchemaMismatch, looking, by_hand(stand))
    stand.database.execute("ALTER TABLE jobs ADD PRIMARY KEY (id, run_after)")
    refused(SchemaMismatch, looking, by_hand(stand))
    stand.database.execute("CREATE SEQUENCE numbers")
    stand.database.execute("ALTER TABLE jobs ALTER id SET DEFAULT nextval('numbers')")
    found = warned(looking, caplog)
    assert len(found) == 2 and "partitioned" in found[0]
    stand.enqueue([new(stand)] * 3)
    worker: Worker[Any, Any] = Worker(
        stand.module.QUEUE, lambda delivery: None, connect=stand.connect
    )
    worker.run(until="empty")
    assert stand.count == 0


STATUS = LEASE.with_(
    name="status",
    dialects=("postgres",),
    body=LEASE.body.replace('dead_letter = { table = "jobs_dead" }', "").replace(
        "    note =",
        """    status = { role = "status", status = { pending = "pending", done = "done", dead = "dead" } }
    note =""",
    ),
)
"""Its finished rows stay, in another partition."""


def partitioned(stand: Stand, columns: str) -> None:
    """The table made anew, partitioned by its status."""
    stand.database.execute("ALTER TABLE jobs RENAME TO plain")
    stand.database.execute("CREATE SEQUENCE numbers")
    stand.database.execute(
        "CREATE TABLE jobs (LIKE plain INCLUDING DEFAULTS) PARTITION BY LIST (status)"
    )
    stand.database.execute("ALTER TABLE jobs ALTER id SET DEFAULT nextval('numbers')")
    stand.database.execute(f"ALTER TABLE jobs ADD PRIMARY KEY ({columns})")
    for status in ("pending", "done", "dead"):
        stand.database.execute(
            f"CREATE TABLE jobs_{status} PARTITION OF jobs FOR VALUES IN ('{status}')"
        )


@pytest.mark.parametrize(
    ("rows", "claimers"), [(300, 4), pytest.param(2000, 8, marks=pytest.mark.soak)]
)
@on_cases(STATUS)
def test_rows_that_move_to_another_partition(stand: Stand, rows: int, claimers: int) -> None:
    # settled rows leave the partition that claims read; conflicts of claims are tried in test_conflicts
    partitioned(stand, "id, status")
    stand.enqueue([new(stand)] * rows)
    log = Log()
    settings: dict[str, Any] = {"concurrency": 8, "on_event": log, "poll_interval": 0.05}
    started = [
        OnThread(worker_of("blocking", stand, lambda delivery: None, **settings), until="empty")
        for _ in range(claimers)
    ]
    for one in started:
        one.join(120)
    assert sorted(log.ids(EventKind.SETTLED)) == list(range(1, rows + 1))
    assert sorted(log.ids(EventKind.STARTED)) == list(range(1, rows + 1))
    assert not log.of(EventKind.FAILED, EventKind.LOST, EventKind.DISCONNECTED)
    assert stand.database.value("SELECT COUNT(*) FROM jobs_done") == rows


@pytest.mark.parametrize(
    "case",
    [
        STATUS.with_(
            name="deduped",
            body=STATUS.body + '    key = { role = "dedupe_key", type = "text", null = true }\n',
        )
    ],
    ids=["deduped"],
)
@on_dialects("postgres")
def test_a_dedupe_key_of_a_partitioned_table(
    looking: Looking, caplog: pytest.LogCaptureFixture
) -> None:
    stand = looking.stand
    assert warned(looking, caplog) == []
    partitioned(stand, "id, status")
    found = warned(looking, caplog)
    assert len([text for text in found if "jobs, column key" in text and "enqueue" in text]) == 2
    with pytest.raises(StatementFailed):
        stand.enqueue([{**new(stand), "key": "a"}])


@on_dialects("sqlite")
@pytest.mark.parametrize("case", [LEASE, ADVISORY], ids=lambda case: case.name)
def test_ids_that_come_again(looking: Looking, caplog: pytest.LogCaptureFixture) -> None:
    stand = looking.stand
    assert warned(looking, caplog) == []
    made = stand.database.execute(
        "SELECT sql FROM sqlite_master WHERE tbl_name = 'jobs' AND sql <> '' ORDER BY type DESC"
    )
    stand.database.execute("DROP TABLE jobs")
    for (sql,) in made:
        stand.database.execute(sql.replace(" AUTOINCREMENT", ""))
    found = warned(looking, caplog)
    assert len(found) == (2 if stand.case.name == "advisory" else 0)
    assert all("AUTOINCREMENT" in text for text in found)


CHOSEN = ADVISORY.with_(
    name="advisory",
    body=ADVISORY.body.replace(", generated = true", ""),
)
"""Its producers choose the ids."""


@on_dialects("postgres", "sqlite")
@pytest.mark.parametrize(
    ("case", "warnings"),
    [
        pytest.param(CHOSEN, 0, id="attempt"),
        pytest.param(
            CHOSEN.with_(body=CHOSEN.body.replace('    attempt = { role = "attempt" }\n', "")),
            2,
            id="none",
        ),
    ],
)
def test_ids_that_producers_choose(
    looking: Looking, warnings: int, caplog: pytest.LogCaptureFixture
) -> None:
    found = warned(looking, caplog)
    assert len(found) == warnings
    assert all("jobs, column id: producers choose the ids" in text for text in found)


@on_cases(LEASE)
def test_a_module_from_before_is_not_looked_at(stand: Stand) -> None:
    stand.module.QUEUE = dataclasses.replace(stand.module.QUEUE, work=None, dead=None)
    with_a_key_of_two_columns(stand)
    by_hand(stand)()
