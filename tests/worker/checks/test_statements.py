"""The statements of a worker against the live table: each mismatch names table, column, statement."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sqlclaimgen.runtime.drivers.servers import SERVERS
from sqlclaimgen.runtime.driving import drive, session_of
from sqlclaimgen.runtime.errors import SchemaMismatch
from sqlclaimgen.runtime.worker.checks import statements
from sqlclaimgen.runtime.worker.faces import Worker
from tests.conformance.harness import Stand, on_cases
from tests.servers import Database, on_dialects
from tests.support.generated import generate
from tests.worker.checks.looking import ADVISORY, FIFO, FORMS, LEASE, ROW_LOCK, Looking


@on_cases(*FORMS)
def test_the_generated_table_fits_and_stays_as_it_is(looking: Looking) -> None:
    stand = looking.stand
    row: dict[str, Any] = {"account": 1} if stand.case is ADVISORY else {"size": 1}
    row |= {"queue": "a"} if stand.case is FIFO else {}
    stand.enqueue([row])
    before = stand.rows()
    looking()
    assert looking.events == []
    assert stand.rows() == before
    stand.database.wait_until_idle()


@on_cases(*FORMS)
def test_a_missing_table(looking: Looking) -> None:
    looking.stand.database.execute("DROP TABLE jobs")
    with pytest.raises(SchemaMismatch) as refused:
        looking()
    assert (refused.value.table, refused.value.column) == ("jobs", None)
    assert refused.value.statement in str(refused.value)
    assert ".ddl.sql" in str(refused.value)
    assert refused.value.__cause__ is not None


@on_cases(*(case.with_(dialects=("mysql", "mariadb")) for case in FORMS))
def test_a_missing_index(looking: Looking) -> None:
    """Statements name their indexes there, so that no statistics lead them to another."""
    stand = looking.stand
    index = next(one.name for one in stand.plan.indexes if "claim" in one.name)
    stand.database.execute(f"DROP INDEX {index} ON jobs")
    with pytest.raises(SchemaMismatch, match=index) as refused:
        looking()
    assert refused.value.table == "jobs"
    assert refused.value.statement in str(refused.value)


@on_cases(LEASE)
def test_a_missing_dead_letter_table(looking: Looking) -> None:
    looking.stand.database.execute("DROP TABLE jobs_dead")
    with pytest.raises(SchemaMismatch, match="jobs_dead") as refused:
        looking()
    assert refused.value.statement in looking.stand.sql


@on_cases(*FORMS)
def test_a_dropped_column(looking: Looking) -> None:
    stand = looking.stand
    column = "account" if stand.case is ADVISORY else "size"
    for index in stand.plan.indexes:
        if column in index.columns:
            stand.database.execute(f"DROP INDEX {index.name}")
    stand.database.execute(f"ALTER TABLE jobs RENAME COLUMN {column} TO other")
    with pytest.raises(SchemaMismatch) as refused:
        looking()
    assert refused.value.column == column
    assert f"jobs, column {column}: the statement {refused.value.statement}" in str(refused.value)


@on_cases(LEASE)
def test_a_column_that_only_settlements_name(looking: Looking) -> None:
    looking.stand.database.execute("ALTER TABLE jobs_dead RENAME COLUMN died_at TO other")
    with pytest.raises(SchemaMismatch) as refused:
        looking()
    assert refused.value.column == "died_at"
    assert "INSERT INTO" in looking.stand.sql[refused.value.statement]


@on_cases(LEASE)
def test_statements_that_no_worker_runs_are_not_looked_at(looking: Looking) -> None:
    stand = looking.stand
    others = SERVERS[stand.dialect].others
    named = [name for name in stand.sql if name.startswith(others)]
    assert {name.partition("_")[0] for name in named} == {*others} - {"purge"}
    queue = stand.twin(**{name: lambda sql: sql.replace("jobs", "nowhere") for name in named}).QUEUE
    looking(queue=queue)


@on_cases(LEASE, ROW_LOCK, ADVISORY)
@pytest.mark.parametrize("column", ["run_after", "id"])
def test_a_changed_type(looking: Looking, column: str) -> None:
    stand = looking.stand
    if stand.dialect == "sqlite":
        pytest.skip("SQLite's columns hold values of every type")
    if stand.dialect == "postgres":
        if column == "id":
            stand.database.execute("ALTER TABLE jobs ALTER id DROP IDENTITY IF EXISTS")
        else:
            stand.database.execute(f"ALTER TABLE jobs ALTER {column} DROP DEFAULT")
        stand.database.execute(f"ALTER TABLE jobs ALTER {column} TYPE text")
    else:
        stand.database.execute(f"ALTER TABLE jobs MODIFY {column} varchar(100) NOT NULL")
    with pytest.raises(SchemaMismatch) as refused:
        looking()
    assert refused.value.column == column
    assert refused.value.statement in stand.sql


@on_dialects("postgres")
@pytest.mark.parametrize("case", [LEASE, ROW_LOCK, ADVISORY], ids=lambda case: case.name)
def test_a_time_without_a_zone(looking: Looking) -> None:
    # every statement fits it, and each host would read another moment
    looking.stand.database.execute("ALTER TABLE jobs ALTER run_after TYPE timestamp(6)")
    with pytest.raises(SchemaMismatch) as refused:
        looking()
    assert refused.value.column == "run_after"
    assert "timestamp" in str(refused.value)


@on_dialects("mysql")
@pytest.mark.parametrize("case", [ADVISORY], ids=lambda case: case.name)
def test_no_lock_is_left_behind(looking: Looking) -> None:
    # EXPLAIN would have taken it: MySQL runs GET_LOCK while it optimizes
    stand = looking.stand
    stand.enqueue([{"account": 1}])
    session = session_of(stand.connect(autocommit=True), table="jobs")
    drive(session, statements.fit(stand.module.QUEUE.bind("mysql"), SERVERS["mysql"]), table="jobs")
    drive(
        session, statements.typed(stand.module.QUEUE.bind("mysql"), SERVERS["mysql"]), table="jobs"
    )
    locks = stand.database.execute(
        "SELECT object_name FROM performance_schema.metadata_locks"
        " WHERE object_type = 'USER LEVEL LOCK'"
    )
    assert locks == []


@on_cases(LEASE)
def test_the_worker_ends_with_the_error(stand: Stand) -> None:
    stand.database.execute("ALTER TABLE jobs RENAME COLUMN size TO other")
    worker = Worker(stand.module.QUEUE, lambda delivery: None, connect=stand.database.connect)
    with pytest.raises(SchemaMismatch, match="size"):
        worker.run(until="empty")
    stand.database.wait_until_idle()


@on_dialects("postgres")
def test_a_quoted_column_is_named_as_it_is(database: Database, tmp_path: Path) -> None:
    made = generate(
        """
        format = 1
        [table.jobs]
        dialects = ["postgres"]
        [table.jobs.columns]
        id = { role = "id", type = "bigint" }
        'odd "name' = { type = "text", field = "odd" }
        """,
        tmp_path,
    )
    made.install(database, "jobs")
    database.execute('ALTER TABLE jobs RENAME COLUMN "odd ""name" TO other')
    bound = made.module("jobs").QUEUE.bind("postgres")
    session = session_of(database.connect(autocommit=True), table="jobs")
    with pytest.raises(SchemaMismatch) as refused:
        drive(session, statements.fit(bound, SERVERS["postgres"]), table="jobs")
    assert refused.value.column == 'odd "name'
