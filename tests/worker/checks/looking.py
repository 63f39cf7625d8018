"""The start-up checks of a worker, run alone, and protocols answered by hand."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlclaimgen.runtime.queue import Queue
from sqlclaimgen.runtime.steps import Begin, Result, Rollback, Run
from sqlclaimgen.runtime.worker import checks
from sqlclaimgen.runtime.worker.events import Event, EventKind, Reporter
from sqlclaimgen.runtime.worker.settings import Settings
from tests.conformance.harness import Case, Stand

LEASE = Case(
    "lease",
    """
    lease = "60s"
    max_attempts = 3
    dead_letter = { table = "jobs_dead" }
    [table.jobs.columns]
    id = { role = "id", type = "bigint", generated = true }
    run_after = { role = "retry_after" }
    attempt = { role = "attempt" }
    locked_until = { role = "locked_until" }
    note = { role = "last_error", type = "text", null = true }
    size = { type = "int", default = 0 }
    """,
)
ROW_LOCK = Case(
    "row_lock",
    """
    [table.jobs.columns]
    id = { role = "id", type = "bigint", generated = true }
    run_after = { role = "retry_after" }
    attempt = { role = "attempt" }
    processed_at = { role = "processed_at" }
    size = { type = "int", default = 0 }
    """,
    dialects=("postgres", "mysql", "mariadb"),
)
ADVISORY = Case(
    "advisory",
    """
    advisory_lock = "account-{account}"
    [table.jobs.columns]
    id = { role = "id", type = "bigint", generated = true }
    run_after = { role = "retry_after" }
    attempt = { role = "attempt" }
    account = { type = "int" }
    """,
)
FIFO = Case(
    "fifo",
    """
    lease = "60s"
    [table.jobs.columns]
    id = { role = "id", type = "bigint", generated = true }
    queue = { role = "group", type = "text", fifo = true }
    attempt = { role = "attempt" }
    locked_until = { role = "locked_until" }
    size = { type = "int", default = 0 }
    """,
)
FORMS = (LEASE, ROW_LOCK, ADVISORY, FIFO)


def settings(**given: Any) -> Settings:
    """A worker's settings, the defaults but for those given."""
    return Settings(**given)


def off(stand: Stand, seconds: float) -> Any:
    """The queue as a host sees it whose clock is ahead by so much."""

    def clock() -> datetime:
        return datetime.now(UTC) + timedelta(seconds=seconds)

    return dataclasses.replace(stand.module.QUEUE, clock=clock)


class Looking:
    """Runs the checks against a stand, and keeps what they reported."""

    def __init__(self, stand: Stand) -> None:
        self.stand = stand
        self.events: list[Event] = []

    @property
    def warnings(self) -> list[BaseException | None]:
        """The errors of the warnings so far."""
        return [event.error for event in self.events if event.kind is EventKind.WARNED]

    def __call__(
        self,
        *,
        connect: Callable[[], Any] | None = None,
        queue: Queue[Any, Any, Any, Any] | None = None,
        stop: asyncio.Event | None = None,
        **given: Any,
    ) -> None:
        """Look once. Raises what the worker would."""
        asked: Queue[Any, Any, Any, Any] = queue or self.stand.module.QUEUE
        report = Reporter(asked.table, self.events.append)
        asyncio.run(
            checks.run(
                asked, settings(**given), connect or self.connect, report, stop or asyncio.Event()
            )
        )

    def connect(self) -> Any:
        """A connection as a worker's user would open it."""
        return self.stand.database.connect()


def answer(protocol: Any, answers: Mapping[str, Sequence[tuple[Any, ...]]]) -> Any:
    """Run a protocol whose statements are answered from `answers`, by the statement's name."""
    result: Result | None = None
    while True:
        try:
            step = protocol.send(result)
        except StopIteration as stop:
            return stop.value
        if isinstance(step, Begin | Rollback):
            result = Result()
            continue
        assert isinstance(step, Run)
        result = Result(list(answers[step.statement]))
