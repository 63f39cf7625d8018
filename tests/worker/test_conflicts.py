"""Conflicts in a worker: an event of their own, no attempt spent, and handlers that run again."""

from __future__ import annotations

from typing import Any

import pytest

from sqlclaimgen.runtime import EventKind
from sqlclaimgen.runtime.worker.conflicts import RUNS
from tests.conformance.harness import Stand, on_cases
from tests.support.conflicts import DIALECTS, RAISES, conflicting
from tests.worker.checks.looking import ADVISORY, LEASE, ROW_LOCK
from tests.worker.support.running import Log, OnThread, worker_of

SERVED = {case.name: case.with_(dialects=DIALECTS) for case in (LEASE, ROW_LOCK, ADVISORY)}


def enqueue(stand: Stand, number: int) -> list[Any]:
    """Rows of the case."""
    row = {"account": 1} if stand.case.name == "advisory" else {"size": 1}
    return stand.enqueue([row] * number)


def undisturbed(log: Log) -> None:
    """Nothing was disconnected or lost, and no handler failed."""
    told = {EventKind.DISCONNECTED, EventKind.FAILED, EventKind.LOST, EventKind.UNSETTLED}
    assert not log.of(*told), log.of(*told)


@on_cases(*SERVED.values())
@pytest.mark.parametrize("step", ["claim", "claim_write", "take", "commit", "ack"])
def test_every_row_is_settled_at_its_first_attempt(stand: Stand, step: str) -> None:
    if step not in ("commit", *stand.sql) or (stand.case.name, step) == ("advisory", "claim"):
        pytest.skip("the form has no such statement, or cannot tell which keys it locked")
    ids = enqueue(stand, 3)
    log = Log()
    # a key whose unlock is not confirmed costs its connection
    times = 1 if (stand.case.name, step) == ("advisory", "commit") else 3
    with conflicting(step, times) as conflicts:
        worker = worker_of("blocking", stand, lambda delivery: None, on_event=log, concurrency=1)
        OnThread(worker, until="empty").join(60)
    assert conflicts.met == times
    assert len(log.of(EventKind.CONFLICT)) == times
    undisturbed(log)
    assert sorted(log.ids(EventKind.SETTLED)) == ids
    assert {attempt for _, attempt in log.deliveries} == {1}


@on_cases(*SERVED.values())
@pytest.mark.parametrize("where", ["handler", "releasesavepoint", "ack", "commit"])
def test_a_transactional_handler_runs_again(stand: Stand, where: str) -> None:
    if (stand.case.name, where) == ("row_lock", "releasesavepoint"):
        pytest.skip("a row lock claim proves its transaction by its number, or before the ack")
    (id,) = enqueue(stand, 1)
    stand.database.execute("CREATE TABLE effects (job int)")
    log, runs = Log(), []

    def handle(delivery: Any, connection: Any) -> None:
        runs.append(delivery.attempt)
        conflicts.left = 1 if len(runs) == 1 else 0  # what comes after the handler
        cursor = connection.cursor()
        cursor.execute("INSERT INTO effects VALUES (1)")
        if where == "handler" and len(runs) == 1:
            try:
                cursor.execute(RAISES[stand.dialect])
            except Exception as error:
                raise RuntimeError("an ORM's own error") from error

    options: dict[str, Any] = {"on_event": log, "concurrency": 1, "transactional": True}
    with conflicting(where, 0) as conflicts:
        worker = worker_of("blocking", stand, handle, **options)
        OnThread(worker, until="empty").join(60)
    assert conflicts.met == (0 if where == "handler" else 1)
    assert runs == [1, 1]
    assert len(log.of(EventKind.CONFLICT)) == 1
    undisturbed(log)
    assert log.ids(EventKind.SETTLED) == [id]
    assert stand.unfinished == 0
    assert stand.database.value("SELECT COUNT(*) FROM effects") == 1


@on_cases(SERVED["lease"], SERVED["advisory"])
def test_a_handler_whose_conflicts_do_not_end_fails(stand: Stand) -> None:
    enqueue(stand, 1)
    log, runs = Log(), []

    def handle(delivery: Any, connection: Any) -> None:
        runs.append(delivery.attempt)
        if delivery.attempt == 1:
            connection.cursor().execute(RAISES[stand.dialect])

    worker = worker_of("blocking", stand, handle, on_event=log, concurrency=1, transactional=True)
    OnThread(worker, until="empty").join(60)
    assert runs == [1] * RUNS + [2]
    assert len(log.of(EventKind.FAILED)) == 1
    assert len(log.of(EventKind.CONFLICT)) == RUNS - 1
    assert not log.of(EventKind.DISCONNECTED)
    assert stand.unfinished == 0
