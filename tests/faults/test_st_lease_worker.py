"""ST: starvation and wake-ups of a lease worker."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Any

from sqlclaimgen.runtime import EventKind, wake
from tests.conformance.cases import URGENT
from tests.conformance.harness import Stand, on_cases
from tests.worker.support.cases import JOBS
from tests.worker.support.injecting import Injector, injected
from tests.worker.support.running import Log, OnThread, worker_of, working


@on_cases(URGENT)
def test_st_02_a_recovered_row_keeps_its_priority(stand: Stand) -> None:
    # fresh rows of a worse priority keep coming; the lease of a better one has run out
    past = datetime(2020, 1, 1, tzinfo=UTC)
    stand.fill([{"id": 1, "queue": "a", "priority": -9, "locked_until": past}])
    stand.fill([{"id": n, "queue": "a", "priority": 0} for n in range(2, 12)])
    log = Log()
    worker = worker_of("blocking", stand, lambda d: None, on_event=log, groups=["a"], concurrency=1)
    OnThread(worker, until="empty").join(60)
    assert [id for id, _ in log.deliveries] == list(range(1, 12))


@on_cases(JOBS.with_(dialects=["postgres", "mysql", "mariadb"]))
def test_st_10_polling_goes_on_after_an_outage(stand: Stand) -> None:
    log = Log()
    with working(worker_of("blocking", stand, lambda d: None, on_event=log, poll_interval=0.02)):
        log.wait_for(EventKind.WAITED)
        stand.database.server.stop()
        log.wait_for(EventKind.DISCONNECTED, 6)
        time.sleep(0.3)  # many poll intervals
        stand.database.server.start()
        stand.enqueue([{"payload": 1}])
        log.wait_for(EventKind.SETTLED)
    # neither silent nor a tight loop: the waits between two tries grow
    assert len(log.of(EventKind.DISCONNECTED)) < 100


@on_cases(JOBS.with_(dialects=["sqlite"]))
def test_st_11_a_row_committed_between_the_empty_claim_and_the_wait(stand: Stand) -> None:
    # ST-11: the wake-up comes after the claim has looked and before the worker waits
    log = Log()
    injector = Injector(stand.database)
    wrap = injector.wrap
    done: list[int] = []

    def watched(session: Any) -> Any:
        session = wrap(session)
        execute = session.execute

        async def between(step: Any) -> Any:
            result = await execute(step)
            if type(step).__name__ == "Commit" and not done:
                done.extend(stand.enqueue([{"payload": 1}]))
                wake(stand.module.QUEUE)
            return result

        session.execute = between
        return session

    injector.wrap = watched  # type: ignore[method-assign]
    with (
        injected(injector),
        working(worker_of("blocking", stand, lambda d: None, on_event=log, poll_interval=600)),
    ):
        log.wait_for(EventKind.SETTLED, timeout=20)
    assert log.ids(EventKind.SETTLED) == done
