"""Finished rows deleted once they are old: in batches, by an index, past what must stay."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from sqlclaimgen.runtime import StatementFailed, TransactionOpen
from sqlclaimgen.runtime.driving import session_of
from sqlclaimgen.runtime.protocols import care, purging
from sqlclaimgen.runtime.queue import Bound
from tests.care.cases import (
    ADVISORY,
    DEAD_GROUP,
    DEAD_TABLE,
    FIFO,
    MARKED,
    MARKED_ALONE,
    OWN_IDS,
    ROW_LOCK,
)
from tests.conformance.harness import Stand, on_cases, substituting, waiting

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
    with pytest.raises(StatementFailed, match="purge_oldest failed"):
        stand.at(NOW, module=stand.twin(purge_oldest=waiting)).purge(
            connection, older_than=timedelta(days=7)
        )
    assert stand.at(NOW).purge(connection, older_than=timedelta(days=7)) == 3
    holder.rollback()
    assert [row["id"] for row in stand.rows()] == held


@on_cases(DEAD_TABLE, MARKED, FIFO, ROW_LOCK)
@pytest.mark.parametrize("statement", ["purge_oldest", "purge_next"])
def test_reads_its_index(stand: Stand, statement: str) -> None:
    index = next(index for index in stand.plan.indexes if "purge" in index.serves)
    sql = stand.sql[statement].replace(":limit", "10")
    moment = {"sqlite": "1", "postgres": "now()"}.get(stand.dialect, "UTC_TIMESTAMP(6)")
    earlier = {"sqlite": "0", "postgres": "now() - interval '1000 days'"}.get(
        stand.dialect, "UTC_TIMESTAMP(6) - INTERVAL 1000 DAY"
    )
    row: dict[str, Any] = {"finished": days(30)} | (
        {"state": "done"}
        if stand.case is MARKED
        else {"queue": "a", **({} if stand.case is FIFO else {"payload": {}})}
    )
    unfinished = {**row, "finished": None} | ({"state": "pending"} if "state" in row else {})
    stand.fill([row] * 40 + [unfinished] * 3000)
    analyze = {"postgres": "ANALYZE jobs", "sqlite": "ANALYZE"}
    stand.database.execute(analyze.get(stand.dialect, "ANALYZE TABLE jobs"))
    plan = str(stand.database.explain(sql.replace(":before", moment).replace(":since", earlier)))
    assert index.name in plan
    assert "Sort" not in plan and "filesort: true" not in plan.lower() and "B-TREE" not in plan


def _old(stand: Stand, count: int) -> list[Any]:
    """Finished rows, the first one the oldest, three of each moment. Returns their ids."""
    row: dict[str, Any] = {"finished": NOW}
    row |= {"state": "done"} if stand.case is MARKED else {"queue": "a", "payload": {}}
    stand.fill([{**row, "finished": days(30 - n // 3 / 24)} for n in range(count)])
    return [one["id"] for one in stand.rows()]


def _connect(stand: Stand) -> Any:
    connection = stand.connect()
    if stand.dialect == "sqlite":
        connection.execute("PRAGMA foreign_keys = ON")
    return connection


def _refer(stand: Stand, ids: Sequence[Any], deferred: str = "") -> None:
    """Rows of another table that refer to these."""
    stand.database.execute(
        "CREATE TABLE schedules (job bigint NOT NULL, "
        f"CONSTRAINT last_job FOREIGN KEY (job) REFERENCES jobs (id){deferred})"
    )
    for id in ids:
        stand.database.execute(f"INSERT INTO schedules VALUES ({id})")


WEEK = timedelta(days=7)
DEFERRED = " DEFERRABLE INITIALLY DEFERRED"


@on_cases(DEAD_TABLE, MARKED, ROW_LOCK, ADVISORY)
def test_rows_that_others_refer_to_stay_and_hold_up_no_other(
    stand: Stand, caplog: pytest.LogCaptureFixture
) -> None:
    ids = _old(stand, 200)
    _refer(stand, [ids[0], ids[1], ids[99]])
    module, connection = stand.at(NOW), _connect(stand)
    calls: list[int] = []
    while True:
        purged = module.purge(connection, older_than=WEEK, limit=20)
        calls.append(purged)
        assert {kept.id for kept in purged.kept} >= {ids[0], ids[1]}
        assert len(purged.kept) == len({kept.id for kept in purged.kept})
        assert all("foreign key" in kept.error.lower() for kept in purged.kept)
        if purged < 20:
            break
    assert calls == [20] * 9 + [17]
    assert {kept.id for kept in purged.kept} == {ids[0], ids[1], ids[99]}
    assert [row["id"] for row in stand.rows()] == [ids[0], ids[1], ids[99]]
    (record,) = [
        r for r in caplog.records if r.name == "sqlclaimgen" and "purge" in r.getMessage()
    ][-1:]
    assert "purge kept 3 rows" in record.getMessage()
    stand.database.execute("DELETE FROM schedules")
    purged = module.purge(connection, older_than=WEEK)
    assert (purged, purged.kept) == (3, ())


@on_cases(DEAD_TABLE)
def test_a_page_that_can_be_deleted_is_deleted_by_one_statement(
    stand: Stand, monkeypatch: pytest.MonkeyPatch
) -> None:
    _old(stand, 7)
    monkeypatch.setattr("sqlclaimgen.runtime.protocols.care.PAGE", 4)
    ran: list[str] = []
    run = Bound.run

    def record(self: Bound, statement: str, parameters: Any, *, row: Any = None) -> Any:
        ran.append(statement)
        return run(self, statement, parameters, row=row)

    monkeypatch.setattr(Bound, "run", record)
    assert stand.at(NOW).purge(stand.connect(), older_than=WEEK) == 7
    assert ran == ["purge_oldest", "purge", "purge_next", "purge"]


@on_cases(DEAD_TABLE)
def test_more_rows_than_a_page_that_stay_hold_up_no_other(
    stand: Stand, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Among them rows that were finished in one moment: a page ends in the middle of those."""
    monkeypatch.setattr("sqlclaimgen.runtime.protocols.care.PAGE", 2)
    ids = _old(stand, 12)
    _refer(stand, ids[:8])
    purged = stand.at(NOW).purge(_connect(stand), older_than=WEEK, limit=3)
    assert (purged, {kept.id for kept in purged.kept}) == (3, set(ids[:8]))
    assert [row["id"] for row in stand.rows()] == [*ids[:8], ids[11]]


