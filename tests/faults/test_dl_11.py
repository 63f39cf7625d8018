"""DL-11: the listener holds the connection's lock."""

from __future__ import annotations

from sqlclaimgen.runtime.worker.events import EventKind
from tests.conformance.harness import Stand, on_cases
from tests.worker.support.waiting import NOTIFIED, Waiting


@on_cases(NOTIFIED)
def test_nothing_else_is_done_on_the_listening_connection(stand: Stand) -> None:
    with Waiting(stand.module.QUEUE, stand.database.connect).running() as waiting:
        waiting.settle_down(stand.database)
        (listener,) = waiting.wait_listening(stand.database)
        stand.enqueue([{"payload": "x"}] * 5)
        waiting.wait(lambda: waiting.count(EventKind.SETTLED) == 5)
        # it has waited all the time, and it is one more than the form's price: a claim, a settlement
        # and, while something is in work, an extension
        assert waiting.wait_listening(stand.database) == {listener}
        assert len(stand.database.sessions()) <= 3 + 1
    stand.database.wait_until_idle()
