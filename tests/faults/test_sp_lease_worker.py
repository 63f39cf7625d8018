"""SP-05, SP-06: what polling costs the database."""

from __future__ import annotations

import time
from typing import Any

from sqlclaimgen.runtime import EventKind
from tests.conformance.harness import Stand, on_cases
from tests.worker.support.cases import JOBS
from tests.worker.support.injecting import Injector, injected
from tests.worker.support.running import Log, worker_of, working


@on_cases(JOBS.with_(dialects=["postgres"]))
def test_sp_06_an_idle_worker_holds_no_transaction(stand: Stand) -> None:
    # SP-06: a poll must not leave its session idle in transaction
    log = Log()
    worker = worker_of("blocking", stand, lambda d: None, on_event=log, poll_interval=0.3)
    with injected(Injector(stand.database)) as injector, working(worker):
        for number in (1, 2, 3):
            log.wait_for(EventKind.WAITED, number)
            time.sleep(0.1)  # into the next wait
            states = stand.database.execute(
                "SELECT state, xact_start FROM pg_stat_activity WHERE datname = current_database()"
                " AND backend_type = 'client backend' AND pid <> pg_backend_pid()"
            )
            assert states == [("idle", None)]
    # SP-05: one claim in each poll, whatever the number of handlers
    waits = len(log.of(EventKind.WAITED))
    claims = injector.steps.count("claim")
    assert waits <= claims <= waits + 2
    assert len(injector.steps) <= 3 * claims


@on_cases(JOBS.with_(dialects=["postgres"]))
def test_sp_05_polling_an_empty_table_writes_nothing(stand: Stand) -> None:
    log = Log()
    with working(worker_of("blocking", stand, lambda d: None, on_event=log, poll_interval=0.01)):
        log.wait_for(EventKind.WAITED, 3)
        before = written(stand)
        log.wait_for(EventKind.WAITED, 30)
        assert written(stand) == before


def written(stand: Stand) -> tuple[Any, ...]:
    stand.database.execute("SELECT pg_stat_clear_snapshot()")
    return stand.database.execute(
        "SELECT n_tup_ins, n_tup_upd, n_tup_del FROM pg_stat_user_tables WHERE relname = 'jobs'"
    )[0]
