"""ST-04: the LISTEN connection drops and nothing notices."""

from __future__ import annotations

import threading
from typing import Any

from sqlclaimgen.runtime.worker.events import EventKind
from tests.conformance.harness import Stand, on_cases
from tests.worker.support.waiting import NOTIFIED, SOON, Waiting


@on_cases(NOTIFIED)
def test_it_listens_again(stand: Stand) -> None:
    with Waiting(stand.module.QUEUE, stand.database.connect).running() as waiting:
        waiting.settle_down(stand.database)
        for n in range(2):
            (listener,) = waiting.wait_listening(stand.database)
            stand.database.kill_session(listener)
            waiting.wait(lambda n=n: waiting.count(EventKind.DISCONNECTED) > n)  # type: ignore[misc]
            waiting.settle_down(stand.database)
            assert waiting.wait_listening(stand.database) != {listener}
            stand.enqueue([{"payload": "x"}])
            waiting.wait(lambda n=n: len(waiting.done) == n + 1)  # type: ignore[misc]


@on_cases(NOTIFIED)
def test_what_came_while_nobody_listened_is_claimed_then(stand: Stand) -> None:
    gate = threading.Event()
    gate.set()

    def connect() -> Any:
        assert gate.wait(SOON)
        return stand.database.connect()

    with Waiting(stand.module.QUEUE, connect).running() as waiting:
        waiting.settle_down(stand.database)
        gate.clear()
        (listener,) = waiting.wait_listening(stand.database)
        stand.database.kill_session(listener)
        waiting.wait(lambda: waiting.count(EventKind.DISCONNECTED) == 1)
        stand.enqueue([{"payload": "x"}])
        waiting.settle_down()
        assert waiting.done == []
        gate.set()
        waiting.wait(lambda: len(waiting.done) == 1)


@on_cases(NOTIFIED)
def test_the_poll_goes_on_without_it(stand: Stand) -> None:
    gate = threading.Event()
    gate.set()

    def connect() -> Any:
        assert gate.wait(SOON)
        return stand.database.connect()

    with Waiting(stand.module.QUEUE, connect, poll_interval=0.05).running() as waiting:
        (listener,) = waiting.wait_listening(stand.database)
        gate.clear()
        stand.database.kill_session(listener)
        waiting.wait(lambda: waiting.count(EventKind.DISCONNECTED) == 1)
        stand.enqueue([{"payload": "x"}])
        waiting.wait(lambda: len(waiting.done) == 1)
        gate.set()
