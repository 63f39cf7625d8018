"""Attempts, the last of them, and where rows go that are given up."""

from __future__ import annotations

import asyncio
import contextlib
from datetime import timedelta
from typing import Any

import pytest

from sqlclaimgen.runtime import utcnow
from sqlclaimgen.runtime.protocols.claimed import Claimed
from tests.conformance.cases import BURIED, COARSE, DELAYED, FULL, MARKED, WHOLE
from tests.conformance.harness import Case, Stand, on_cases
from tests.conformance.test_claiming import rows
from tests.worker.held.cases import ADVISORY

SECOND = timedelta(seconds=1)


def one(stand: Stand, connection: Any, **options: Any) -> Any:
    """The next row in work, of no block."""
    (delivery,) = stand.claim(connection, **options)._deliveries
    delivery.started = True
    return delivery


@on_cases(FULL, DELAYED, MARKED, COARSE)
def test_an_attempt_is_counted_by_the_claim(stand: Stand) -> None:
    stand.fill(rows(stand.case, 1))
    connection = stand.connect()
    delivery = one(stand, connection)
    assert (delivery.attempt, stand.rows()[0]["attempt"]) == (1, 2)
    delivery.retry(connection)
    assert stand.rows()[0]["attempt"] == 2
    assert one(stand, connection).attempt == 2
    # a crash spends an attempt
    again = one(stand, connection, module=stand.later(61))
    assert (again.attempt, stand.rows()[0]["attempt"]) == (3, 4)


@on_cases(FULL, DELAYED)
def test_a_row_whose_handler_never_started_gets_its_attempt_back(stand: Stand) -> None:
    stand.fill(rows(stand.case, 3))
    connection = stand.connect()
    with stand.claim(connection, 3) as claim:
        started = next(iter(claim))
    counted = {row["id"]: row["attempt"] for row in stand.rows()}
    assert counted.pop(started.id) == 2
    assert set(counted.values()) == {1}
    assert all(row["locked_until"] is None for row in stand.rows())


@on_cases(FULL, ADVISORY)
@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, asyncio.CancelledError, None])
def test_a_stop_by_hand_spends_no_attempt(stand: Stand, error: type[BaseException] | None) -> None:
    # a block left with an error of the handler's, or unsettled without one, keeps it counted
    stand.fill(rows(stand.case, 1))
    for raised, spent in ((error, error is None), (RuntimeError, True)):
        before = stand.rows()[0]["attempt"]
        connection = stand.connect()
        with (
            pytest.raises(raised) if raised is not None else contextlib.nullcontext(),
            stand.claim(connection) as claim,
        ):
            for _ in claim:
                if raised is not None:
                    raise raised
        connection.close()
        assert stand.rows()[0]["attempt"] - before == spent


@on_cases(FULL)
def test_a_release_by_hand_gives_the_attempt_back(stand: Stand) -> None:
    stand.fill(rows(stand.case, 1))
    connection = stand.connect()
    delivery = one(stand, connection)
    stand.module.release(connection, [delivery])
    (row,) = stand.rows()
    assert (row["attempt"], row["locked_until"]) == (1, None)


@on_cases(FULL)
def test_a_retry_queues_behind_what_waits(stand: Stand) -> None:
    stand.fill([{"id": n, "queue": "a", "priority": 0} for n in (1, 2, 3)])
    connection = stand.connect()
    order = []
    for _ in range(4):
        delivery = one(stand, connection)
        order.append((delivery.id, delivery.attempt))
        if delivery.attempt == 1 and delivery.id == 1:
            delivery.retry(connection, "again")
            assert stand.rows()[0]["note"] == "again"
        else:
            delivery.ack(connection)
    assert order == [(1, 1), (2, 1), (3, 1), (1, 2)]


@on_cases(FULL, DELAYED, MARKED)
def test_a_delayed_retry_is_due_when_it_was_asked_for(stand: Stand) -> None:
    stand.fill(rows(stand.case, 1))
    connection = stand.connect()
    before = utcnow()
    one(stand, connection).retry_after(connection, timedelta(seconds=100))
    due = stand.rows()[0]["run_after"]
    assert before + 100 * SECOND <= due <= utcnow() + 100 * SECOND
    assert len(stand.claim(connection)) == 0
    assert len(stand.claim(connection, module=stand.later(99))) == 0
    assert len(stand.claim(connection, module=stand.later(101))) == 1


@on_cases(DELAYED)
def test_a_delay_without_end_does_not_fail(stand: Stand) -> None:
    # DE-04
    stand.fill(rows(stand.case, 2))
    connection = stand.connect()
    one(stand, connection).retry_after(connection, timedelta.max)
    one(stand, connection).retry_after(connection, -timedelta(days=999_999_999))
    assert sorted(row["locked_until"] is None for row in stand.rows()) == [True, True]
    assert len(stand.claim(connection, 2)) == 1


