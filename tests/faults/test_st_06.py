"""ST-06: every worker wakes for every row."""

from __future__ import annotations

from contextlib import ExitStack

from sqlclaimgen.runtime.worker.events import EventKind
from tests.conformance.harness import Stand, on_cases
from tests.worker.support.waiting import NOTIFIED, Waiting


@on_cases(NOTIFIED)
def test_a_burst_is_one_wake_up(stand: Stand) -> None:
    rows = 200
    with Waiting(stand.module.QUEUE, stand.database.connect, concurrency=1).running() as waiting:
        waiting.settle_down(stand.database)
        before = waiting.count(EventKind.WAITED)
        connection = stand.connect(autocommit=True)
        for _ in range(rows):
            stand.module.enqueue(connection, stand.module.New(payload="x"))
        waiting.wait(lambda: len(waiting.done) == rows)
        waiting.settle_down(stand.database)
        assert waiting.count(EventKind.WAITED) - before < rows / 4


@on_cases(NOTIFIED)
def test_a_fleet_claims_in_vain_once_for_each_notification_at_most(stand: Stand) -> None:
    rows, workers = 10, 5
    with ExitStack() as stack:
        fleet = [
            stack.enter_context(Waiting(stand.module.QUEUE, stand.database.connect).running())
            for _ in range(workers)
        ]
        for waiting in fleet:
            waiting.settle_down(stand.database)
        before = sum(waiting.count(EventKind.WAITED) for waiting in fleet)
        for n in range(rows):
            stand.enqueue([{"payload": "x"}])
            fleet[0].settle_down(stand.database)
            assert sum(len(waiting.done) for waiting in fleet) == n + 1
        after = sum(waiting.count(EventKind.WAITED) for waiting in fleet)
        assert after - before <= rows * workers
        assert sum(waiting.count(EventKind.DISCONNECTED) for waiting in fleet) == 0
