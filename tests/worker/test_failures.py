"""What handlers fail by, how long they may run, and what the log says of it."""

from __future__ import annotations

import asyncio
import logging
import threading
from typing import Any

import pytest

from sqlclaimgen.runtime import AsyncWorker, ClaimError, EventKind
from tests.conformance.harness import Stand, on_cases
from tests.worker.held.cases import ADVISORY, ROW_LOCK
from tests.worker.support.cases import JOBS
from tests.worker.support.running import QUICK, Log, OnThread, leasing, worker_of, working

EACH = (
    JOBS.with_(dialects=["sqlite", "postgres"]),
    ROW_LOCK.with_(dialects=["postgres"]),
    ADVISORY.with_(dialects=["sqlite"]),
)


class Panic(BaseException):
    """What an extension in Rust raises: no Exception."""


@on_cases(*EACH)
@pytest.mark.parametrize("face", ["blocking", "asyncio"])
@pytest.mark.parametrize("transactional", [False, True])
def test_a_base_exception_of_a_library_is_a_failure_of_its_row(
    stand: Stand, face: str, transactional: bool
) -> None:
    if face == "asyncio" and transactional:
        pytest.skip("an `async` handler is given no blocking connection")
    one, two, three = stand.enqueue([{"payload": n} for n in (1, 2, 3)])
    log = Log()

    def handle(delivery: Any, *connection: Any) -> None:
        if delivery.row.payload == 2 and delivery.attempt == 1:
            raise Panic("slice index out of range")

    worker = worker_of(
        face, stand, handle, on_event=log, concurrency=1, transactional=transactional
    )
    OnThread(worker, until="empty").join()
    assert log.ids(EventKind.FAILED) == [two] and (two, 2) in log.deliveries
    assert sorted(log.ids(EventKind.SETTLED)) == [one, two, two, three] and stand.count == 0


@on_cases(*EACH)
def test_the_log_has_the_traceback_of_a_failure(
    stand: Stand, caplog: pytest.LogCaptureFixture
) -> None:
    stand.enqueue([{}])

    def handle(delivery: Any) -> None:
        if delivery.attempt == 1:
            raise ValueError("no such template")

    OnThread(worker_of("blocking", stand, handle), until="empty").join()
    (failed,) = [one for one in caplog.records if getattr(one, "claim_kind", "") == "failed"]
    assert failed.levelname == "WARNING" and failed.exc_info is not None
    assert isinstance(vars(failed)["claim_error"], ValueError)
    assert "in handle" in caplog.text and "no such template" in caplog.text


@on_cases(JOBS.with_(dialects=["sqlite"]))
def test_a_worker_that_ends_by_an_error_says_so(
    stand: Stand, caplog: pytest.LogCaptureFixture
) -> None:
    log = Log()
    worker = worker_of("blocking", stand, lambda delivery: None, on_event=log, groups=["none"])
    stand.enqueue([{}])
    with pytest.raises(ClaimError, match="no group column") as raised:
        OnThread(worker).join()
    (stopped,) = log.of(EventKind.STOPPED)
    assert stopped.error is raised.value
    (record,) = [one for one in caplog.records if getattr(one, "claim_kind", "") == "stopped"]
    assert record.levelno == logging.ERROR and record.exc_info is not None


@on_cases(*EACH)
def test_an_asyncio_handler_that_runs_too_long_fails(stand: Stand) -> None:
    (id,) = stand.enqueue([{}])
    log = Log()

    async def handle(delivery: Any) -> None:
        if delivery.attempt == 1:
            await asyncio.sleep(60)

    worker = AsyncWorker(
        stand.module.QUEUE,
        handle,
        connect=stand.connect,
        on_event=log,
        handler_timeout=0.2,
        **QUICK,
    )
    OnThread(worker, until="empty").join()
    assert log.ids(EventKind.TIMED_OUT) == log.ids(EventKind.FAILED) == [id]
    assert isinstance(log.of(EventKind.FAILED)[0].error, TimeoutError)
    assert log.deliveries == [(id, 1), (id, 2)] and stand.count == 0


@on_cases(JOBS.with_(dialects=["sqlite"]))
def test_the_lease_of_a_thread_that_runs_too_long_runs_out(stand: Stand) -> None:
    (id,) = stand.enqueue([{}])
    leasing(stand.module, 0.6)
    log, go = Log(), threading.Event()
    worker = worker_of(
        "blocking", stand, lambda delivery: void(go.wait(60)), on_event=log, handler_timeout=0.1
    )
    with working(worker):
        try:
            assert log.wait_for(EventKind.TIMED_OUT).id == id
            log.wait_for(EventKind.STARTED, 2)  # it is free, and claimed again
        finally:
            go.set()
        log.wait_for(EventKind.LOST)
    assert log.deliveries[:2] == [(id, 1), (id, 2)]
    assert [event.error is not None for event in log.of(EventKind.LOST)] == [True]


@on_cases(JOBS.with_(dialects=["sqlite"]))
def test_a_handler_of_many_leases_is_told_of_once(stand: Stand) -> None:
    (id,) = stand.enqueue([{}])
    leasing(stand.module, 0.2)
    log, go = Log(), threading.Event()
    with working(worker_of("blocking", stand, lambda delivery: void(go.wait(60)), on_event=log)):
        try:
            told = log.wait_for(EventKind.WARNED)
            assert told.id == id and "handler_timeout" in str(told.error)
            log.wait_for(EventKind.EXTENDED, 3, since=len(log.events))
        finally:
            go.set()
    assert len(log.of(EventKind.WARNED)) == 1


def void(value: object) -> None:
    del value
