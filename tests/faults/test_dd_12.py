"""DD-12: each listener runs the row named in the notification."""

from __future__ import annotations

from contextlib import ExitStack

from sqlclaimgen.runtime.worker.events import EventKind
from tests.conformance.harness import Stand, on_cases
from tests.worker.support.waiting import NOTIFIED, Waiting


@on_cases(NOTIFIED)
def test_a_notification_is_a_wake_up_and_names_no_row(stand: Stand) -> None:
    with ExitStack() as stack:
        fleet = [
            stack.enter_context(Waiting(stand.module.QUEUE, stand.database.connect).running())
            for _ in range(3)
        ]
        for waiting in fleet:
            waiting.settle_down(stand.database)
        woken = [waiting.count(EventKind.WAITED) for waiting in fleet]
        (id,) = stand.enqueue([{"payload": "x"}])
        for waiting, before in zip(fleet, woken, strict=True):
            # each wakes, claims, and waits again
            waiting.wait(lambda w=waiting, b=before: w.count(EventKind.WAITED) > b)  # type: ignore[misc]
            waiting.settle_down(stand.database)
        assert [one for waiting in fleet for one in waiting.done] == [id]
        assert sum(waiting.count(EventKind.CLAIMED) for waiting in fleet) == 1
    assert stand.count == 0
