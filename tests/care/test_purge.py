"""Finished rows deleted once they are old: in batches, by an index, past what must stay."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from sqlclaimgen.runtime import StatementFailed, TransactionOpen
from sqlclaimgen.runtime.protocols import care
from tests.care.cases import (
    DEAD_GROUP,
    DEAD_TABLE,
    FIFO,
    MARKED,
    MARKED_ALONE,
    OWN_IDS,
    ROW_LOCK,
)
from tests.conformance.harness import Stand, on_cases, waiting

NOW = datetime(2026, 6, 1, 12, 0, tzinfo=UTC)


def days(n: float) -> datetime:
    return NOW - timedelta(days=n)


@on_cases(DEAD_TABLE)
def test_deletes_what_finished_long_ago(stand: Stand, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(care, "PAGE", 3)
    old = [{"queue": "a", "finished": days(8 + n), "payload": {}} for n in range(8)]
    young = [{**old[0], "finished": days(2)}, {**old[0], "finished": None}]
    stand.fill(old + young)
    module = stand.at(NOW)
    connection = stand.connect()
    assert module.purge(connection, older_than=timedelta(days=7), limit=2) == 2
    assert max(row["finished"] for row in stand.rows() if row["finished"]) == days(2)
    assert module.purge(connection, older_than=timedelta(days=7)) == 6
    assert module.purge(connection, older_than=timedelta(days=7)) == 0
    assert [row["finished"] for row in stand.rows()] == [days(2), None]


@on_cases(MARKED)
def test_dead_letters_stay_and_hide_nothing(stand: Stand, monkeypatch: pytest.MonkeyPatch) -> None:
    """LR-04: a full page of old rows that must stay does not end the purge."""
    monkeypatch.setattr("sqlclaimgen.runtime.protocols.care.PAGE", 2)
    dead = [{"state": "dead", "finished": days(30)}] * 5
    done = [{"state": "done", "finished": days(20)}] * 3
    stand.fill(dead + done)
    assert stand.at(NOW).purge(stand.connect(), older_than=timedelta(days=7)) == 3
    assert {row["state"] for row in stand.rows()} == {"dead"}


@on_cases(DEAD_TABLE)
def test_passes_over_locked_rows(stand: Stand) -> None:
    if stand.dialect == "sqlite":
        pytest.skip("SQLite has no row locks")
    old = {"queue": "a", "finished": days(30), "payload": {}}
    stand.fill([old] * 4 + [{**old, "finished": None}])
    holder, connection = stand.connect(), stand.connect()
    held = [stand.rows()[0]["id"], stand.rows()[-1]["id"]]
    for id in held:
        cursor = holder.cursor()
        cursor.execute("SELECT id FROM jobs WHERE id = %s FOR UPDATE", (id,))
        cursor.fetchall()
    # a purge that waits is found out
    limit = "lock_timeout = '1s'" if stand.dialect == "postgres" else "innodb_lock_wait_timeout = 1"
    connection.cursor().execute(f"SET {limit}")
    connection.commit()
    with pytest.raises(StatementFailed, match="purge failed"):
        stand.at(NOW, module=stand.twin(purge=waiting)).purge(
            connection, older_than=timedelta(days=7)
        )
    assert stand.at(NOW).purge(connection, older_than=timedelta(days=7)) == 3
    holder.rollback()
    assert [row["id"] for row in stand.rows()] == held


@on_cases(DEAD_TABLE, MARKED, FIFO, ROW_LOCK)
def test_reads_its_index(stand: Stand) -> None:
    index = next(index for index in stand.plan.indexes if "purge" in index.serves)
    sql = stand.sql["purge"].replace(":limit", "10")
    moment = {"sqlite": "1", "postgres": "now()"}.get(stand.dialect, "UTC_TIMESTAMP(6)")
    row: dict[str, Any] = {"finished": days(30)} | (
        {"state": "done"}
        if stand.case is MARKED
        else {"queue": "a", **({} if stand.case is FIFO else {"payload": {}})}
    )
    unfinished = {**row, "finished": None} | ({"state": "pending"} if "state" in row else {})
    stand.fill([row] * 40 + [unfinished] * 3000)
    analyze = {"postgres": "ANALYZE jobs", "sqlite": "ANALYZE"}
    stand.database.execute(analyze.get(stand.dialect, "ANALYZE TABLE jobs"))
    plan = str(stand.database.explain(sql.replace(":before", moment)))
    assert index.name in plan


@on_cases(DEAD_TABLE)
def test_refuses_an_open_transaction(stand: Stand) -> None:
    connection = stand.connect()
    stand.module.enqueue(connection, stand.module.New(queue="a", payload={}))
    with pytest.raises(TransactionOpen):
        stand.module.purge(connection, older_than=timedelta(days=1))
    with pytest.raises(ValueError, match="negative"):
        stand.module.purge(stand.connect(), older_than=timedelta(days=-1))


@on_cases(OWN_IDS, DEAD_GROUP, MARKED_ALONE)
def test_does_not_exist_without_a_time(stand: Stand) -> None:
    assert not hasattr(stand.module, "purge")
    assert not [name for name in stand.sql if name.startswith("purge")]
