"""Enqueues wake the workers of their process, after their commit and not before."""

from __future__ import annotations

from typing import Any

import pytest

from sqlclaimgen.runtime import transaction, wake
from sqlclaimgen.runtime.worker.events import EventKind
from tests.conformance.harness import Stand, on_cases
from tests.worker.support.waiting import NOTIFIED, Waiting

QUIET = NOTIFIED.with_(
    body=NOTIFIED.body.replace("notify = true", ""),
    dialects=("postgres", "mysql", "mariadb", "sqlite"),
)


def _new(stand: Stand) -> Any:
    return stand.module.New(payload="x")


@on_cases(QUIET)
def test_a_transaction_of_the_runtime_wakes(stand: Stand) -> None:
    with Waiting(stand.module.QUEUE, stand.database.connect).running() as waiting:
        waiting.settle_down()
        connection = stand.connect()
        with transaction(connection):
            stand.module.enqueue(connection, _new(stand))
        waiting.wait(lambda: len(waiting.done) == 1)
        with transaction(connection), transaction(connection):
            stand.module.enqueue_many(connection, [_new(stand), _new(stand)])
        waiting.wait(lambda: len(waiting.done) == 3)


@on_cases(QUIET.with_(dialects=("postgres", "sqlite")))
def test_a_connection_that_commits_each_statement_wakes(stand: Stand) -> None:
    with Waiting(stand.module.QUEUE, stand.database.connect).running() as waiting:
        waiting.settle_down()
        stand.module.enqueue(stand.connect(autocommit=True), _new(stand))
        waiting.wait(lambda: len(waiting.done) == 1)


@on_cases(QUIET.with_(dialects=("sqlite",)))
def test_who_commits_by_hand_wakes_by_hand(stand: Stand) -> None:
    with Waiting(stand.module.QUEUE, stand.database.connect).running() as waiting:
        waiting.settle_down()
        connection = stand.connect()
        connection.execute("BEGIN IMMEDIATE")
        stand.module.enqueue(connection, _new(stand))
        connection.commit()
        before = waiting.count(EventKind.CLAIMED)
        wake(stand.module.QUEUE)
        waiting.wait(lambda: len(waiting.done) == 1)
        assert waiting.count(EventKind.CLAIMED) == before + 1


@on_cases(QUIET.with_(dialects=("sqlite",)))
def test_nothing_wakes_before_the_commit_nor_after_a_rollback(
    stand: Stand, monkeypatch: pytest.MonkeyPatch
) -> None:
    woken: list[str] = []
    monkeypatch.setattr(
        "sqlclaimgen.runtime.worker.waking.wake", lambda queue: woken.append(queue.table)
    )
    connection = stand.connect()
    with pytest.raises(ZeroDivisionError), transaction(connection):
        stand.module.enqueue(connection, _new(stand))
        raise ZeroDivisionError
    assert woken == []
    with transaction(connection):
        stand.module.enqueue_many(connection, [_new(stand), _new(stand)])
        assert woken == []
    assert woken == ["jobs"]


@on_cases(QUIET.with_(dialects=("sqlite",)))
def test_waking_after_the_workers_end_is_nothing(stand: Stand) -> None:
    with Waiting(stand.module.QUEUE, stand.database.connect).running() as waiting:
        waiting.settle_down()
    wake(stand.module.QUEUE)
