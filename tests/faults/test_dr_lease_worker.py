"""DR: drivers and poolers under a lease worker."""

from __future__ import annotations

from typing import Any

import pytest

from sqlclaimgen.runtime import EventKind
from tests.conformance.harness import Stand, on_cases
from tests.servers import PgBouncer
from tests.worker.support.cases import JOBS
from tests.worker.support.running import Log, OnThread, worker_of, working


@pytest.mark.parametrize("face", ["blocking", "native"])
@on_cases(JOBS.with_(dialects=["postgres"]))
def test_dr_01_workers_behind_a_pooler_in_transaction_mode(stand: Stand, face: str) -> None:
    import psycopg

    database: Any = stand.database
    stand.fill([{"id": n, "payload": n} for n in range(1, 201)])
    logs = [Log() for _ in range(3)]
    with PgBouncer(database, pool_size=2) as pooler:

        def connect() -> Any:
            if face == "native":
                return psycopg.AsyncConnection.connect(pooler.dsn)
            return psycopg.connect(pooler.dsn)

        workers = [
            OnThread(
                worker_of(face, stand, lambda d: None, on_event=log, connect=connect),
                until="empty",
            )
            for log in logs
        ]
        for worker in workers:
            worker.join(60)
    ids = sorted(id for log in logs for id in log.ids(EventKind.SETTLED))
    assert ids == list(range(1, 201)) and stand.count == 0
    assert not [e for log in logs for e in log.of(EventKind.DISCONNECTED, EventKind.LOST)]


@on_cases(JOBS)
def test_dr_02_a_poller_sees_new_rows(stand: Stand) -> None:
    log = Log()
    with working(worker_of("blocking", stand, lambda d: None, on_event=log)):
        for number in (1, 2, 3):
            waits = len(log.of(EventKind.WAITED))
            log.wait_for(EventKind.WAITED, waits + 2)  # it has looked, on its one connection
            stand.enqueue([{"payload": number}])
            log.wait_for(EventKind.SETTLED, number)
