"""LR: rows lost or stuck, as a lease worker could bring it about."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest

from sqlclaimgen.runtime import EventKind
from tests.conformance.harness import Stand, on_cases
from tests.worker.support.cases import JOBS, SHORT
from tests.worker.support.injecting import Injector, injected
from tests.worker.support.process import order_for, processes
from tests.worker.support.running import Log, OnThread, worker_of, working


@on_cases(SHORT)
def test_lr_01_a_killed_worker_leaves_its_row_for_one_lease(stand: Stand, tmp_path: Path) -> None:
    (id,) = stand.enqueue([{"payload": 1}])
    log = Log()
    with processes(tmp_path) as start:
        process = start(order_for(stand, "deaf"))
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(signal.SIGKILL)
        process.wait()
        with working(worker_of("blocking", stand, lambda d: None, on_event=log)):
            log.wait_for(EventKind.SETTLED)
    assert log.deliveries == [(id, 2)] and stand.count == 0


@pytest.mark.parametrize("statement", ["begin", "claim", "commit", "extend", "ack"])
@on_cases(JOBS)
def test_lr_07_an_error_at_any_statement_leaves_the_next_turn_working(
    stand: Stand, statement: str
) -> None:
    # the server says no, once; the session stays, and must not be left in a failed transaction
    from unittest import mock

    from sqlclaimgen.runtime.worker import lease_engine
    from tests.worker.lease.test_lost_sessions import Eager

    stand.enqueue([{"payload": n} for n in range(3)])
    log = Log()
    injector = Injector(stand.database)
    wrap = injector.wrap
    refused: list[str] = []

    def watched(session: Any) -> Any:
        session = wrap(session)
        execute = session.execute

        async def once(step: Any) -> Any:
            name = getattr(step, "statement", type(step).__name__.lower())
            if name == statement and not refused:
                refused.append(name)
                from sqlclaimgen.runtime.steps import Run

                return await execute(Run(name, "SELECT no_such_column FROM no_such_table", {}))
            return await execute(step)

        session.execute = once
        return session

    injector.wrap = watched  # type: ignore[method-assign]

    def handle(delivery: Any) -> None:
        log.wait_for(EventKind.EXTENDED, timeout=10)

    with mock.patch.object(lease_engine, "Extender", Eager), injected(injector):
        worker = worker_of("blocking", stand, handle, on_event=log)
        OnThread(worker, until="empty").join(60)
    assert refused == [statement]
    assert stand.count == 0 and log.of(EventKind.DISCONNECTED)
    assert not log.of(EventKind.LOST, EventKind.FAILED, EventKind.UNSETTLED)
    assert {attempt for _, attempt in log.deliveries} == {1}


@on_cases(JOBS.with_(dialects=["postgres"]))
def test_lr_06_a_server_that_became_read_only(stand: Stand) -> None:
    # LR-06: after a failover only a new connection can lead elsewhere
    log = Log()
    name = stand.database.name
    worker = worker_of("blocking", stand, lambda d: None, on_event=log)
    with injected(Injector(stand.database)) as injector, working(worker):
        log.wait_for(EventKind.WAITED, 2)
        stand.database.execute(f'ALTER DATABASE "{name}" SET default_transaction_read_only = on')
        for session in stand.database.sessions():
            stand.database.kill_session(session)
        log.wait_for(EventKind.DISCONNECTED, 3)
        tries = injector.steps.count("claim")
        stand.database.disconnect()
        reset = stand.database.connect(autocommit=True)
        reset.execute("SET default_transaction_read_only = off")
        reset.execute(f'ALTER DATABASE "{name}" RESET default_transaction_read_only')
        reset.execute("INSERT INTO jobs (payload) VALUES ('1')")
        log.wait_for(EventKind.SETTLED)
    assert tries < 50, "a tight loop"
    assert stand.count == 0


@on_cases(JOBS)
def test_wc_03_a_token_changed_behind_the_worker_is_one_loss(stand: Stand) -> None:
    first, second = stand.enqueue([{"payload": 1}, {"payload": 2}])
    log = Log()

    def handle(delivery: Any) -> None:
        if delivery.id == first:
            stand.database.execute(f"UPDATE jobs SET attempt = 9 WHERE id = {first}")

    worker = worker_of("blocking", stand, handle, on_event=log, concurrency=1)
    OnThread(worker, until="empty").join(60)
    assert log.ids(EventKind.LOST) == [first] and log.ids(EventKind.SETTLED) == [second]
    assert [row["id"] for row in stand.rows()] == [first]
