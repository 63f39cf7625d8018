"""A process that dies at every step: a second worker finishes, once the leases have run out."""

from __future__ import annotations

from collections import Counter
from typing import Any
from unittest import mock

import pytest

from sqlclaimgen.runtime import EventKind
from sqlclaimgen.runtime.worker import lease_engine
from sqlclaimgen.runtime.worker.faces import Worker
from tests.conformance.harness import Stand, on_cases
from tests.worker.lease.test_lost_sessions import Eager, Rows
from tests.worker.support.cases import JOBS
from tests.worker.support.injecting import Injector, Strike, dying, injected
from tests.worker.support.running import Log, OnThread, worker_of


@on_cases(JOBS)
def test_a_process_that_dies_at_any_step_leaves_its_rows_to_the_next(stand: Stand) -> None:
    struck = set()
    for strike in crash(stand, None).strikes():
        if strike.number < 2 and crash(stand, strike).struck:
            struck.add((strike.statement, strike.after))
    wanted = {"begin", "commit", "claim", "extend", "ack", "retry", "dead_letter"}
    assert {(name, after) for name in wanted for after in (False, True)} <= struck


def crash(stand: Stand, strike: Strike | None) -> Injector:
    """One worker that dies at the strike, a second one that finishes, and what must hold of both."""
    first_log, second_log = Log(), Log()
    rows = Rows(stand, first_log)
    _, back, dead = rows.ids
    worker: Worker[Any, Any]

    def die() -> None:
        worker.stop()
        worker.stop()

    worker = worker_of(
        "blocking", stand, rows.handle, on_event=first_log, concurrency=3, poll_interval=0.02
    )
    injector = Injector(stand.database, strike, process=True, on_strike=die)
    with mock.patch.object(lease_engine, "Extender", Eager), dying(), injected(injector):
        running = OnThread(worker, until="empty")
        try:
            running.join(60)
        except Exception:
            assert injector.struck
    left = {row["id"]: row for row in stand.rows()}
    rows.log = second_log
    rows.hurry = True
    # a host whose clock says that the leases have run out
    second = worker_of(
        "blocking", stand, rows.handle, module=stand.later(61), on_event=second_log, concurrency=3
    )
    OnThread(second, until="empty").join(60)
    where = f"{strike}: left {left}, first {first_log.events}, second {second_log.events}"
    assert stand.count == 0, where
    assert [row["id"] for row in stand.rows(dead=True)] == [dead], where
    # a settlement that was told is never repeated
    told = Counter(
        (e.id, e.attempt)
        for e in [*first_log.of(EventKind.SETTLED), *second_log.of(EventKind.SETTLED)]
    )
    assert set(told.values()) <= {1}, where
    assert not second_log.of(EventKind.LOST, EventKind.UNKNOWN, EventKind.FAILED), where
    # the second worker was handed exactly what the first had left, each claim having spent an attempt
    expected = [(row["id"], row["attempt"]) for row in left.values()]
    if left.get(back, {}).get("attempt") == 1:
        expected.append((back, 2))
    assert sorted(second_log.deliveries) == sorted(expected), where
    # a row that the first worker has begun spent its attempt
    for id, attempt in first_log.deliveries:
        assert attempt is not None
        assert id not in left or left[id]["attempt"] > attempt, where
    stand.database.execute("DELETE FROM jobs_dead")
    return injector


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@on_cases(JOBS)
def test_rows_that_never_started_get_their_attempt_back(stand: Stand, after: bool) -> None:
    # one row of a key runs until the drain, the other waits for its turn; the connection that gives
    # it back dies at each of its steps
    for statement in ("begin", "give_back", "commit"):
        log = Log()
        first, second = stand.enqueue([{"customer": "acme"}, {"customer": "acme"}])
        stopped: list[Any] = []

        def handle(delivery: Any, stopped: list[Any] = stopped) -> None:
            stopped[0].stop()

        worker = worker_of("blocking", stand, handle, on_event=log, concurrency=2)
        stopped.append(worker)
        number = 1 if statement in ("begin", "commit") else 0
        injector = Injector(stand.database, Strike(statement, number, after))
        with injected(injector):
            OnThread(worker).join(60)
        assert log.deliveries == [(first, 1)]
        row = stand.row(second)
        assert row is not None and stand.row(first) is None
        # given back with its attempt; where that did not reach the table its lease gives it back
        given_back = (row["attempt"], row["locked_until"]) == (1, None)
        assert given_back or row["attempt"] == 2
        stand.database.execute("DELETE FROM jobs")
