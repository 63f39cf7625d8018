"""A worker on a thread that polls so seldom that only a wake-up can explain what it does."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

from sqlclaimgen.runtime.worker.events import Event, EventKind
from sqlclaimgen.runtime.worker.faces import Worker
from sqlclaimgen.runtime.worker.waking import Alarm
from tests.conformance.harness import Case
from tests.servers import Database

NEVER = 600.0
"""A poll interval that no test lasts."""
SOON = 30.0
"""How long a test waits for what should happen at once."""

NOTIFIED = Case(
    "notified",
    """
    lease = "60s"
    notify = true
    [table.jobs.columns]
    id = { role = "id", type = "bigint", generated = true }
    run_after = { role = "retry_after" }
    attempt = { role = "attempt" }
    locked_until = { role = "locked_until" }
    token = { role = "dedupe_key", type = "text", null = true }
    payload = { type = "text", null = true }
    """,
    dialects=("postgres",),
)


class Waiting:
    """A running worker, what it did, and its events."""

    def __init__(self, queue: Any, connect: Callable[[], Any], **settings: Any) -> None:
        self.events: list[Event] = []
        self.done: list[Any] = []
        self._changed = threading.Condition()
        given = {"poll_interval": NEVER, "signals": False, "max_backoff": 0.2, **settings}
        self._waits = 0
        self._inside = 0
        self.worker: Worker[Any, Any] = Worker(
            queue, self._handle, connect=connect, on_event=self._see, **given
        )
        self._thread = threading.Thread(target=self.worker.run, daemon=True)

    def _handle(self, delivery: Any) -> None:
        with self._changed:
            self.done.append(delivery.id)
            self._changed.notify_all()

    def _see(self, event: Event) -> None:
        with self._changed:
            self.events.append(event)
            self._changed.notify_all()

    def count(self, kind: EventKind) -> int:
        """How often something happened."""
        return sum(event.kind is kind for event in self.events)

    def wait(self, condition: Callable[[], bool]) -> None:
        """Wait until what a handler or an event changes is so."""
        with self._changed:
            assert self._changed.wait_for(condition, SOON), self.events

    def settle_down(self, database: Database | None = None) -> None:
        """Wait until the worker waits for a wake-up, has had every one that is on its way, and listens
        on `database`, where one is given. What happens after that is the next wake-up's doing."""
        if database is not None:
            self.wait_listening(database)
        quiet = None
        deadline = time.monotonic() + SOON
        while quiet != self._waits or not self._inside:
            assert time.monotonic() < deadline
            quiet = self._waits
            time.sleep(0.15)  # longer than a ring takes from its connection to the claim

    def wait_listening(self, database: Database) -> set[Any]:
        """Wait until a session of `database` listens; returns such sessions."""
        deadline = time.monotonic() + SOON
        while True:
            rows = database.execute(
                "SELECT pid FROM pg_stat_activity WHERE datname = current_database()"
                " AND query LIKE 'LISTEN%' AND state = 'idle'"
            )
            if rows:
                return {row[0] for row in rows}
            assert time.monotonic() < deadline, self.events
            time.sleep(0.01)  # the server tells nobody

    @contextmanager
    def running(self) -> Iterator[Waiting]:
        """The worker runs inside the block."""
        plain = Alarm.wait

        async def wait(alarm: Alarm, seconds: float) -> bool:
            self._waits += 1
            self._inside += 1
            try:
                return await plain(alarm, seconds)
            finally:
                self._inside -= 1

        with mock.patch.object(Alarm, "wait", wait):
            self._thread.start()
            try:
                yield self
            finally:
                self.worker.stop()
                self._thread.join(SOON)
                assert not self._thread.is_alive()
