"""`.ddl.sql` files as a DBA loads them: with the server's own client."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest

from sqlclaimgen.description.model import Table
from tests.servers import Database
from tests.support.generated import Generated

from .conftest import TABLES


def tables(everything: Generated, dialect: str) -> list[Table]:
    return [one for one in everything.description.tables if dialect in one.dialects]


def test_every_file_loads_and_its_statements_run(database: Database, everything: Generated) -> None:
    for table in tables(everything, database.dialect):
        path = everything.folder / "sql" / database.dialect / f"{table.key}.ddl.sql"
        database.load_with_client(path)
        plan = everything.plan(table.key, database.dialect)
        name = plan.dialect.qualified(table.schema, table.name)
        # parameters of a plain SELECT need no escaping: the text is sent as it is
        assert database.execute(f"SELECT * FROM {name}") == []


def test_defaults_arrive_as_they_were_written(
    database: Database, everything: Generated, tmp_path: Path
) -> None:
    everything.install(database, "texts")
    module = everything.module("texts")
    connection: Any = database.connect(autocommit=True)
    module.enqueue(connection, module.New(id=1))
    with module.claim(connection) as (delivery,):
        given = delivery.row
    database.execute("DELETE FROM texts")
    database.execute("INSERT INTO texts (id) VALUES (1)")
    with module.claim(connection) as (delivery,):
        assert delivery.row == given
    texts = {column.name: column.default for column in everything.plan("texts", "sqlite").columns}
    for name, text in texts.items():
        if name != "id":
            assert getattr(given, name) == text


def test_a_table_of_hostile_names_works_by_hand(database: Database, everything: Generated) -> None:
    everything.install(database, "names")
    module = everything.module("names")
    connection: Any = database.connect(autocommit=True)
    given = {"class_": "c", "None_": "n", "now": "soon", "due": 7, "group": "g", "my_col": "%s :x"}
    module.enqueue(connection, module.New(id=1, **given))
    with module.claim(connection, limit=5) as (delivery,):
        assert {name: getattr(delivery.row, name) for name in given} == given
        delivery.retry(connection)
    with module.claim(connection, limit=5) as (delivery,):
        assert delivery.attempt == 2
        delivery.dead_letter(connection, "broken", "100% :x")


def test_a_teams_own_types_arrive(
    database: Database, everything: Generated, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(everything.folder)
    everything.install(database, "lease_all")
    module = everything.module("lease_all")
    models = importlib.import_module("app.models")
    connection: Any = database.connect(autocommit=True)
    report = models.Report(id=7)
    new = module.New(id=1, queue="q", customer=models.Customer("c"), payload=report)
    module.enqueue(connection, new)
    with module.claim(connection, group="q") as (delivery,):
        row = delivery.row
        assert (row.payload, row.urgency, row.customer) == (report, models.Urgency.LOW, "c")
        assert (row.note, row.key, row.day, row.price) == (new.note, new.key, new.day, new.price)
        delivery.ack(connection)


assert {"names", "texts", "lease_all"} <= set(TABLES)
