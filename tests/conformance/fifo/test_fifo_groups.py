"""What a group is, what its head is, and in which order groups are served."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from sqlclaimgen.runtime.protocols import fifo
from sqlclaimgen.runtime.protocols.scope import TABLE, UNGROUPED, group
from tests.conformance.fifo.fifo_cases import (
    LEASE,
    ROW_LOCK,
    claiming,
    due,
    edited,
    ids,
    nullable,
    typed,
)
from tests.conformance.harness import Stand, on_cases

AN_HOUR = timedelta(hours=1)


def now() -> datetime:
    return datetime.now(UTC)


def rows(*groups: Any, **more: Any) -> list[dict[str, Any]]:
    """A row for each, from id 1."""
    return [{"id": n, "queue": name, **more} for n, name in enumerate(groups, 1)]


def claimed(stand: Stand, limit: int, resume: Any = None) -> tuple[list[Any], Any]:
    """The ids of a table claim that is kept open (row lock) or committed, and where the next goes on."""
    taken = claiming(stand, TABLE.resuming(resume), limit).finish()
    return [delivery.id for delivery in taken.deliveries], taken


@on_cases(LEASE, ROW_LOCK)
def test_heads_of_all_groups_the_empty_name_included(stand: Stand) -> None:
    stand.fill(rows("b", "", "a", "b", "a", priority=0))
    got, taken = claimed(stand, 10)
    assert got == [2, 3, 1]
    assert not taken.full
    assert ids(claiming(stand, TABLE, 10)) == []


@on_cases(LEASE, ROW_LOCK)
def test_an_urgent_row_is_the_head_and_a_delayed_head_holds_its_group(stand: Stand) -> None:
    stand.fill(
        [
            {"id": 1, "queue": "a", "priority": 1, "run_after": now()},
            {"id": 2, "queue": "a", "priority": 0, "run_after": now()},
            {"id": 3, "queue": "b", "priority": 0, "run_after": now() + AN_HOUR},
            {"id": 4, "queue": "b", "priority": 1, "run_after": now()},
        ]
    )
    assert ids(claiming(stand, group("b"))) == []
    assert ids(claiming(stand, TABLE, 10)) == [2]


@on_cases(due(LEASE), due(ROW_LOCK))
@pytest.mark.parametrize("scope", [group("a"), TABLE], ids=["group", "table"])
def test_a_delayed_row_lets_the_others_pass(stand: Stand, scope: Any) -> None:
    stand.fill(
        [
            {"id": 1, "queue": "a", "priority": 0, "run_after": now() + AN_HOUR},
            {"id": 2, "queue": "a", "priority": 1, "run_after": now()},
            {"id": 3, "queue": "a", "priority": 1, "run_after": now() - AN_HOUR},
            {"id": 4, "queue": "b", "priority": 1, "run_after": now() + AN_HOUR},
        ]
    )
    first = claiming(stand, scope)
    assert ids(first) == [3]
    assert ids(claiming(stand, scope)) == []


@on_cases(*(typed(case, kind) for case in (LEASE, ROW_LOCK) for kind in ("bigint", "uuid")))
def test_groups_of_other_types(stand: Stand) -> None:
    names: list[Any] = [-5, 0, 7]
    if "uuid" in stand.case.name:
        names = [uuid.UUID(int=n) for n in (0, 1, 2**127 + 5)]
    stand.fill(rows(*reversed(names), *names, priority=0))
    got, taken = claimed(stand, 2)
    assert got == [3, 2]
    assert taken.full
    assert ids(claiming(stand, group(names[2]))) == [1]
    assert ids(claiming(stand, group(names[0]))) == []


@on_cases(LEASE, ROW_LOCK)
def test_groups_are_served_in_turn(stand: Stand) -> None:
    stand.fill(rows("a", "b", "c", "d", "e", priority=0))
    served: list[Any] = []
    resume = None
    for _ in range(5):
        got, taken = claimed(stand, 1, resume)
        resume = taken.resume
        served += got
        stand.fill([{"id": 100 + len(served), "queue": "a", "priority": 0}])
    assert served == [1, 2, 3, 4, 5]


@on_cases(LEASE)
def test_the_round_goes_past_the_end(stand: Stand) -> None:
    stand.fill(rows("a", "b", "c", priority=0))
    assert claimed(stand, 10, fifo.Turn("b", "b"))[0] == [3, 1, 2]
    # the group it stood at is gone
    stand.fill([{"id": 9, "queue": "c", "priority": 0}, {"id": 10, "queue": "0", "priority": 0}])
    assert claimed(stand, 10, fifo.Turn("bb", "bb"))[0] == [10]


@on_cases(LEASE, ROW_LOCK)
def test_a_claim_looks_at_so_many_groups_and_the_next_goes_on(
    stand: Stand, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fifo, "BUDGET", 20)
    later = now() + AN_HOUR
    stand.fill({"id": n, "queue": f"g{n:02}", "run_after": later} for n in range(1, 51))
    stand.fill([{"id": 99, "queue": "g45", "run_after": now(), "priority": -1}])
    got, taken = claimed(stand, 1)
    turns = [got]
    while taken.full and not got:
        got, taken = claimed(stand, 1, taken.resume)
        turns.append(got)
    assert turns == [[], [], [99]]
    resume, looks = taken.resume, 0
    while True:
        got, taken = claimed(stand, 1, resume)
        assert got == []
        resume, looks = taken.resume, looks + 1
        if not taken.full:
            break
    # once round, and not for ever
    assert looks <= 4


@on_cases(nullable(LEASE), nullable(ROW_LOCK))
def test_rows_without_a_group_stand_alone(stand: Stand) -> None:
    stand.fill(rows(None, None, None, "", "", priority=0))
    one, two = claiming(stand, UNGROUPED), claiming(stand, UNGROUPED)
    assert [ids(one), ids(two)] == [[1], [2]]
    # a claim of the whole table takes them too
    assert claimed(stand, 10)[0] == [4, 3]


@on_cases(nullable(LEASE))
def test_rows_without_a_group_and_groups_take_turns(stand: Stand) -> None:
    stand.fill(rows(None, None, None, "a", "b", "c", priority=0))
    served: list[Any] = []
    resume = None
    for _ in range(4):
        got, taken = claimed(stand, 1, resume)
        resume = taken.resume
        served += got
    assert served == [4, 1, 5, 2]


@on_cases(LEASE, ROW_LOCK)
def test_groups_that_differ_in_case_or_accents_are_different(stand: Stand) -> None:
    stand.fill(rows("a", "A", "e", "é", "a ", priority=0))
    assert ids(claiming(stand, group("a"))) == [1]
    # MySQL and MariaDB guard a name and the same with blanks behind it as one, for tables that compare
    # them so: the second waits for the first as long as that one is guarded (FO-12)
    shared = stand.module.QUEUE.form == "row_lock" and stand.dialect in ("mysql", "mariadb")
    assert ids(claiming(stand, group("a "))) == ([] if shared else [5])
    assert claimed(stand, 10)[0] == [2, 3, 4]


@on_cases(LEASE)
def test_an_exhausted_head_leaves_its_group(stand: Stand) -> None:
    # FO-11: the attempts were used up by crashes
    stand.fill(
        [
            {"id": 1, "queue": "a", "attempt": 4},
            {"id": 2, "queue": "a", "attempt": 1},
            {"id": 3, "queue": "b", "attempt": 9},
        ]
    )
    taken = claiming(stand, group("a")).finish()
    assert (list(taken.deliveries), taken.exhausted, taken.full) == ([], 1, True)
    assert ids(claiming(stand, group("a"))) == [2]
    assert claimed(stand, 10)[1].exhausted == 1
    assert [(row["id"], row["reason"]) for row in stand.rows(dead=True)] == [
        (1, "exhausted"),
        (3, "exhausted"),
    ]


ESCALATED = edited(
    LEASE,
    "escalated",
    ('dead_letter = { table = "jobs_dead" }', 'dead_letter = { group = "lost" }'),
)


@on_cases(ESCALATED)
def test_the_group_of_dead_letters_is_left_out_of_table_claims(stand: Stand) -> None:
    stand.fill(
        [
            {"id": 1, "queue": "lost", "attempt": 1},
            {"id": 2, "queue": "zz", "attempt": 4},
            {"id": 3, "queue": "zz", "attempt": 1},
        ]
    )
    got, taken = claimed(stand, 10)
    assert (got, taken.exhausted) == ([], 1)
    assert claimed(stand, 10)[0] == [3]
    moved = stand.row(2)
    assert moved is not None
    assert (moved["queue"], moved["attempt"]) == ("lost", 1)
    assert ids(claiming(stand, group("lost"))) == [1]


PLAIN = LEASE.with_(
    name="least",
    body="""
    claims = ["group", "table"]
    where = "id <> 3"
    [table.jobs.columns]
    id = { role = "id", type = "bigint", generated = true }
    queue = { role = "group", type = "text", fifo = true }
    locked_until = { role = "locked_until" }
    """,
)
"""No order but the id's, finished rows deleted, a condition of the table's own."""


@on_cases(PLAIN, due(PLAIN))
def test_a_row_that_its_condition_holds_back_is_a_head_like_one_that_is_not_due(
    stand: Stand,
) -> None:
    stand.fill(rows("b", "a", "a", "a"))
    assert claimed(stand, 10)[0] == [2, 1]
    connection = stand.connect()
    later = stand.later(61)
    with later.claim(connection, group="a") as deliveries:
        for delivery in deliveries:
            delivery.ack(connection)
    assert stand.row(2) is None
    got = ids(claiming(stand, group("a"), module=later))
    assert got == ([4] if "due" in stand.case.name else [])


@on_cases(LEASE.with_(dialects=("mysql", "mariadb")))
def test_guards_are_the_same_over_connections_of_other_character_sets(stand: Stand) -> None:
    stand.fill(rows("é", priority=0))
    one = claiming(stand, group("é"))
    one.stop_before("claim")
    queue = stand.module.QUEUE
    connection = stand.connect(charset="latin1")
    with stand.module.claim(connection, group="é") as deliveries:
        assert len(deliveries) == 0
    assert ids(one) == [1]
    with stand.later(61).claim(connection, group="é") as deliveries:
        assert [delivery.id for delivery in deliveries] == [1]
    assert queue.fifo == "strict"