@on_cases(FULL, BURIED)
@pytest.mark.parametrize("by", ["retry", "retry_after", "dead_letter"])
def test_the_last_attempt_is_a_dead_letter(stand: Stand, by: str) -> None:
    stand.fill(rows(stand.case, 2))
    connection = stand.connect()
    if by != "dead_letter":
        for number in (1, 2):
            delivery = one(stand, connection, limit=1)
            while delivery.id != 1:
                delivery.ack(connection)
                delivery = one(stand, connection, limit=1)
            assert delivery.attempt == number
            delivery.retry(connection, f"error {number}")
    delivery = one(stand, connection)
    while delivery.id != 1:
        delivery.ack(connection)
        delivery = one(stand, connection)
    attempt = delivery.attempt
    match by:
        case "retry":
            delivery.retry(connection, "the last error")
        case "retry_after":
            delivery.retry_after(connection, SECOND, "the last error")
        case _:
            delivery.dead_letter(connection, "poison", "the last error")
    reason = "poison" if by == "dead_letter" else "attempts"
    assert attempt == (1 if by == "dead_letter" else 3)
    if stand.case is FULL:
        assert stand.row(1) is None
        (dead,) = stand.rows(dead=True)
        assert (dead["id"], dead["attempt"], dead["locked_until"]) == (1, attempt, None)
        assert (dead["reason"], dead["error"]) == (reason, "the last error")
        assert abs(dead["time"] - utcnow()) < 60 * SECOND
    else:
        row = stand.row(1)
        assert row is not None
        assert (row["queue"], row["origin"], row["attempt"]) == ("dead", "a", 1)
        assert (row["locked_until"], row["note"], row["token"]) == (None, "the last error", None)
        assert row["processed_at"] is None


@on_cases(FULL, WHOLE, BURIED)
def test_a_claim_gives_up_rows_whose_crashes_used_the_attempts_up(stand: Stand) -> None:
    # DE-01, SH-06: attempts are spent by crashes alone, and the row is in exactly one place
    spent = {2, 5, 6}
    stand.fill([row | {"attempt": 4 if row["id"] in spent else 3} for row in rows(stand.case, 8)])
    connection = stand.connect()
    seen: set[int] = set()
    taken: list[int] = []
    while claim := stand.claim(connection, 3)._deliveries:
        taken.append(len(claim))
        for delivery in claim:
            assert delivery.attempt == 3
            delivery.ack(connection)
            seen.add(delivery.id)
    assert seen == set(range(1, 9)) - spent
    # they count towards a full claim
    assert sum(taken) == 5 and max(taken) <= 3
    if stand.table.claims and stand.case is not BURIED:
        dead = stand.rows(dead=True)
        assert {row["id"] for row in dead} == spent
        assert {row["id"] for row in stand.rows()} == seen
        for row in dead:
            assert (row["reason"], row["error"], row["attempt"]) == ("exhausted", None, 4)
            assert row["locked_until"] is None
    else:
        for row in stand.rows():
            if row["id"] in spent:
                assert (row["queue"], row["origin"], row["attempt"]) == ("dead", "a", 1)
                assert (row["note"], row["locked_until"]) == ("exhausted", None)


@on_cases(FULL)
def test_a_claim_does_not_compare_its_rows_with_one_another(
    stand: Stand, monkeypatch: pytest.MonkeyPatch
) -> None:
    # ten thousand rows took longer than their lease so
    def compared(one: Claimed, other: object) -> bool:
        raise AssertionError("two rows were compared")

    stand.fill([row | {"attempt": row["id"] % 2 * 4} for row in rows(stand.case, 8)])
    monkeypatch.setattr(Claimed, "__eq__", compared)
    assert len(stand.claim(stand.connect(), 8)._deliveries) == 4


REUSED = Case(
    "reused",
    """
    lease = "60s"
    max_attempts = 3
    dead_letter = { table = "jobs_dead" }
    [table.jobs.columns]
    id = { role = "id", type = "varchar(40)" }
    attempt = { role = "attempt" }
    locked_until = { role = "locked_until" }
    note = { type = "text", null = true }
    """,
)
KEYED = Case(
    "reused-key",
    """
    advisory_lock = "job-{id}"
    max_attempts = 3
    dead_letter = { table = "jobs_dead" }
    [table.jobs.columns]
    id = { role = "id", type = "varchar(40)" }
    attempt = { role = "attempt" }
    note = { type = "text", null = true }
    """,
)


