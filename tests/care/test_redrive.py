"""Dead letters brought back: from a table, from a group, from a mark."""

from __future__ import annotations

import sqlite3
import threading
import uuid
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from sqlclaimgen.runtime import AlreadyQueued, StatementFailed
from sqlclaimgen.runtime.protocols import care
from sqlclaimgen.runtime.steps import Commit
from sqlclaimgen.runtime.transactions import transaction
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
from tests.conformance.harness import Case, Stand, on_cases, substituting, without
from tests.conformance.stepping import Stepper

LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)


def kill(stand: Stand, count: int, **more: Any) -> list[Any]:
    """Enqueue rows and give each up, one at a time, so that the first is the oldest."""
    grouped = any(column.field == "queue" for column in stand.table.columns)
    ids: list[Any] = []
    for n in range(count):
        row: dict[str, Any] = {"queue": "a"} if grouped else {}
        if any(column.field == "payload" for column in stand.table.columns):
            row["payload"] = {"n": n}
        if stand.case is OWN_IDS:
            row["id"] = uuid.UUID(int=n + 1)
        row |= {name: f"{value}-{n}" for name, value in more.items()}
        ids += stand.enqueue([row])
        connection = stand.connect()
        with stand.claim(connection) as deliveries:
            for delivery in deliveries:
                assert delivery.id == ids[-1]
                delivery.dead_letter(connection, "rejected", "no such page")
        connection.close()
    return ids


@on_cases(DEAD_TABLE, OWN_IDS, ROW_LOCK, ADVISORY)
def test_comes_back_from_the_table(stand: Stand) -> None:
    first, second = kill(stand, 2)
    dead = stand.rows(dead=True)
    assert [row["id"] for row in dead] == [first, second]

    connection = stand.connect()
    before = datetime.now(UTC) - timedelta(milliseconds=1)
    assert stand.module.redrive(connection, ids=[first, first]) == [first]

    row = stand.row(first)
    assert row is not None
    assert row["attempt"] == 1
    assert row.get("locked_until") is None
    if "due" in row:
        assert row["due"] >= before
        assert row["finished"] is None
        assert row["payload"] is not None
    assert [row["id"] for row in stand.rows(dead=True)] == [second]
    with stand.claim(connection) as deliveries:
        assert [(d.id, d.attempt) for d in deliveries] == [(first, 1)]


@on_cases(DEAD_GROUP)
def test_comes_back_from_the_group(stand: Stand) -> None:
    (first, second) = kill(stand, 2, slip="k")
    for id in (first, second):
        row = stand.row(id)
        assert row is not None
        assert (row["queue"], row["origin"], row["attempt"]) == ("escalated", "a", 1)
        assert (row["slip"], row["locked_until"]) == (None, None)
        assert row["error"] == "no such page"

    connection = stand.connect()
    assert stand.module.redrive(connection, ids=[second]) == [second]
    row = stand.row(second)
    assert row is not None
    assert (row["queue"], row["origin"], row["attempt"]) == ("a", None, 1)
    assert stand.module.redrive(connection, limit=10) == [first]


@on_cases(MARKED, MARKED_ALONE)
def test_comes_back_from_the_mark(stand: Stand) -> None:
    (first, second) = kill(stand, 2)
    pending = 0 if stand.case is MARKED_ALONE else "pending"
    row = stand.row(first)
    assert row is not None and row["state"] != pending
    connection = stand.connect()
    assert stand.module.redrive(connection, limit=1) == [first]
    row = stand.row(first)
    assert row is not None and row["state"] == pending
    assert row.get("finished") is None and row.get("attempt", 1) == 1
    with stand.claim(connection) as deliveries:
        assert [d.id for d in deliveries] == [first]
    assert stand.module.redrive(connection, ids=[first]) == []
    assert stand.module.redrive(connection, ids=[second]) == [second]


@on_cases(DEAD_GROUP)
def test_rows_put_into_the_dead_group_by_a_producer_stay(stand: Stand) -> None:
    (id,) = stand.enqueue([{"queue": "escalated"}])
    connection = stand.connect()
    assert stand.module.redrive(connection, ids=[id]) == []
    assert stand.module.redrive(connection, limit=5) == []


