"""Rows that wait for another one of their group or key: they are claimed as soon as that one ends."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from itertools import pairwise
from typing import Any
from unittest import mock

import pytest

from sqlclaimgen.runtime import EventKind, wake
from sqlclaimgen.runtime.protocols import fifo, keyed, windows
from sqlclaimgen.runtime.worker import core, held_delivery
from sqlclaimgen.runtime.worker.waking import Alarm
from tests.conformance.harness import Stand, on_cases
from tests.worker.held.cases import ADVISORY, FIFO_LEASE, FIFO_ROW_LOCK, is_advisory
from tests.worker.support.running import Log, OnThread, worker_of, working

NEVER = 600.0
"""A poll interval that no test lasts."""

FACES = pytest.mark.parametrize("face", ["blocking", "asyncio"])


RING = Alarm.ring


class Watch:
    """Handlers of it last until some other one of the worker has looked, found nothing, and waits. The
    first one sees to it that the last look was one while it ran."""

    def __init__(self) -> None:
        self._waits = threading.Semaphore(0)
        self._alarm: Alarm | None = None
        self.done: list[int] = []

    def handle(self, delivery: Any) -> None:
        """The handler."""
        if not self.done:
            assert self._waits.acquire(timeout=30)
            assert self._alarm is not None
            RING(self._alarm)
            assert self._waits.acquire(timeout=30)
        self.done.append(delivery.id)

    @contextlib.contextmanager
    def over(self, worker: Any) -> Iterator[None]:
        """The worker runs inside the block."""
        plain = Alarm.wait

        async def wait(alarm: Alarm, seconds: float) -> bool:
            self._alarm = alarm
            self._waits.release()
            return await plain(alarm, seconds)

        with mock.patch.object(Alarm, "wait", wait), working(worker):
            yield


def filled(stand: Stand, n: int, names: str = "ab") -> list[int]:
    """`n` rows of these groups or keys in turn."""
    name = "account" if is_advisory(stand.case) else "queue"
    stand.fill([{"id": k, name: names[k % len(names)]} for k in range(1, n + 1)])
    return list(range(1, n + 1))


@FACES
@on_cases(FIFO_ROW_LOCK, FIFO_LEASE, ADVISORY)
def test_no_poll_interval_between_two_rows_of_a_group(stand: Stand, face: str) -> None:
    ids = filled(stand, 20)
    log, watch = Log(), Watch()
    worker = worker_of(face, stand, watch.handle, on_event=log, concurrency=4, poll_interval=NEVER)
    with watch.over(worker):
        log.wait_for(EventKind.SETTLED, len(ids))
    assert stand.count == 0
    if not is_advisory(stand.case):
        for first in (1, 2):
            assert [id for id in watch.done if id % 2 == first % 2] == ids[first - 1 :: 2]


@on_cases(FIFO_ROW_LOCK, FIFO_LEASE, ADVISORY)
def test_without_the_ring_a_group_waits(stand: Stand) -> None:
    filled(stand, 3, "a")
    log, watch = Log(), Watch()
    worker = worker_of(
        "blocking", stand, watch.handle, on_event=log, concurrency=2, poll_interval=NEVER
    )
    with mock.patch.object(Alarm, "ring"), watch.over(worker):
        log.wait_for(EventKind.SETTLED)
        with contextlib.suppress(TimeoutError):
            log.wait_for(EventKind.SETTLED, 2, timeout=1)
    assert len(log.of(EventKind.SETTLED)) == 1


@on_cases(FIFO_ROW_LOCK, ADVISORY, FIFO_LEASE)
def test_failures_wait_for_the_poll(stand: Stand) -> None:
    filled(stand, 2)
    log = Log()

    def handle(delivery: Any) -> None:
        raise ValueError("again and again")

    worker = worker_of("blocking", stand, handle, on_event=log, concurrency=4, poll_interval=NEVER)
    with working(worker):
        log.wait_for(EventKind.SETTLED, 2)
        with contextlib.suppress(TimeoutError):
            log.wait_for(EventKind.FAILED, 7, timeout=0.7)
    # no more than a failure for each handler and those at work by then
    assert len(log.of(EventKind.FAILED)) < 7


@pytest.mark.parametrize("broken", [False, True], ids=["as it is", "twin"])
@on_cases(FIFO_ROW_LOCK)
def test_heads_that_others_have_locked_are_no_reason_to_spin(stand: Stand, broken: bool) -> None:
    # no claimer has them: a DBA, or a child row that is being inserted
    filled(stand, 6, "abc")
    rival = stand.connect()
    rival.cursor().execute("SELECT id FROM jobs WHERE id <= 3 FOR UPDATE")
    log, waits = Log(), threading.Event()

    class Waiting(Alarm):
        async def wait(self, seconds: float) -> bool:
            waits.set()
            return await super().wait(seconds)

    worker = worker_of(
        "blocking", stand, lambda d: None, on_event=log, concurrency=2, poll_interval=NEVER
    )
    # the twin begins a new circle after each group that brought nothing
    turn = mock.patch.object(fifo._Circle, "rest", property(_new_circle))
    with contextlib.ExitStack() as stack:
        stack.enter_context(mock.patch.object(core, "Alarm", Waiting))
        if broken:
            stack.enter_context(turn)
        with working(worker):
            assert waits.wait(1.5 if broken else 30) is not broken
            stand.fill([{"id": 7, "queue": "d"}])
            wake(stand.module.QUEUE)
            log.wait_for(EventKind.SETTLED)
            assert log.ids(EventKind.SETTLED) == [7]
    if not broken:
        OnThread(worker, until="empty").join(60)
    assert stand.count == 6


def _new_circle(circle: Any) -> Any:
    return fifo.Turn(circle._last, circle._last)


@on_cases(FIFO_ROW_LOCK.with_(dialects=["mysql"]))
def test_the_guard_stays_while_the_row_is_held(stand: Stand) -> None:
    # a handler removes its own row: the outcome is written anew, and a row that sorts earlier arrives
    filled(stand, 2, "a")
    log, held = Log(), []
    settle = held_delivery.HeldDeliverer._settle

    async def settled(self: Any, work: Any, outcome: Any) -> None:
        if work.failed:
            held.append(stand.database.value(GUARDS))
        await settle(self, work, outcome)

    def handle(delivery: Any, connection: Any) -> None:
        if not held:
            connection.cursor().execute(f"DELETE FROM jobs WHERE id = {delivery.id}")

    worker = worker_of("blocking", stand, handle, on_event=log, transactional=True, concurrency=1)
    with mock.patch.object(held_delivery.HeldDeliverer, "_settle", settled):
        OnThread(worker, until="empty").join(60)
    assert held == [1] and stand.count == 0


GUARDS = (
    "SELECT COUNT(*) FROM performance_schema.metadata_locks"
    " WHERE object_type = 'USER LEVEL LOCK' AND lock_status = 'GRANTED'"
)


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Advisory claims read 2 rows, and 3 behind them."""
    monkeypatch.setattr(windows, "FIRST", 2)
    monkeypatch.setattr(windows, "WIDE", 3)
    monkeypatch.setattr(windows, "MOST_READ", 3)


