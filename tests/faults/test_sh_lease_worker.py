"""SH-01, 02, 04, 05, 06: shutdown, fork and crash of a lease worker."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from sqlclaimgen.runtime import EventKind, Unfinished
from sqlclaimgen.runtime.worker import lease_engine
from tests.conformance.harness import Stand, on_cases
from tests.worker.support.cases import JOBS, SHORT
from tests.worker.support.freezing import frozen
from tests.worker.support.process import order_for, processes
from tests.worker.support.running import Log, OnThread, leasing, worker_of

FACES = ["blocking", "asyncio"]
SQLITE = JOBS.with_(dialects=["sqlite"])


def void(value: object) -> None:
    del value


@pytest.mark.parametrize("face", FACES)
@on_cases(SHORT)
def test_sh_01_extension_goes_on_while_the_worker_drains(stand: Stand, face: str) -> None:
    # two leases long; a second worker is there all the time
    stand.enqueue([{"payload": n} for n in range(2)])
    module = leasing(stand.generated.module("jobs"), 1)
    log, other_log = Log(), Log()

    def handle(delivery: Any) -> None:
        log.wait_for(EventKind.EXTENDED, 4)

    worker = worker_of(face, stand, handle, module=module, on_event=log, concurrency=2)
    running = OnThread(worker)
    log.wait_for(EventKind.STARTED, 2)
    running.stop()
    other = worker_of("blocking", stand, lambda d: None, module=module, on_event=other_log)
    rival = OnThread(other)
    running.join(60)
    rival.stop()
    rival.join()
    assert len(log.of(EventKind.SETTLED)) == 2 and stand.count == 0
    assert not other_log.of(EventKind.CLAIMED)


@on_cases(JOBS.with_(dialects=["postgres", "mysql", "mariadb"]))
def test_sh_04_a_server_that_stands_still_holds_no_shutdown(stand: Stand) -> None:
    # SH-04: the statement hangs in a stopped server; the client's own limit ends it
    log, hanging = Log(), threading.Event()
    stand.enqueue([{"payload": 1}])

    def handle(delivery: Any) -> None:
        hanging.wait(20)

    worker = worker_of(
        "blocking", stand, handle, on_event=log, statement_timeout=1.0, drain_timeout=0.5
    )
    running = OnThread(worker)
    log.wait_for(EventKind.STARTED)
    with mock.patch.object(lease_engine, "GRACE", 1.0), frozen(server_pid(stand)):
        hanging.set()  # its settlement meets a server that does not answer
        time.sleep(0.2)  # so does the next claim
        running.stop()
        with contextlib.suppress(Unfinished):
            running.join(20)
        assert not running.running
    # whatever became of the settlement, the row is not lost
    assert stand.count in (0, 1)


@on_cases(JOBS.with_(dialects=["postgres", "mysql", "mariadb"]))
def test_sh_04_work_goes_on_after_a_server_stood_still(stand: Stand) -> None:
    log = Log()
    stand.enqueue([{"payload": 1}])
    began, on = threading.Event(), threading.Event()

    def handle(delivery: Any) -> None:
        began.set()
        on.wait(20)

    worker = worker_of("blocking", stand, handle, on_event=log, statement_timeout=1.0)
    running = OnThread(worker)
    began.wait(20)
    with frozen(server_pid(stand)):
        on.set()
        log.wait_for(EventKind.DISCONNECTED, 2)
    log.wait_for(EventKind.SETTLED)
    stand.enqueue([{"payload": 2}])
    log.wait_for(EventKind.SETTLED, 2)
    running.stop()
    running.join()
    assert not log.of(EventKind.LOST) and len(log.deliveries) == 2 and stand.count == 0


@on_cases(JOBS)
def test_sh_05_a_fork_shares_nothing_with_its_parent(stand: Stand) -> None:
    # SH-05: the child opens connections of its own; its end leaves the parent's claim alone
    log = Log()
    stand.enqueue([{"payload": 1}])
    began, go = threading.Event(), threading.Event()

    def handle(delivery: Any) -> None:
        began.set()
        go.wait(30)

    running = OnThread(worker_of("blocking", stand, handle, on_event=log))
    assert began.wait(20)
    stand.enqueue([{"payload": 2}])
    log.wait_for(EventKind.CLAIMED, 1)
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            mine = Log()
            worker = worker_of(
                "blocking", stand, lambda d: None, module=stand.later(1), on_event=mine
            )
            worker.run("empty")
            code = 0 if mine.of(EventKind.STOPPED) else 2
        finally:
            os._exit(code)
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    go.set()
    stand.enqueue([{"payload": 3}])
    while stand.count:
        time.sleep(0.02)
    running.stop()
    running.join()
    assert not log.of(EventKind.LOST, EventKind.DISCONNECTED, EventKind.UNKNOWN)


@on_cases(SQLITE)
def test_sh_05_a_child_of_a_handler_dies_of_its_own_signals(stand: Stand) -> None:
    stand.enqueue([{"payload": 1}])
    codes: list[int] = []

    def handle(delivery: Any) -> None:
        pid = os.fork()
        if pid == 0:
            threading.Event().wait(20)
            os._exit(1)
        time.sleep(0.1)  # until it waits
        os.kill(pid, signal.SIGTERM)
        codes.append(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))

    worker_of("blocking", stand, handle, signals=True).run("empty")
    assert codes == [-signal.SIGTERM]


@on_cases(JOBS.with_(dialects=["postgres", "mysql", "sqlite"]))
def test_sh_06_a_row_that_kills_its_worker_is_given_up(stand: Stand, tmp_path: Path) -> None:
    # three lives, each counted by the claim; the fourth claim moves the row and goes on
    killer, innocent = stand.enqueue([{"payload": "kill"}, {"payload": "work"}])
    stand.database.execute(f"UPDATE jobs SET attempt = 3 WHERE id = {killer}")  # of five
    began: list[str] = []
    with processes(tmp_path) as start:
        for _ in range(4):
            process = start(order_for(stand, "suicidal", until="empty", concurrency=1))
            out, _ = process.communicate(timeout=60)
            began += [line for line in out.splitlines() if line.startswith("began")]
            if process.returncode == 0:
                break
            assert process.returncode == -signal.SIGKILL, out
            expire(stand)
    assert began == [f"began {killer} {n}" for n in (3, 4, 5)] + [f"began {innocent} 1"]
    (dead,) = stand.rows(dead=True)
    assert (dead["id"], dead["reason"]) == (killer, "exhausted")
    assert stand.count == 0


def server_pid(stand: Stand) -> int:
    server: Any = stand.database.server
    return int(server.pid)


def expire(stand: Stand) -> None:
    """Let every lease have run out."""
    past = stand.codec.time(stand.module.QUEUE.clock() - stand.module.QUEUE.lease)
    connection = stand.connect()
    mark = "?" if stand.dialect == "sqlite" else "%s"
    connection.cursor().execute(
        f"UPDATE jobs SET locked_until = {mark} WHERE locked_until IS NOT NULL", (past,)
    )
    connection.commit()
    connection.close()