@on_cases(REUSED, KEYED)
def test_a_dead_letter_replaces_an_older_one_of_its_id(stand: Stand) -> None:
    # a producer may use an id again once its row is given up; refused, the row would never leave, and
    # where a claim meets it exhausted no claim would bring anything any more
    connection = stand.connect()
    for number, attempt in ((1, 1), (2, 3), (3, 4), (4, 4)):
        stand.fill([{"id": "it's", "attempt": attempt, "note": str(number)}])
        with stand.claim(connection) as claim:
            for delivery in claim:
                delivery.dead_letter(connection, f"reason {number}")
        assert stand.count == 0
        (dead,) = stand.rows(dead=True)
        assert (dead["id"], dead["note"], dead["attempt"]) == ("it's", str(number), attempt)
        assert dead["reason"] == ("exhausted" if attempt == 4 else f"reason {number}")
    stand.fill([{"id": "another", "attempt": 1, "note": None}])
    assert one(stand, connection).id == "another"


@on_cases(BURIED)
def test_the_group_of_dead_letters_is_a_queue_of_its_own(stand: Stand) -> None:
    stand.fill(
        [
            {"id": 1, "queue": "dead", "priority": 0, "attempt": 99},
            *[{"id": n, "queue": "a", "priority": 0, "attempt": 1} for n in (2, 3)],
        ]
    )
    connection = stand.connect()
    # claims of the whole table leave it out
    whole = stand.module.claim_table(connection, limit=5)._deliveries
    assert {delivery.id for delivery in whole} == {2, 3}
    # a claim of the group itself knows no maximum
    (dead,) = stand.module.claim(connection, group="dead", limit=5)._deliveries
    assert dead.attempt == 99
    dead.retry(connection)
    row = stand.row(1)
    assert row is not None
    assert (row["queue"], row["attempt"], row["origin"]) == ("dead", 100, None)


@on_cases(MARKED)
def test_a_dead_letter_is_marked_where_it_stands(stand: Stand) -> None:
    stand.fill([{"id": 1, "queue": "a", "token": "x"}])
    connection = stand.connect()
    one(stand, connection).dead_letter(connection, "poison")
    (row,) = stand.rows()
    assert (row["state"], row["note"], row["locked_until"], row["token"]) == (
        "failed",
        "poison",
        None,
        None,
    )
    assert len(stand.claim(connection)) == 0


@on_cases(FULL)
def test_an_error_text_of_any_kind_is_kept(stand: Stand) -> None:
    # DE-04: recording a failure must not fail
    texts = [
        "",
        "a\x00b",
        "\ud800",
        "é" * 20_000,
        "%s %(x)s :y 'q' \"d\" \\ \\' ` ; -- /*",
        "🙂" * 9000,
    ]
    stand.fill([{"id": n + 1, "queue": "a", "priority": n} for n in range(len(texts))])
    connection = stand.connect()
    for text in texts:
        one(stand, connection).retry_after(connection, SECOND, text)
    notes = [row["note"] for row in stand.rows()]
    assert notes[4] == texts[4]
    assert notes[0] == "" and len(notes[3]) <= 8000 and len(notes[5]) <= 8000


COUNTED = Case(
    "counted",
    """
    [table.jobs.columns]
    id = { role = "id", type = "bigint", generated = true }
    attempt = { role = "attempt", type = "smallint" }
    locked_until = { role = "locked_until" }
    """,
)


@on_cases(COUNTED)
def test_the_counter_stops_at_its_columns_maximum(stand: Stand) -> None:
    most = 2**63 - 1 if stand.dialect == "sqlite" else 32767
    stand.fill([{"id": 1, "attempt": most}, {"id": 2, "attempt": 1}])
    connection = stand.connect()
    with stand.claim(connection, 10) as claim:
        assert [delivery.id for delivery in claim] == [1, 2]
        for delivery in claim:
            delivery.retry(connection)
    assert [row["attempt"] for row in stand.rows()] == [most, 2]


COUNTED_BY_HOLDERS = (
    Case(
        "counted-row-lock",
        """
        [table.jobs.columns]
        id = { role = "id", type = "bigint", generated = true }
        attempt = { role = "attempt", type = "smallint" }
        """,
        dialects=("postgres", "mysql", "mariadb"),
    ),
    Case(
        "counted-advisory",
        """
        advisory_lock = "accounts-{account}"
        [table.jobs.columns]
        id = { role = "id", type = "bigint", generated = true }
        attempt = { role = "attempt", type = "smallint" }
        account = { type = "text", default = "a" }
        """,
    ),
)


@on_cases(*COUNTED_BY_HOLDERS)
def test_a_retry_and_a_take_stop_at_the_maximum_too(stand: Stand) -> None:
    """The row lock form counts in the settlement, the advisory form when it takes the row."""
    most = 2**63 - 1 if stand.dialect == "sqlite" else 32767
    connection = stand.connect()
    for before, after in ((most, most), (most - 1, most), (1, 2)):
        stand.database.execute("DELETE FROM jobs")
        stand.fill([{"id": 1, "attempt": before}])
        with stand.claim(connection, 1) as claim:
            (delivery,) = claim
            delivery.retry(connection)
        assert [row["attempt"] for row in stand.rows()] == [after]
        with stand.claim(connection, 1) as claim:
            (delivery,) = claim
            delivery.ack(connection)
        assert stand.rows() == []