@FACES
@pytest.mark.parametrize("until", ["empty", None], ids=["until empty", "until stopped"])
@pytest.mark.usefixtures("narrow")
@on_cases(ADVISORY)
def test_rows_behind_more_of_a_held_key_than_a_claim_reads(
    stand: Stand, until: str | None, face: str
) -> None:
    filled(stand, 20, "h")
    free = [21, 22, 23]
    with stand.claim(stand.connect()) as holding:
        assert len(holding) == 1
        stand.fill([{"id": id, "account": str(id)} for id in free])
        log = Log()
        worker = worker_of(face, stand, lambda d: None, on_event=log, concurrency=2)
        if until:
            # every due row is read before it ends
            OnThread(worker, until="empty").join(60)
        else:
            with working(worker):
                log.wait_for(EventKind.SETTLED, len(free))
        assert sorted(log.ids(EventKind.SETTLED)) == free


@pytest.mark.usefixtures("narrow")
@on_cases(ADVISORY)
def test_slots_that_find_nothing_go_on_where_the_last_one_stopped(
    stand: Stand, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[tuple[Any, Any]] = []
    real = keyed.candidate

    def looked(bound: Any, scope: Any, parameters: Any, locks: Any, place: Any) -> Any:
        won, after = yield from real(bound, scope, parameters, locks, place)
        looks.append((place, after))
        return won, after

    monkeypatch.setattr(keyed, "candidate", looked)
    stand.fill([{"id": id, "account": "h"} for id in range(1, 31)])
    stand.fill([{"id": id, "account": str(id)} for id in (31, 32)])
    both = threading.Barrier(2)
    log = Log()
    with stand.claim(stand.connect()) as holding:
        assert len(holding) == 1
        worker = worker_of(
            "blocking",
            stand,
            lambda d: both.wait(30),
            on_event=log,
            concurrency=2,
            poll_interval=0.01,
        )
        with working(worker):
            log.wait_for(EventKind.SETTLED, 2)
            waited = len(log.of(EventKind.WAITED))
            log.wait_for(EventKind.WAITED, waited + 10)
    # one slot looks at a time by now, and both do in turn
    last = looks[-6:]
    assert all(place == before for (_, before), (place, _) in pairwise(last))
    assert len({after.seen["seen_id"] for _, after in last if after and after.seen}) > 2
