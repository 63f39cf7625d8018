"""DR-03: the limit of a notification's payload."""

from __future__ import annotations

import psycopg

from tests.conformance.harness import Stand, on_cases
from tests.worker.support.waiting import NOTIFIED, Waiting


@on_cases(NOTIFIED)
def test_a_row_of_any_size_is_enqueued_and_wakes(stand: Stand) -> None:
    with Waiting(stand.module.QUEUE, stand.database.connect).running() as waiting:
        waiting.settle_down(stand.database)
        stand.enqueue([{"payload": "x" * 20_000}])
        waiting.wait(lambda: len(waiting.done) == 1)


@on_cases(NOTIFIED)
def test_it_carries_nothing_and_goes_out_with_the_commit(stand: Stand) -> None:
    listening = psycopg.connect(stand.database.dsn, autocommit=True)
    listening.execute(f"LISTEN {stand.module.QUEUE.channel}")
    connection = stand.connect()
    new = stand.module.New
    stand.module.enqueue_many(connection, [new(payload="a"), new(payload="b")])
    assert list(listening.notifies(timeout=0.1)) == []
    connection.rollback()
    assert list(listening.notifies(timeout=0.1)) == []
    stand.module.enqueue_many(connection, [new(payload="a"), new(payload="b")])
    connection.commit()
    heard = list(listening.notifies(timeout=30, stop_after=1))
    assert [(one.channel, one.payload) for one in heard] == [("sqlclaimgen_jobs", "")]
    listening.close()
    connection.close()
