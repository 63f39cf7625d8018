"""Dead letters that are older than the table: written before a column was added, narrowed or renamed, and
by the version before while another one is deployed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sqlclaimgen.runtime import ClaimError, StatementFailed
from sqlclaimgen.statements.names_in_sql import NamesInSQL
from tests.care.cases import ADVISORY, DEAD_TABLE, ROW_LOCK
from tests.conformance.harness import Stand, on_cases
from tests.support.generated import generate

ADDED = """
    pages = { type = "int", default = 3 }
    lang = { type = "varchar(10)", default = "en" }
    hot = { type = "boolean", default = true }
"""


def newer(stand: Stand, folder: Path, body: str) -> tuple[Any, NamesInSQL]:
    """The module of the next version of the table, and its names."""
    generated = generate(stand.case.with_(body=body).text(stand.dialect), folder / "newer")
    (table,) = generated.description.tables
    return generated.module("jobs"), NamesInSQL(table, stand.plan.dialect)


def bury(stand: Stand, module: Any, count: int, **more: Any) -> list[Any]:
    """Enqueue rows through one version, and give each up through it."""
    ids: list[Any] = []
    connection = stand.connect()
    for n in range(count):
        ids.append(module.enqueue(connection, module.New(queue="a", payload={"n": n}, **more)))
        connection.commit()
        with stand.claim(connection, module=module) as deliveries:
            for delivery in deliveries:
                delivery.dead_letter(connection)
    connection.close()
    return ids


def add(stand: Stand, names: NamesInSQL, *fields: str) -> None:
    """Add columns to both tables, as the DDL of the first version would have had them: a dead letter may be
    without a value."""
    for column in names.columns:
        if column.column.field in fields:
            default = column.default or "'unknown'"
            stand.database.execute(
                f"ALTER TABLE jobs ADD COLUMN {column.name} {column.type} DEFAULT {default} NOT NULL"
            )
            stand.database.execute(f"ALTER TABLE jobs_dead ADD COLUMN {column.name} {column.type}")


@on_cases(DEAD_TABLE, ROW_LOCK, ADVISORY)
@pytest.mark.parametrize("oldest", [False, True])
def test_letters_from_before_a_column_have_its_default(
    stand: Stand, tmp_path: Path, oldest: bool
) -> None:
    module, names = newer(stand, tmp_path, stand.case.body + ADDED)
    before = bury(stand, stand.module, 2)
    add(stand, names, "pages", "lang", "hot")
    # the old version still runs while the new one is deployed
    during = bury(stand, stand.module, 1)
    after = bury(stand, module, 1, pages=7, lang="de", hot=False)
    connection = stand.connect()
    ids = [*before, *during, *after]
    back = module.redrive(connection, limit=10) if oldest else module.redrive(connection, ids=ids)
    assert (sorted(back), back.kept) == (ids, ())
    assert stand.rows(dead=True) == []
    found = stand.database.execute("SELECT pages, lang, hot FROM jobs ORDER BY id")
    assert [tuple(row) for row in found] == [(3, "en", True)] * 3 + [(7, "de", False)]


@on_cases(DEAD_TABLE)
def test_the_dead_letter_table_has_the_defaults_too(stand: Stand, tmp_path: Path) -> None:
    """So that a column that may be NULL has its default in a letter of the version before, too."""
    newer(stand, tmp_path, stand.case.body + ADDED)
    path = tmp_path / "newer" / "sql" / stand.dialect / "jobs.ddl.sql"
    work, _, dead = path.read_text("utf-8").partition("-- Dead letters.")
    for text in ("DEFAULT 3", "DEFAULT 'en'"):
        assert text in work and text in dead


@on_cases(DEAD_TABLE, ADVISORY)
def test_a_column_that_has_no_default_is_named_with_the_way_out(
    stand: Stand, tmp_path: Path
) -> None:
    module, names = newer(
        stand, tmp_path, stand.case.body + '    tenant = { type = "varchar(20)" }\n'
    )
    ids = bury(stand, stand.module, 2)
    add(stand, names, "tenant")
    ids += bury(stand, module, 1, tenant="acme")
    connection = stand.connect()
    with pytest.raises(StatementFailed, match="tenant") as refused:
        module.redrive(connection, ids=ids)
    assert refused.value.id == ids[0]
    assert "give a new column a default in the description" in str(refused.value)
    assert len(stand.rows(dead=True)) == 3
    back = module.redrive(connection, limit=10)
    assert (back, [kept.id for kept in back.kept]) == (ids[2:], ids[:2])
    assert all("tenant" in kept.error for kept in back.kept)
    stand.database.execute("UPDATE jobs_dead SET tenant = 'old'")
    assert module.redrive(connection, ids=ids[:2]) == ids[:2]


NARROW = DEAD_TABLE.body + '    note = { type = "varchar(40)" }\n'


@on_cases(DEAD_TABLE.with_(name="narrowed", body=NARROW, dialects=("postgres", "mysql", "mariadb")))
def test_a_letter_that_is_too_long_by_now_is_named(stand: Stand, tmp_path: Path) -> None:
    """SQLite's columns hold text of every length."""
    module, _ = newer(stand, tmp_path, NARROW.replace("varchar(40)", "varchar(5)"))
    ids = bury(stand, stand.module, 1, note="much too long")
    ids += bury(stand, stand.module, 1, note="short")
    change = "ALTER COLUMN note TYPE" if stand.dialect == "postgres" else "MODIFY note"
    stand.database.execute(f"ALTER TABLE jobs {change} varchar(5)")
    connection = stand.connect()
    with pytest.raises(StatementFailed, match=r"too long|truncated") as refused:
        module.redrive(connection, ids=ids)
    assert refused.value.id == ids[0]
    back = module.redrive(connection, limit=10)
    assert (back, [kept.id for kept in back.kept]) == (ids[1:], ids[:1])


