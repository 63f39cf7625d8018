"""Columns of a type of the team's own (PostgreSQL: enum, domain, citext) against single values and lists."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sqlclaimgen.runtime.drivers.servers import SERVERS
from sqlclaimgen.runtime.driving import drive, session_of
from sqlclaimgen.runtime.placeholders import names
from sqlclaimgen.runtime.worker.checks import statements
from tests.servers import Database, on_dialects
from tests.support.generated import generate

TYPES = """
CREATE TYPE job_queue AS ENUM ('a', 'b', 'dead');
CREATE TYPE job_state AS ENUM ('new', 'done', 'failed');
CREATE DOMAIN job_id AS bigint CHECK (VALUE > 0);
CREATE DOMAIN job_key AS text;
"""
STATE = (
    'state = { role = "status", type = "text", sql = { postgres = "job_state" },'
    ' status = { pending = "new", done = "done", dead = "failed" } }'
)
FORMS = {
    "marked": ('lease = "60s"', 'locked_until = { role = "locked_until" }'),
    "lease": ('lease = "60s"', 'locked_until = { role = "locked_until" }'),
    "fifo": ('lease = "60s"', 'locked_until = { role = "locked_until" }'),
    "row_lock": ("", ""),
    "advisory": ('advisory_lock = "q-{queue}"', ""),
}


@on_dialects("postgres")
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("id", ["job_id", "job_key"])
def test_every_statement_fits_and_runs(
    database: Database, tmp_path: Path, form: str, id: str
) -> None:
    settings, column = FORMS[form]
    fifo = ", fifo = true" if form == "fifo" else ""
    marked = form == "marked"  # dead letters stay where they are
    fate = "" if marked else 'dead_letter = { table = "jobs_dead" }'
    state = STATE if marked else ""
    kind = "bigint" if id == "job_id" else "text"
    made = generate(
        f"""
        format = 1
        [table.jobs]
        dialects = ["postgres"]
        {settings}
        max_attempts = 2
        {fate}
        [table.jobs.columns]
        id = {{ role = "id", type = "{kind}", sql = {{ postgres = "{id}" }} }}
        queue = {{ role = "group", type = "text", sql = {{ postgres = "job_queue" }}{fifo} }}
        {state}
        dedupe = {{ role = "dedupe_key", type = "text", null = true, sql = {{ postgres = "job_key" }} }}
        attempt = {{ role = "attempt" }}
        {column}
        """,
        tmp_path,
    )
    for statement in filter(None, (text.strip() for text in TYPES.split(";"))):
        database.execute(statement)
    made.install(database, "jobs")
    module: Any = made.module("jobs")
    bound = module.QUEUE.bind("postgres")
    connection = database.connect(autocommit=True)
    samples = statements.parameters(bound) | dict.fromkeys(("most", "limit"), 1)
    samples |= dict.fromkeys(("group", "after", "until", "queue"), "a")
    samples["groups"] = ["a", "b"]
    session = session_of(connection, table="jobs")
    for name, sql in bound.statements.items():
        used = {one: samples.get(one) for one in names(sql)}
        drive(session, SERVERS["postgres"].fits(name, sql, used), table="jobs")
    ids: list[Any] = [1, 2, 3] if kind == "bigint" else ["k1", "k2", "k3"]
    news = [module.New(id=one, queue="a", dedupe=f"key {one}") for one in ids]
    assert module.enqueue_many(connection, news) == ids
    for one in ids:
        with module.claim(connection, group="a") as deliveries:
            (delivery,) = deliveries
            assert delivery.id == one
            delivery.dead_letter(connection, "no use")
    assert sorted(module.redrive(connection, ids=ids[:2])) == ids[:2]
    assert module.stats(connection, group="a").due.value == 2
    with module.claim(connection, group="a") as deliveries:
        for delivery in deliveries:
            delivery.ack(connection)
    assert module.stats(connection, group="a").due.value == 1