@on_cases(DEAD_GROUP)
def test_a_dead_letter_in_work_is_not_taken_from_its_holder(stand: Stand) -> None:
    (id,) = kill(stand, 1)
    connection, other = stand.connect(), stand.connect()
    with stand.claim(connection, group="escalated") as deliveries:
        (delivery,) = list(deliveries)
        assert stand.module.redrive(other, ids=[id]) == []
        assert stand.module.redrive(other, limit=1) == []
        delivery.ack(connection)
    assert stand.count == 0


@on_cases(DEAD_TABLE, DEAD_GROUP, MARKED, FIFO)
def test_up_to_n_of_the_oldest(stand: Stand) -> None:
    ids = kill(stand, 5)
    connection = stand.connect()
    assert stand.module.redrive(connection, limit=2) == ids[:2]
    assert stand.module.redrive(connection, limit=100) == ids[2:]
    assert stand.module.redrive(connection, limit=100) == []


@on_cases(DEAD_TABLE)
def test_more_than_a_page_comes_back(stand: Stand, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = kill(stand, 7)
    monkeypatch.setattr(care, "PAGE", 3)
    connection = stand.connect()
    assert stand.module.redrive(connection, ids=ids[:4]) == ids[:4]
    assert stand.module.redrive(connection, limit=100) == ids[4:]
    assert stand.rows(dead=True) == []


@on_cases(DEAD_TABLE)
def test_joins_the_callers_transaction(stand: Stand) -> None:
    (id,) = kill(stand, 1)
    connection = stand.connect()
    with pytest.raises(KeyError), transaction(connection):
        assert stand.module.redrive(connection, ids=[id]) == [id]
        raise KeyError
    assert [row["id"] for row in stand.rows(dead=True)] == [id]
    assert stand.row(id) is None
    with transaction(connection):
        assert stand.module.redrive(connection, limit=1) == [id]
    assert stand.rows(dead=True) == []


@on_cases(OWN_IDS)
def test_an_id_that_is_queued_again_is_refused(stand: Stand) -> None:
    (id, other) = kill(stand, 2)
    stand.enqueue([{"id": id}])
    connection = stand.connect()
    with pytest.raises(AlreadyQueued) as refused:
        stand.module.redrive(connection, ids=[id])
    assert refused.value.id == id
    assert stand.module.redrive(connection, limit=1) == [other]
    assert [row["id"] for row in stand.rows(dead=True)] == [id]


@on_cases(DEAD_TABLE, DEAD_GROUP, MARKED)
def test_two_redrives_bring_each_row_back_once(stand: Stand) -> None:
    (id,) = kill(stand, 1)
    if stand.dialect == "sqlite":
        pytest.skip("SQLite has one writer at a time: the second waits before its first statement")
    first, second = stand.connect(), stand.connect()
    stepper = Stepper(
        first, stand.module.QUEUE, lambda bound: care.redrive(bound, [id], joined=False)
    )
    stepper.stop_before(Commit)
    done: list[Any] = []
    thread = threading.Thread(
        target=lambda: done.append(stand.module.redrive(second, ids=[id])), daemon=True
    )
    thread.start()
    if stand.case is DEAD_TABLE:
        stand.database.wait_until_blocked(stand.database.session_id(second))
    else:
        thread.join(20)
    assert stepper.finish() == [id]
    thread.join(20)
    assert done == [[]]
    assert stand.count == 1


@on_cases(DEAD_TABLE.with_(dialects=("postgres",)))
@pytest.mark.parametrize("locking", [True, False])
def test_a_redrive_that_looked_before_another_brings_nothing_back_again(
    stand: Stand, locking: bool
) -> None:
    """Its snapshot has the dead letter, which is back and finished by the time it writes. The twin
    that does not lock the dead letter brings the row back a second time."""
    (id,) = kill(stand, 1)
    slow = substituting(
        (
            "FROM chosen AS d\n",
            "FROM chosen AS d WHERE (SELECT pg_advisory_lock_shared(1) IS NOT NULL)\n",
        )
    )
    careless = without("\n    FOR UPDATE")
    twin = stand.twin(redrive=slow if locking else lambda sql: slow(careless(sql)))
    quick, late, holder = stand.connect(), stand.connect(), stand.connect(autocommit=True)
    holder.execute("SELECT pg_advisory_lock(1)")
    done: list[Any] = []
    thread = threading.Thread(target=lambda: done.append(twin.redrive(late, ids=[id])), daemon=True)
    if locking:
        # the row is brought back and finished before the late one can have its lock
        stepper = Stepper(
            quick, stand.module.QUEUE, lambda bound: care.redrive(bound, [id], joined=False)
        )
        stepper.stop_before(Commit)
        thread.start()
        stand.database.wait_until_blocked(stand.database.session_id(late))
        stepper.finish()
    else:
        thread.start()
        stand.database.wait_until_blocked(stand.database.session_id(late))
        assert stand.module.redrive(quick, ids=[id]) == [id]
    with stand.claim(quick) as deliveries:
        for delivery in deliveries:
            delivery.ack(quick)
    stand.database.execute("DELETE FROM jobs")
    holder.execute("SELECT pg_advisory_unlock(1)")
    thread.join(20)
    assert done == [[]]
    assert stand.count == (0 if locking else 1)


def test_takes_either_ids_or_a_limit() -> None:
    from sqlclaimgen.runtime import redrive

    queue: Any = SimpleNamespace(table="jobs")
    connection = sqlite3.connect(":memory:")
    for wrong in ((None, None), ([1], 1), (None, 0)):
        with pytest.raises(ValueError, match=r"redrive|limit"):
            redrive(queue, connection, *wrong)


STATE_ALONE = Case(
    "state-alone",
    """
    advisory_lock = "accounts-{account}"
    [table.jobs.columns]
    id = { role = "id", type = "bigint", generated = true }
    account = { type = "text" }
    state = { role = "status" }
    """,
)
"""Claimed in the order of its ids, so that the index of one status serves all its statements."""


@on_cases(STATE_ALONE)
def test_one_index_serves_claims_and_dead_letters(stand: Stand) -> None:
    if stand.dialect in ("mysql", "mariadb"):
        assert [index.name for index in stand.plan.indexes] == ["jobs_claim"]
    stand.fill({"account": "a", "state": "done"} for _ in range(3000))
    stand.fill({"account": "a", "state": state} for state in ["dead", "pending"] * 20)
    analyze = {"postgres": "ANALYZE jobs", "sqlite": "ANALYZE"}
    stand.database.execute(analyze.get(stand.dialect, "ANALYZE TABLE jobs"))
    for statement in stand.plan.statements:
        if statement.name in ("redrive_oldest", "stats_dead"):
            sql = statement.text.replace(":limit", "10").replace(":most", "100")
            assert statement.index in str(stand.database.explain(sql)), statement.name
    with stand.claim(stand.connect()) as deliveries:
        assert len(deliveries) == 1
    assert len(stand.module.redrive(stand.connect(autocommit=True), limit=100)) == 20


def _restart(stand: Stand) -> None:
    """Empty the table, and let the database number its rows from 1 again."""
    match stand.dialect:
        case "postgres":
            stand.database.execute("TRUNCATE jobs RESTART IDENTITY")
        case "sqlite":
            stand.database.execute("DELETE FROM jobs")
            stand.database.execute("DELETE FROM sqlite_sequence")
        case _:
            stand.database.execute("TRUNCATE TABLE jobs")


@on_cases(DEAD_TABLE, ROW_LOCK, ADVISORY)
def test_a_dead_letter_whose_id_is_alive_again_stays(stand: Stand) -> None:
    """The ids began again: the others come back, and the next row takes none of theirs."""
    ids = kill(stand, 4)
    _restart(stand)
    assert stand.enqueue([{"queue": "a", "payload": {"new": True}}] * 2) == ids[:2]
    connection = stand.connect()
    with pytest.raises(AlreadyQueued, match="in the table still") as refused:
        stand.module.redrive(connection, ids=ids)
    assert refused.value.id == ids[0]
    assert stand.module.redrive(connection, limit=1) == ids[2:3]
    assert stand.module.redrive(connection, limit=10) == ids[3:]
    assert stand.module.redrive(connection, limit=10) == []
    assert [row["id"] for row in stand.rows(dead=True)] == ids[:2]
    (new,) = stand.enqueue([{"queue": "a", "payload": {}}])
    assert new > ids[3]
    stand.database.execute(f"UPDATE jobs_dead SET id = 1000 WHERE id = {ids[0]}")
    assert stand.module.redrive(connection, ids=[1000]) == [1000]


def _refuse(stand: Stand, ids: Sequence[Any], deferred: str = "") -> None:
    """Have the database refuse these dead letters: what they refer to is gone."""
    if stand.dialect == "sqlite":
        kept = ", ".join(str(id) for id in ids)
        stand.database.execute(
            f"CREATE TRIGGER refuse BEFORE INSERT ON jobs WHEN NEW.id IN ({kept}) "
            "BEGIN SELECT RAISE(ABORT, 'FOREIGN KEY constraint failed'); END"
        )
        return
    # with the type and the collation of the column that refers to it
    stand.database.execute("CREATE TABLE customers AS SELECT slip AS code FROM jobs_dead")
    stand.database.execute("ALTER TABLE customers ADD PRIMARY KEY (code)")
    stand.database.execute(
        f"ALTER TABLE jobs ADD FOREIGN KEY (slip) REFERENCES customers (code){deferred}"
    )
    for id in ids:
        stand.database.execute(f"UPDATE jobs_dead SET slip = 'gone-{id}' WHERE id = {id}")


@on_cases(DEAD_TABLE, ROW_LOCK, ADVISORY)
def test_a_dead_letter_that_the_database_refuses_holds_up_no_other(
    stand: Stand, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = kill(stand, 9, slip="k")
    _refuse(stand, [ids[0], ids[1], ids[5]])
    connection = stand.connect()
    # all or none where ids are given
    with pytest.raises(StatementFailed, match=r"(?i)foreign key") as refused:
        stand.module.redrive(connection, ids=ids)
    assert refused.value.id == ids[0]
    assert "does not fit the table" in str(refused.value)
    assert (stand.count, len(stand.rows(dead=True))) == (0, 9)

    back = stand.module.redrive(connection, limit=1)
    assert (back, [kept.id for kept in back.kept]) == ([ids[2]], ids[:2])
    monkeypatch.setattr(care, "PAGE", 3)
    with transaction(connection):
        back = stand.module.redrive(connection, limit=100)
    assert sorted(back) == [ids[n] for n in (3, 4, 6, 7, 8)]
    assert [kept.id for kept in back.kept] == [ids[0], ids[1], ids[5]]
    assert [row["id"] for row in stand.rows(dead=True)] == [ids[0], ids[1], ids[5]]
    assert stand.count == 6


@on_cases(DEAD_TABLE.with_(dialects=("postgres",)))
def test_a_constraint_that_is_checked_at_the_commit_keeps_its_dead_letter_only(
    stand: Stand,
) -> None:
    ids = kill(stand, 5, slip="k")
    _refuse(stand, [ids[2]], " DEFERRABLE INITIALLY DEFERRED")
    back = stand.module.redrive(stand.connect(), limit=100)
    assert sorted(back) == [*ids[:2], *ids[3:]]
    assert [kept.id for kept in back.kept] == [ids[2]]


@on_cases(DEAD_GROUP, MARKED)
def test_a_refused_dead_letter_of_the_same_table_holds_up_no_other(stand: Stand) -> None:
    ids = kill(stand, 4)
    when = f"OLD.id = {ids[1]}"
    stand.database.execute(
        {
            "postgres": f"""
                CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
                BEGIN IF {when} THEN RAISE EXCEPTION 'kept'; END IF; RETURN NEW; END $$;
                CREATE TRIGGER refuse BEFORE UPDATE ON jobs FOR EACH ROW
                EXECUTE FUNCTION refuse()""",
            "sqlite": f"""
                CREATE TRIGGER refuse BEFORE UPDATE ON jobs WHEN {when}
                BEGIN SELECT RAISE(ABORT, 'kept'); END""",
        }.get(
            stand.dialect,
            f"""
                CREATE TRIGGER refuse BEFORE UPDATE ON jobs FOR EACH ROW
                IF {when} THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'kept'; END IF""",
        )
    )
    back = stand.module.redrive(stand.connect(), limit=10)
    assert sorted(back) == [ids[0], *ids[2:]]
    assert [(kept.id, "kept" in kept.error) for kept in back.kept] == [(ids[1], True)]


@on_cases(DEAD_TABLE)
def test_the_text_says_what_a_live_id_does_to_the_statement(stand: Stand) -> None:
    text = (stand.generated.folder / "sql" / stand.dialect / "jobs.sql").read_text("utf-8")
    block = text.partition("-- name: redrive\n")[2].partition("-- Runs:")[0]
    said = "passed over" if stand.dialect in ("postgres", "sqlite") else "fails the statement"
    assert "One whose id or its slip is in the work table" in block and said in block
