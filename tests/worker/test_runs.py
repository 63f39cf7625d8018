"""A worker runs once at a time, and says when it begins and when it drains."""

from __future__ import annotations

import logging
import threading
from typing import Any

import pytest

from sqlclaimgen.runtime import ClaimError, EventKind
from tests.conformance.harness import Stand, on_cases
from tests.worker.held.cases import ADVISORY, ROW_LOCK
from tests.worker.support.cases import JOBS
from tests.worker.support.running import Log, OnThread, worker_of, working

FACES = ["blocking", "asyncio"]
SQLITE = JOBS.with_(dialects=["sqlite"])


def run(worker: Any) -> None:
    OnThread(worker, until="empty").join()


@on_cases(SQLITE)
@pytest.mark.parametrize("face", FACES)
def test_a_second_run_beside_the_first_is_refused(stand: Stand, face: str) -> None:
    log = Log()
    worker = worker_of(face, stand, lambda delivery: None, on_event=log)
    with working(worker) as first:
        log.wait_for(EventKind.READY)
        with pytest.raises(ClaimError, match="jobs: this worker runs already") as refused:
            run(worker)
        assert refused.value.table == "jobs"
        assert first.running
        # the first goes on
        (id,) = stand.enqueue([{"payload": 1}])
        log.wait_for(EventKind.SETTLED)
    assert log.ids(EventKind.SETTLED) == [id]
    assert len(log.of(EventKind.STOPPED)) == 1


@on_cases(SQLITE)
def test_a_handler_cannot_run_its_worker(stand: Stand) -> None:
    stand.enqueue([{"payload": 1}])
    raised: list[ClaimError] = []
    worker: list[Any] = []

    def handle(delivery: Any) -> None:
        with pytest.raises(ClaimError, match="runs already") as refused:
            worker[0].run("empty")
        raised.append(refused.value)

    worker.append(worker_of("blocking", stand, handle))
    run(worker[0])
    assert len(raised) == 1 and stand.count == 0


@on_cases(SQLITE)
@pytest.mark.parametrize("face", FACES)
def test_runs_follow_each_other(stand: Stand, face: str) -> None:
    worker = worker_of(face, stand, lambda delivery: None)
    for _ in range(3):
        stand.enqueue([{"payload": 1}])
        run(worker)
        assert stand.count == 0


@on_cases(SQLITE)
@pytest.mark.parametrize("face", FACES)
def test_a_stop_after_a_run_means_nothing(
    stand: Stand, face: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "sqlclaimgen.worker")
    worker = worker_of(face, stand, lambda delivery: None)
    run(worker)
    worker.stop()
    assert "jobs: stop() came after the run, and means nothing" in caplog.text
    stand.enqueue([{"payload": 1}])
    run(worker)
    assert stand.count == 0


@on_cases(SQLITE)
@pytest.mark.parametrize("face", FACES)
def test_a_run_after_one_that_was_stopped(stand: Stand, face: str) -> None:
    log = Log()
    worker = worker_of(face, stand, lambda delivery: None, on_event=log)
    with working(worker):
        log.wait_for(EventKind.READY)
    stand.enqueue([{"payload": 1}])
    run(worker)
    assert stand.count == 0


@on_cases(SQLITE)
@pytest.mark.parametrize("face", FACES)
def test_a_stop_before_the_first_run_ends_that_run_and_says_so(
    stand: Stand, face: str, caplog: pytest.LogCaptureFixture
) -> None:
    stand.enqueue([{"payload": 1}])
    worker = worker_of(face, stand, lambda delivery: None)
    worker.stop()
    OnThread(worker).join()
    assert stand.count == 1
    assert "jobs: stop() was called before run(): nothing is claimed" in caplog.text
    run(worker)
    assert stand.count == 0


@on_cases(SQLITE)
def test_a_stop_that_comes_while_a_run_begins_is_not_lost(
    stand: Stand, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand.enqueue([{"payload": 1}])
    worker = worker_of("blocking", stand, lambda delivery: None)
    plain = worker._signals

    def signals() -> Any:
        worker.stop()  # as a signal would that comes here
        return plain()

    for _ in range(2):
        monkeypatch.setattr(worker, "_signals", signals)
        OnThread(worker).join()
        assert stand.count == 1
        monkeypatch.undo()


@on_cases(SQLITE, ROW_LOCK, ADVISORY)
@pytest.mark.parametrize("check", [True, False], ids=["checked", "unchecked"])
def test_it_says_when_claiming_begins_and_when_it_drains(
    stand: Stand, check: bool, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "sqlclaimgen.worker")
    log, release = Log(), threading.Event()
    stand.enqueue([{}])
    worker = worker_of(
        "blocking",
        stand,
        lambda delivery: void(release.wait(30)),
        on_event=log,
        check=check,
        drain_timeout=25,
    )
    running = OnThread(worker)
    log.wait_for(EventKind.STARTED)
    assert log.events[0].kind is EventKind.READY
    running.stop()
    assert log.wait_for(EventKind.DRAINING).seconds == 25
    assert not log.of(EventKind.SETTLED, EventKind.STOPPED)
    release.set()
    running.join()
    told = [EventKind.READY, EventKind.DRAINING, EventKind.STOPPED]
    assert [event.kind for event in log.of(*told)] == told
    # SQLite's slots may wait for each other while they open their connections, which is a warning
    said = [record.getMessage() for record in caplog.records if record.levelname == "INFO"]
    table = stand.module.QUEUE.table
    assert said == [f"{table} {kind.value}" for kind in told]


@on_cases(JOBS.with_(dialects=["postgres"]))
@pytest.mark.parametrize("check", [True, False], ids=["checked", "unchecked"])
def test_claiming_begins_over_asyncio_connections(stand: Stand, check: bool) -> None:
    log = Log()
    stand.enqueue([{}])
    run(worker_of("native", stand, lambda delivery: None, on_event=log, check=check))
    assert [event.kind for event in log.events[:2]] == [EventKind.READY, EventKind.CLAIMED]
    assert not log.of(EventKind.DRAINING)


def void(value: object) -> None:
    del value
