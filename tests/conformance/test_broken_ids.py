"""A row whose id is none of its type fails alone, and can be settled like any other."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest

from sqlclaimgen.runtime import RowInvalid
from tests.servers import Database, on_dialects
from tests.support.generated import generate

TOML = """
format = 1
[table.jobs]
max_attempts = 3
dead_letter = { table = "jobs_dead" }
[table.jobs.columns]
id = { role = "id", type = "uuid" }
attempt = { role = "attempt" }
locked_until = { role = "locked_until" }
"""


@on_dialects("mysql", "mariadb", "sqlite")
def test_the_rows_beside_it_are_delivered(database: Database, tmp_path: Path) -> None:
    # PostgreSQL's uuid column holds nothing else
    generated = generate(TOML, tmp_path)
    generated.install(database, "jobs")
    jobs = generated.module("jobs")
    conn = database.connect(autocommit=True)
    good = uuid.UUID(int=7)
    jobs.enqueue(conn, jobs.New(id=good))
    database.execute("INSERT INTO jobs (id, attempt) VALUES ('no uuid', 1)")
    with jobs.claim(conn, limit=10) as claimed:
        deliveries = {str(delivery.id): delivery for delivery in claimed}
        assert set(deliveries) == {str(good), "no uuid"}
        assert deliveries[str(good)].row.id == good
        assert jobs.extend(conn, list(deliveries.values())) == []
        with pytest.raises(RowInvalid, match="'s id does not decode"):
            print(deliveries["no uuid"].row)
        deliveries["no uuid"].dead_letter(conn, "broken")
        deliveries[str(good)].ack(conn)
    assert database.execute("SELECT id, reason FROM jobs_dead") == [("no uuid", "broken")]
    assert database.execute("SELECT id FROM jobs") == []


ODD = """
format = 1
[table.jobs]
lease = "60s"
max_attempts = 3
dead_letter = { table = "jobs_dead" }
[table.jobs.columns]
id = { role = "id", type = "bigint", generated = true }
attempt = { role = "attempt" }
priority = { role = "priority", type = "smallint" }
locked_until = { role = "locked_until" }
note = { type = "text", null = true }
"""


@on_dialects("sqlite")
@pytest.mark.parametrize(
    "odd",
    ["note = CAST(x'ff' AS TEXT)", "priority = 'high'", "priority = x'00'", "priority = 1.5"],
)
def test_a_row_of_odd_values_keeps_no_other_one_waiting(
    database: Database, tmp_path: Path, odd: str
) -> None:
    # SQLite's columns hold values of every type
    generated = generate(ODD, tmp_path)
    generated.install(database, "jobs")
    jobs = generated.module("jobs")
    conn = database.connect(autocommit=True)
    good = [jobs.enqueue(conn, jobs.New(note="fine")) for _ in range(3)]
    bad = jobs.enqueue(conn, jobs.New())
    database.execute(f"UPDATE jobs SET {odd} WHERE id = {bad}")
    with jobs.claim(conn, limit=10) as claimed:
        deliveries = {delivery.id: delivery for delivery in claimed}
        assert set(deliveries) == {*good, bad}
        for id in good:
            assert deliveries[id].row.note == "fine"
            deliveries[id].ack(conn)
        if odd.startswith("note"):
            with pytest.raises(RowInvalid, match=r"note does not decode: .* is no text"):
                print(deliveries[bad].row)
        deliveries[bad].dead_letter(conn, "odd")
    assert database.execute("SELECT id FROM jobs") == []
    assert conn.execute("SELECT 'a'").fetchone() == ("a",) and conn.text_factory is str


SPELLED = """
format = 1
[table.jobs]
{form}
max_attempts = 3
dead_letter = {{ table = "jobs_dead" }}
[table.jobs.columns]
id = {{ role = "id", type = "uuid" }}
attempt = {{ role = "attempt" }}
{column}
"""
FORMS = {
    "lease": ("", 'locked_until = { role = "locked_until" }'),
    "advisory lock": ('advisory_lock = "jobs-{id}"', ""),
    "row lock": ('dialects = ["mysql", "mariadb"]', ""),
}


@pytest.mark.parametrize("form", FORMS)
@on_dialects("mysql", "mariadb", "sqlite")
def test_a_uuid_in_capitals_is_settled(database: Database, tmp_path: Path, form: str) -> None:
    # whoever else writes the column of text may spell it so, and a fence compares it byte by byte
    if form == "row lock" and database.dialect == "sqlite":
        pytest.skip("SQLite has no row locks")
    first, column = FORMS[form]
    generated = generate(SPELLED.format(form=first, column=column), tmp_path)
    generated.install(database, "jobs")
    jobs = generated.module("jobs")
    conn = database.connect(autocommit=form != "row lock")
    id = uuid.UUID("6f9619ff-8b86-d011-b42d-00c04fc964ff")
    for outcome in ("retry", "ack"):
        if outcome == "retry":
            database.execute(f"INSERT INTO jobs (id, attempt) VALUES ('{str(id).upper()}', 1)")
        with jobs.claim(conn) as claimed:
            (delivery,) = claimed
            assert delivery.id == delivery.row.id == id
            if form == "lease":
                assert jobs.extend(conn, [delivery]) == []
            getattr(delivery, outcome)(conn)
    assert database.execute("SELECT id FROM jobs") == []
