"""Eight claimers over one table: each row once, and twins that must fail (DD-09, DL-01, ST-09)."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from sqlclaimgen.runtime.errors import ClaimLost
from sqlclaimgen.runtime.protocols import row_lock
from tests.conformance.harness import Stand, on_cases, unlocked, waiting
from tests.conformance.history import History, Violation
from tests.conformance.row_lock.cases import BURIED, DELAYED, FULL, MINIMAL, WHOLE, rows, scope_of
from tests.conformance.stepping import Stepper

ROWS = 2000


def in_batches(stand: Stand, claimers: int = 8, *, module: Any = None, limit: int = 5) -> History:
    """Claimers, until every row is settled; what was settled counts once its block has committed."""
    history = History()
    barrier = threading.Barrier(claimers)
    errors: list[BaseException] = []
    stop = threading.Event()

    def one(worker: int) -> None:
        connection = stand.connect(autocommit=worker % 2 == 0)
        try:
            barrier.wait(30)
            while not stop.is_set() and history.settled < ROWS:
                begun = []
                with stand.claim(connection, limit, module=module) as deliveries:
                    history.claimed(worker)
                    for delivery in deliveries:
                        begun.append(history.begin(worker, delivery))
                        history.wait_for_rival(worker)
                        delivery.ack(connection)
                for record in begun:
                    history.end(record, "ack")
                if not begun:
                    history.wait_for_change()
        except BaseException as error:
            errors.append(error)
            stop.set()

    threads = [threading.Thread(target=one, args=(n,), daemon=True) for n in range(claimers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(90)
    if errors:
        raise errors[0]
    return history


@on_cases(FULL, WHOLE, MINIMAL, DELAYED, BURIED)
def test_eight_claimers_take_each_row_once(stand: Stand) -> None:
    stand.fill(rows(stand.case, ROWS))
    history = in_batches(stand)
    history.check_each_once(range(1, ROWS + 1))
    history.check_no_overlap()
    assert len({record.worker for record in history.records}) == 8
    assert stand.unfinished == 0


@on_cases(FULL, MINIMAL)
def test_a_claim_that_locks_nothing_fails_the_test_above(stand: Stand) -> None:
    stand.fill(rows(stand.case, 200))
    history = History()
    twin = stand.twin(claim=unlocked)
    one, two = stand.connect(), stand.connect()
    with stand.claim(one, 5, module=twin) as first, stand.claim(two, 5, module=twin) as second:
        for worker, deliveries in enumerate((first, second)):
            for delivery in deliveries:
                history.begin(worker, delivery)
        with pytest.raises(Violation, match="in work at once"):
            history.check_no_overlap()
        for connection in (one, two):
            connection.rollback()


@on_cases(FULL, MINIMAL)
def test_a_claim_that_waits_for_rivals_is_found(stand: Stand) -> None:
    """ST-09: without SKIP LOCKED the fleet stands behind one row."""
    stand.fill(rows(stand.case, 20))
    twin = stand.twin(claim=waiting)
    one, two = stand.connect(), stand.connect()
    with stand.claim(one, 2):
        with stand.claim(two, 2) as passed_over:
            assert len(passed_over) == 2
        number = stand.database.session_id(two)
        got: list[int] = []

        def wait() -> None:
            with stand.claim(two, 2, module=twin) as deliveries:
                got.append(len(deliveries))

        thread = threading.Thread(target=wait, daemon=True)
        thread.start()
        stand.database.wait_until_blocked(number)
        assert got == []
    thread.join(30)
    assert got == [2]


@on_cases(FULL, MINIMAL)
def test_a_claim_that_commits_before_the_handler_is_found(stand: Stand) -> None:
    """DD-09: the lock is gone before the work begins; the settlement must not go through."""
    stand.fill(rows(stand.case, 1))
    connection, other = stand.connect(autocommit=True), stand.connect(autocommit=True)
    claim = Stepper(
        connection, stand.module.QUEUE, lambda b: row_lock.claim(b, scope_of(stand.case), 1)
    )
    (delivery,) = claim.finish().deliveries
    delivery.connection = connection
    connection.commit()
    with stand.claim(other) as deliveries:
        assert [one.id for one in deliveries] == [delivery.id], "nobody held it"
        with pytest.raises(ClaimLost):
            delivery.ack(connection)
    assert stand.unfinished == 1


@on_cases(FULL, DELAYED)
def test_the_second_claimer_gets_the_next_rows_in_order(stand: Stand) -> None:
    stand.fill(rows(stand.case, 60))
    priorities = "priority =" in stand.case.body
    order = sorted(range(1, 61), key=lambda id: (id % 3 if priorities else 0, id))
    one, two, three = (stand.connect() for _ in range(3))
    with (
        stand.claim(one, 10) as first,
        stand.claim(two, 15) as second,
        stand.claim(three, 40) as third,
    ):
        got = [[delivery.id for delivery in deliveries] for deliveries in (first, second, third)]
    assert got == [order[:10], order[10:25], order[25:]]


@on_cases(FULL, WHOLE, DELAYED)
def test_many_rows_held_at_the_head_hide_nothing(stand: Stand) -> None:
    """No fixed window is right: a batch elsewhere can hold any number of rows."""
    stand.fill(rows(stand.case, 700, priorities=2))
    one, two = stand.connect(), stand.connect()
    with stand.claim(one, 690) as held, stand.claim(two, 3) as deliveries:
        assert len(held) == 690
        assert len(deliveries) == 3
        with stand.claim(stand.connect(), 50) as rest:
            assert len(rest) == 7


@on_cases(FULL)
def test_producers_and_claimers_do_not_stand_in_each_others_way(stand: Stand) -> None:
    """DL-02: at REPEATABLE READ claims would lock the gap that producers insert into."""
    claimer, producer = stand.connect(), stand.connect()
    stand.enqueue([{"queue": "a", "priority": n % 3} for n in range(5)])
    with stand.claim(claimer, 50) as deliveries:
        assert len(deliveries) == 5
        for priority in (0, 1, 2, 3):
            stand.module.enqueue(producer, stand.module.New(queue="a", priority=priority))
        producer.commit()
        with stand.claim(stand.connect(), 50) as new:
            assert len(new) == 4
