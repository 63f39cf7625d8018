"""ST-07: a listener that fails at start disables or slows polling."""

from __future__ import annotations

from typing import Any

import pytest

from sqlclaimgen.runtime.worker import listening
from sqlclaimgen.runtime.worker.events import EventKind
from sqlclaimgen.runtime.worker.opening import open_session
from tests.conformance.harness import Stand, on_cases
from tests.worker.support.waiting import NOTIFIED, Waiting


@on_cases(NOTIFIED)
def test_it_polls_meanwhile_and_listens_once_it_can(
    stand: Stand, monkeypatch: pytest.MonkeyPatch
) -> None:
    failures = [0]
    allowed = [False]

    async def refused(*arguments: Any) -> Any:
        if allowed[0]:
            return await open_session(*arguments)
        failures[0] += 1
        raise ConnectionError("no more connections")

    monkeypatch.setattr(listening, "open_session", refused)
    connect = stand.database.connect
    with Waiting(stand.module.QUEUE, connect, poll_interval=0.05).running() as waiting:
        waiting.wait(lambda: waiting.count(EventKind.DISCONNECTED) >= 1)
        stand.enqueue([{"payload": "x"}])
        waiting.wait(lambda: len(waiting.done) == 1)
        waiting.wait(lambda: failures[0] >= 3)
        allowed[0] = True
        waiting.wait_listening(stand.database)
