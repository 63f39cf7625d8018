"""Rows that the database refuses to claim: by hand, the others are claimed all the same."""

from __future__ import annotations

from typing import Any

import pytest

from sqlclaimgen.runtime import FaultKind, StatementFailed
from sqlclaimgen.runtime.codecs import Codec
from tests.conformance.cases import FULL
from tests.conformance.harness import Stand, on_cases
from tests.support.refusing import WORDS, refuse
from tests.worker.held.cases import ADVISORY, FIFO_LEASE
from tests.worker.support.cases import GROUPED, JOBS

BY_HAND = (JOBS, GROUPED, FULL)
TABLE = FIFO_LEASE.with_(name="fifo-table", claims={}, claim_name="claim_table")
"""FIFO groups, claimed across the table."""


def filled(stand: Stand, number: int) -> None:
    """Rows 1 to `number`, due in this order."""
    fields = {column.field for column in stand.table.columns}
    more: dict[str, Any] = {"queue": "a"} if "queue" in fields else {}
    stand.fill({"id": id, **more} for id in range(1, number + 1))


def groups_of_two(stand: Stand) -> None:
    """Rows 1 to 8, two of each of four groups."""
    stand.fill({"id": id, "queue": "abcd"[(id - 1) // 2]} for id in range(1, 9))


def claimed(stand: Stand, connection: Any, limit: int) -> tuple[list[int], list[Any]]:
    """One claim: its rows, settled, and why others were refused."""
    with stand.claim(connection, limit) as deliveries:
        ids = []
        for delivery in deliveries:
            ids.append(delivery.id)
            delivery.ack(connection)
        return ids, list(deliveries.refused)


@pytest.mark.parametrize("bad", [{1}, {6}, {1, 4, 6}, {3, 4}], ids=str)
@on_cases(*BY_HAND)
def test_the_others_are_claimed_in_order(stand: Stand, bad: set[int]) -> None:
    filled(stand, 6)
    refuse(stand, "UPDATE", bad, when="NEW.locked_until IS NOT NULL")
    connection = stand.connect()
    ids, refused = claimed(stand, connection, 6)
    assert ids == [id for id in range(1, 7) if id not in bad]
    assert {error.id for error in refused} == bad
    for error in refused:
        assert isinstance(error, StatementFailed) and error.kind is FaultKind.ROW
        assert WORDS in str(error)
    if stand.case is not FULL:
        assert {row["id"] for row in stand.rows()} == bad
    assert all(row["locked_until"] is None for row in stand.rows() if row["id"] in bad)
    assert all(row["attempt"] == 1 for row in stand.rows() if row["id"] in bad)


@on_cases(JOBS, FULL)
def test_a_claim_of_one_row_passes_over_the_refused_ones(stand: Stand) -> None:
    filled(stand, 5)
    refuse(stand, "UPDATE", {1, 2}, when="NEW.locked_until IS NOT NULL")
    connection = stand.connect()
    for id in (3, 4, 5):
        ids, refused = claimed(stand, connection, 1)
        assert ids == [id]
        assert {error.id for error in refused} == {1, 2}
    ids, refused = claimed(stand, connection, 1)
    assert ids == []
    assert {error.id for error in refused} == {1, 2}


@on_cases(JOBS, ADVISORY)
def test_a_refused_row_alone(stand: Stand) -> None:
    filled(stand, 1)
    refuse(stand, "UPDATE", {1})
    ids, refused = claimed(stand, stand.connect(), 1)
    assert ids == []
    (error,) = refused
    assert error.id == 1 and WORDS in str(error)
    (row,) = stand.rows()
    assert row["attempt"] == 1


@on_cases(ADVISORY)
def test_an_advisory_claim_passes_over_a_row_that_it_may_not_take(stand: Stand) -> None:
    stand.fill({"id": id, "account": f"a{id}"} for id in (1, 2, 3))
    refuse(stand, "UPDATE", {1, 2})
    connection = stand.connect()
    ids, refused = claimed(stand, connection, 1)
    assert ids == [3]
    assert {error.id for error in refused} == {1, 2}
    # the keys of the refused rows are free again
    stand.fill({"id": id, "account": f"a{id - 3}"} for id in (4, 5))
    assert [claimed(stand, connection, 1)[0] for _ in range(2)] == [[4], [5]]


@on_cases(JOBS.with_(dialects=("postgres",)))
def test_a_check_at_the_commit_refuses_one_row(stand: Stand) -> None:
    filled(stand, 4)
    stand.database.execute(
        "CREATE FUNCTION refused() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$ BEGIN RAISE EXCEPTION '{WORDS}'; END $$"
    )
    stand.database.execute(
        "CREATE CONSTRAINT TRIGGER refused AFTER UPDATE ON jobs DEFERRABLE INITIALLY DEFERRED "
        "FOR EACH ROW WHEN (OLD.id = 2) EXECUTE FUNCTION refused()"
    )
    ids, refused = claimed(stand, stand.connect(), 4)
    assert ids == [1, 3, 4]
    assert [error.id for error in refused] == [2]


@on_cases(JOBS.with_(dialects=("postgres", "sqlite")))
def test_a_unique_index_refuses_one_row(stand: Stand) -> None:
    """A team's own index: one row of a customer in work."""
    stand.fill({"id": id, "customer": customer} for id, customer in enumerate("aabc", 1))
    stand.database.execute(
        "CREATE UNIQUE INDEX in_work ON jobs (customer) WHERE locked_until IS NOT NULL"
    )
    ids, refused = claimed(stand, stand.connect(), 4)
    assert ids == [1, 3, 4]
    assert [error.id for error in refused] == [2]


@pytest.mark.parametrize("bad", [{1}, {7}, {3, 5}, {1, 3, 5, 7}], ids=str)
@on_cases(TABLE)
def test_heads_of_other_groups_are_claimed_in_order(stand: Stand, bad: set[int]) -> None:
    groups_of_two(stand)
    refuse(stand, "UPDATE", bad, when="NEW.locked_until IS NOT NULL")
    ids, refused = claimed(stand, stand.connect(), 10)
    assert ids == [id for id in (1, 3, 5, 7) if id not in bad]
    assert {error.id for error in refused} == bad
    for error in refused:
        assert isinstance(error, StatementFailed) and error.kind is FaultKind.ROW
        assert WORDS in str(error)
    assert {row["id"] for row in stand.rows() if row["attempt"] == 1} == {*range(1, 9)} - set(ids)


@on_cases(TABLE)
def test_a_claim_of_one_head_goes_on_to_the_next_group(stand: Stand) -> None:
    groups_of_two(stand)
    refuse(stand, "UPDATE", {1, 3}, when="NEW.locked_until IS NOT NULL")
    connection, resume, told = stand.connect(), None, []
    for _ in range(4):
        with stand.claim(connection, 1, resume=resume) as deliveries:
            for delivery in deliveries:
                told.append(delivery.id)
                delivery.ack(connection)
            resume = deliveries.resume
    assert told == [5, 7, 6, 8]


@on_cases(FIFO_LEASE)
def test_a_refused_head_stops_its_group_and_is_reported(stand: Stand) -> None:
    groups_of_two(stand)
    refuse(stand, "UPDATE", {1}, when="NEW.locked_until IS NOT NULL")
    connection = stand.connect()
    for _ in range(2):
        ids, refused = claimed(stand, connection, 1)
        assert ids == []
        assert [error.id for error in refused] == [1]
    with stand.claim(connection, group="b") as deliveries:
        assert [delivery.id for delivery in deliveries] == [3]


@on_cases(JOBS, TABLE)
def test_a_claim_that_leaves_no_row_out_is_found_out(
    stand: Stand, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A broken twin: claims never leave a row out, so that a refused one is met again."""
    filled(stand, 3)
    refuse(stand, "UPDATE", {1}, when="NEW.locked_until IS NOT NULL")
    codec = type(stand.codec)
    given = codec.set_aside

    def none(self: Codec, ids: Any) -> dict[str, Any]:
        return given(self, [])

    monkeypatch.setattr(codec, "set_aside", none)
    ids, refused = claimed(stand, stand.connect(), 1)
    assert ids == [] and len(refused) > 1
