"""A session killed at every step: the worker goes on over another one and loses nothing."""

from __future__ import annotations

import time
from typing import Any
from unittest import mock

import pytest

from sqlclaimgen.runtime import EventKind
from sqlclaimgen.runtime.worker import lease_engine
from sqlclaimgen.runtime.worker.extending import Extender
from tests.conformance.harness import Stand, on_cases
from tests.worker.support.cases import JOBS
from tests.worker.support.injecting import Injector, Strike, injected
from tests.worker.support.running import Log, OnThread, worker_of


class Eager(Extender):
    """Extends at once, and again and again, whatever the lease: so that a run has extensions in it."""

    async def run(self) -> None:
        self._tick, self._half = 0.01, 0.05
        listed = self._items

        def items() -> Any:
            for item in listed():
                item.extend_at = min(item.extend_at, time.monotonic() + self._half)
                yield item

        self._items = items
        await super().run()


class Rows:
    """Three rows: one is acked, one comes back once, one becomes a dead letter. Each handler waits
    for an extension of its lease."""

    def __init__(self, stand: Stand, log: Log) -> None:
        self.stand = stand
        self.log = log
        self.hurry = False
        self.ids = stand.enqueue([{"payload": what} for what in ("ack", "back", "dead")])

    def handle(self, delivery: Any) -> Any:
        module = self.stand.module
        if delivery.attempt == 1 and not self.hurry:
            self.log.wait_for(EventKind.EXTENDED, since=len(self.log.events), timeout=10)
        match delivery.row.payload:
            case "ack":
                return None
            case "back" if delivery.attempt == 1:
                return module.Retry("once more")
            case "back":
                return module.Discard()
            case _:
                return module.DeadLetter("nobody wants it")


@on_cases(JOBS)
def test_a_session_killed_at_every_step_loses_nothing(stand: Stand) -> None:
    struck: set[str] = set()
    for strike in once(stand, "blocking", None).strikes():
        if once(stand, "blocking", strike).struck:
            struck.add(strike.statement)
    # the steps of a run come in no fixed order, but each statement was struck
    wanted = {"begin", "commit", "claim", "extend", "ack", "retry", "dead_letter"}
    assert wanted <= struck


@pytest.mark.parametrize("face", ["asyncio", "native"])
@on_cases(JOBS.with_(dialects=["postgres"]))
def test_the_asyncio_faces_lose_nothing_either(stand: Stand, face: str) -> None:
    for strike in once(stand, face, None).strikes():
        if strike.number < 1 or strike.statement == "commit":
            once(stand, face, strike)


def once(stand: Stand, face: str, strike: Strike | None) -> Injector:
    """One run with one strike, and what must hold of it."""
    log = Log()
    rows = Rows(stand, log)
    ack, back, dead = rows.ids
    worker = worker_of(face, stand, rows.handle, on_event=log, concurrency=3, poll_interval=0.02)
    with (
        mock.patch.object(lease_engine, "Extender", Eager),
        injected(Injector(stand.database, strike)) as injector,
    ):
        running = OnThread(worker, until="empty")
        running.join(60)
    where = f"{strike}: {log.events}"
    # the worker itself lost no lease: each row was delivered as often as it should, attempts counted
    assert sorted(log.deliveries) == sorted([(ack, 1), (back, 1), (back, 2), (dead, 1)]), where
    assert not log.of(EventKind.LOST, EventKind.FAILED, EventKind.UNSETTLED), where
    assert stand.count == 0, where
    assert [row["id"] for row in stand.rows(dead=True)] == [dead], where
    settled = log.ids(EventKind.SETTLED) + log.ids(EventKind.UNKNOWN)
    assert sorted(settled) == sorted([ack, back, back, dead]), where
    if log.of(EventKind.UNKNOWN):
        assert strike is not None and strike.after and strike.statement == "commit", where
    stand.database.execute("DELETE FROM jobs_dead")
    return injector