@on_cases(DEAD_TABLE.with_(name="renamed", body=NARROW))
def test_a_column_that_was_renamed_in_one_table_is_named(stand: Stand, tmp_path: Path) -> None:
    """SQLite takes a quoted name that no column has for a text, unless a table stands before it."""
    module, _ = newer(stand, tmp_path, NARROW.replace("note =", "remark ="))
    (id,) = bury(stand, stand.module, 1, note="a")
    stand.database.execute("ALTER TABLE jobs RENAME COLUMN note TO remark")
    connection = stand.connect()
    for arguments in ({"ids": [id]}, {"limit": 5}):
        with pytest.raises(ClaimError, match="remark"):
            module.redrive(connection, **arguments)
        connection.rollback()
    assert stand.count == 0
    # nor does the statement itself, for who runs it by hand
    text = module.QUEUE.statements[stand.dialect]["redrive"]
    assert f"d.{stand.plan.dialect.quote('remark')}" in text
    stand.database.execute("ALTER TABLE jobs_dead RENAME COLUMN note TO remark")
    assert module.redrive(stand.connect(), ids=[id]) == [id]
    assert stand.database.value("SELECT remark FROM jobs") == "a"


@on_cases(DEAD_TABLE.with_(name="dropped", body=NARROW))
@pytest.mark.parametrize("kept", [False, True], ids=["both", "work-table"])
def test_letters_from_before_a_column_was_dropped_come_back(
    stand: Stand, tmp_path: Path, kept: bool
) -> None:
    module, _ = newer(stand, tmp_path, DEAD_TABLE.body)
    (id,) = bury(stand, stand.module, 1, note="a")
    for table in ("jobs",) if kept else ("jobs", "jobs_dead"):
        stand.database.execute(f"ALTER TABLE {table} DROP COLUMN note")
    assert module.redrive(stand.connect(), limit=5) == [id]
