"""What each outcome leaves in the row, in every shape of the row lock form."""

from __future__ import annotations

import uuid
from datetime import timedelta
from typing import Any

import pytest

from sqlclaimgen.runtime.errors import AlreadySettled
from tests.conformance.harness import Stand, on_cases
from tests.conformance.row_lock.cases import (
    BURIED,
    CHOSEN,
    DELAYED,
    FULL,
    MARKED,
    MINIMAL,
    NAMED,
    SHAPES,
)


def new(stand: Stand, **more: Any) -> dict[str, Any]:
    """The values of a New of the stand's table."""
    fields: dict[str, Any] = {"queue": "a"} if "queue =" in stand.case.body else {}
    if "uuid" in stand.case.body:
        fields["id"] = uuid.uuid4()
    return {**fields, **more}


@on_cases(*SHAPES)
def test_an_acked_row_is_finished_and_the_rest_is_free(stand: Stand) -> None:
    stand.enqueue([new(stand) for _ in range(3)])
    connection = stand.connect()
    with stand.claim(connection, limit=2) as deliveries:
        assert len(deliveries) == 2
        first = next(iter(deliveries))
        first.ack(connection)
        assert stand.unfinished == 3, "nothing is committed before the block ends"
        with pytest.raises(AlreadySettled):
            first.retry(connection)
    assert stand.unfinished == 2
    with stand.claim(connection, limit=5) as deliveries:
        left = {delivery.id for delivery in deliveries}
    assert len(left) == 2
    assert first.id not in left
    assert stand.unfinished == 2


@on_cases(*SHAPES)
def test_an_empty_claim_leaves_no_transaction(stand: Stand) -> None:
    connection = stand.connect()
    with stand.claim(connection) as deliveries:
        assert len(deliveries) == 0
        with stand.claim(connection):  # refused if the first one's transaction were open
            pass


@on_cases(FULL, MINIMAL, DELAYED, NAMED, MARKED)
def test_a_retry_counts_the_attempt_and_a_rollback_does_not(stand: Stand) -> None:
    (id,) = stand.enqueue([new(stand)])
    counts = stand.module.QUEUE.counts_attempts
    connection = stand.connect()
    for expected in (1, 1):
        with pytest.raises(RuntimeError), stand.claim(connection) as deliveries:
            for delivery in deliveries:
                assert (delivery.id, delivery.number) == (id, expected)
                raise RuntimeError
    for expected in (1, 2):
        with stand.claim(connection) as deliveries:
            (delivery,) = deliveries
            assert (delivery.id, delivery.number) == (id, expected if counts else 1)
            delivery.retry(connection)
    with stand.claim(connection) as deliveries:
        (delivery,) = deliveries
        assert delivery.number == (3 if counts else 1)
        delivery.ack(connection)
    assert stand.unfinished == 0
    if counts:
        row = stand.row(id)
        assert row is None or row["attempt"] == 3, "an ack counts nothing"


@on_cases(FULL, DELAYED, MARKED)
def test_retry_after_delays(stand: Stand) -> None:
    (id,) = stand.enqueue([new(stand)])
    connection = stand.connect()
    with stand.claim(connection) as deliveries:
        (delivery,) = deliveries
        delivery.retry_after(connection, timedelta(minutes=5))
    with stand.claim(connection) as deliveries:
        assert len(deliveries) == 0
    later = stand.later(301)
    with stand.claim(connection, module=later) as deliveries:
        assert [delivery.id for delivery in deliveries] == [id]


@on_cases(DELAYED, FULL, MARKED)
def test_a_retry_that_writes_what_the_row_holds_is_no_loss(stand: Stand) -> None:
    """PyMySQL counts changed rows unless told otherwise, and the clock may stand still."""
    module = stand.at(stand.module.QUEUE.clock())
    connection = stand.connect()
    module.enqueue(connection, module.New(**new(stand)))
    connection.commit()
    for _ in range(2):
        with stand.claim(connection, module=module) as deliveries:
            (delivery,) = deliveries
            delivery.retry(connection)


@on_cases(FULL)
def test_the_last_attempt_is_a_dead_letter_in_the_same_commit(stand: Stand) -> None:
    (id,) = stand.enqueue([new(stand)])
    connection = stand.connect()
    for _ in range(2):
        with stand.claim(connection) as deliveries:
            (delivery,) = deliveries
            delivery.retry(connection, "boom")
    row = stand.row(id)
    assert row is not None
    assert (row["attempt"], row["note"]) == (3, "boom")
    with stand.claim(connection) as deliveries:
        (delivery,) = deliveries
        delivery.retry_after(connection, timedelta(minutes=1), "last")
        assert stand.count == 1, "not before the commit"
    assert stand.count == 0
    (dead,) = stand.rows(dead=True)
    assert (dead["id"], dead["attempt"], dead["reason"], dead["error"]) == (
        id,
        3,
        "attempts",
        "last",
    )


@on_cases(BURIED)
def test_dead_letters_of_a_group_are_claimed_by_its_name_only(stand: Stand) -> None:
    (id,) = stand.enqueue([new(stand)])
    connection = stand.connect()
    with stand.claim(connection) as deliveries:
        (delivery,) = deliveries
        delivery.dead_letter(connection, "no", "because")
    row = stand.row(id)
    assert row is not None
    assert (row["queue"], row["origin"], row["attempt"], row["note"]) == ("dead", "a", 1, "because")
    with stand.module.claim_table(connection, limit=5) as deliveries:
        assert len(deliveries) == 0
    for attempt in range(1, 6):
        with stand.claim(connection, group="dead") as deliveries:
            (delivery,) = deliveries
            assert delivery.attempt == attempt
            delivery.retry(connection)
    assert stand.unfinished == 1


@on_cases(MARKED)
def test_dead_letters_stay_marked(stand: Stand) -> None:
    (id,) = stand.enqueue([new(stand, token="t")])
    connection = stand.connect()
    with stand.claim(connection) as deliveries:
        (delivery,) = deliveries
        delivery.dead_letter(connection, "no")
    row = stand.row(id)
    assert row is not None
    assert (row["state"], row["note"], row["token"]) == ("failed", "no", None)
    assert stand.unfinished == 0


@on_cases(NAMED)
def test_rows_without_a_group_have_their_own_claim(stand: Stand) -> None:
    connection = stand.connect()
    ids = [uuid.uuid4(), uuid.uuid4()]
    for id, queue in zip(ids, ("a", None), strict=True):
        stand.module.enqueue(connection, stand.module.New(id=id, queue=queue))
    connection.commit()
    with stand.claim(connection, limit=5) as deliveries:
        assert [delivery.id for delivery in deliveries] == ids[:1]
    with stand.module.claim_ungrouped(connection, limit=5) as deliveries:
        for delivery in deliveries:
            assert delivery.id == ids[1]
            delivery.ack(connection)
    assert stand.unfinished == 1


@on_cases(CHOSEN)
def test_the_extra_condition_holds(stand: Stand) -> None:
    stand.fill([{"id": n, "queue": "a", "held_back": n % 2 == 0} for n in range(1, 9)])
    connection = stand.connect()
    with stand.claim(connection, limit=8) as deliveries:
        assert [delivery.id for delivery in deliveries] == [1, 3, 5, 7]