@on_cases(DEAD_TABLE.with_(dialects=("postgres", "sqlite")))
def test_a_constraint_that_is_checked_at_the_commit_keeps_its_row_only(stand: Stand) -> None:
    ids = _old(stand, 30)
    _refer(stand, [ids[0], ids[17]], DEFERRED)
    connection = _connect(stand)
    purged = stand.at(NOW).purge(connection, older_than=WEEK)
    assert (purged, {kept.id for kept in purged.kept}) == (28, {ids[0], ids[17]})
    assert not session_of(connection, table="jobs").in_transaction
    assert [row["id"] for row in stand.rows()] == [ids[0], ids[17]]


REFUSING = {
    "postgres": """
        CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN IF OLD.id % 10 = 1 THEN RAISE EXCEPTION 'kept for the audit'; END IF; RETURN OLD; END $$;
        CREATE TRIGGER refuse BEFORE DELETE ON jobs FOR EACH ROW EXECUTE FUNCTION refuse()""",
    "mysql": """
        CREATE TRIGGER refuse BEFORE DELETE ON jobs FOR EACH ROW
        IF OLD.id % 10 = 1 THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'kept for the audit'; END IF""",
    "sqlite": """
        CREATE TRIGGER refuse BEFORE DELETE ON jobs WHEN OLD.id % 10 = 1
        BEGIN SELECT RAISE(ABORT, 'kept for the audit'); END""",
}
CANCELLING = {
    "postgres": """
        CREATE FUNCTION cancel() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN IF OLD.id % 10 = 1 THEN RETURN NULL; END IF; RETURN OLD; END $$;
        CREATE TRIGGER cancel BEFORE DELETE ON jobs FOR EACH ROW EXECUTE FUNCTION cancel()""",
    "sqlite": """
        CREATE TRIGGER cancel BEFORE DELETE ON jobs WHEN OLD.id % 10 = 1
        BEGIN SELECT RAISE(IGNORE); END""",
}


@on_cases(DEAD_TABLE)
def test_a_trigger_that_refuses_keeps_its_row_only(stand: Stand) -> None:
    ids = _old(stand, 30)
    trigger = REFUSING.get(stand.dialect, REFUSING["mysql"])
    stand.database.execute(trigger)
    purged = stand.at(NOW).purge(stand.connect(), older_than=WEEK, limit=29)
    assert (purged, [kept.id for kept in purged.kept]) == (27, [ids[0], ids[10], ids[20]])
    assert all("kept for the audit" in kept.error for kept in purged.kept)


@on_cases(DEAD_TABLE.with_(dialects=("postgres", "sqlite")))
def test_a_trigger_that_cancels_without_an_error_is_told(stand: Stand) -> None:
    """The pages behind the row are purged too: a page that deletes fewer rows is not the last."""
    ids = _old(stand, 30)
    stand.database.execute(CANCELLING[stand.dialect])
    module, connection = stand.at(NOW), stand.connect()
    calls = [module.purge(connection, older_than=WEEK, limit=5) for _ in range(6)]
    assert calls == [5, 5, 5, 5, 5, 2]
    assert [kept.id for kept in calls[0].kept] == [ids[0]]
    assert [kept.id for kept in calls[-1].kept] == [ids[0], ids[10], ids[20]]
    assert {kept.error for kept in calls[-1].kept} == {purging.CANCELLED}


@on_cases(DEAD_TABLE)
def test_what_is_refused_for_every_row_is_raised(
    stand: Stand, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The statement is not tried again for each of the rows."""
    _old(stand, 30)
    ran: list[str] = []
    run = Bound.run

    def record(self: Bound, statement: str, parameters: Any, *, row: Any = None) -> Any:
        ran.append(statement)
        return run(self, statement, parameters, row=row)

    monkeypatch.setattr(Bound, "run", record)
    module = stand.at(NOW, module=stand.twin(purge=substituting(("jobs", "gone"))))
    connection = stand.connect()
    with pytest.raises(StatementFailed, match="gone"):
        module.purge(connection, older_than=WEEK)
    assert ran == ["purge_oldest", "purge", "purge"]
    assert stand.count == 30
    assert not session_of(connection, table="jobs").in_transaction


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
