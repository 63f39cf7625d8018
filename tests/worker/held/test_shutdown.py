"""The end of a worker of these forms: drained, or its rows due at once."""

from __future__ import annotations

import signal
import threading
from pathlib import Path
from typing import Any

import pytest

from sqlclaimgen.runtime import EventKind
from tests.conformance.harness import Stand, on_cases
from tests.worker.held.cases import ADVISORY, ROW_LOCK
from tests.worker.support.process import order_for, processes
from tests.worker.support.running import Log, OnThread, worker_of

FACES = pytest.mark.parametrize("face", ["blocking", "asyncio"])


@FACES
@on_cases(ROW_LOCK, ADVISORY)
def test_a_stop_lets_handlers_end_and_claims_no_more(stand: Stand, face: str) -> None:
    first, second = stand.enqueue([{}, {}])
    log, begun, go = Log(), threading.Event(), threading.Event()

    def handle(delivery: Any) -> None:
        begun.set()
        go.wait(30)

    running = OnThread(worker_of(face, stand, handle, on_event=log, concurrency=1))
    assert begun.wait(30)
    running.stop()
    go.set()
    running.join(30)
    assert log.ids(EventKind.SETTLED) == [first]
    assert [(row["id"], row["attempt"]) for row in stand.rows()] == [(second, 1)]


@on_cases(ROW_LOCK.with_(dialects=["postgres"]), ADVISORY.with_(dialects=["mariadb", "sqlite"]))
def test_sh_02_sigterm_drains_a_process(stand: Stand, tmp_path: Path) -> None:
    stand.enqueue([{"account": str(n)} for n in range(3)])
    order = order_for(stand, "slow", concurrency=1)
    with processes(tmp_path) as start:
        process = start(order)
        assert process.stdout is not None
        assert process.stdout.readline().startswith("began")
        process.send_signal(signal.SIGTERM)
        output = process.stdout.read()
        assert process.wait(60) == 0
    assert output.startswith("ended") and "began" not in output
    assert [row["attempt"] for row in stand.rows()] == [1, 1]
