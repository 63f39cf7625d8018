"""Who gets which row, and when: groups in turn, keys in order, a wake-up after a publish."""

from __future__ import annotations

import contextlib
import threading
import time
from collections import Counter
from datetime import timedelta
from typing import Any
from unittest import mock

import pytest

from sqlclaimgen.runtime import ClaimError, EventKind, wake
from sqlclaimgen.runtime.protocols import fifo
from sqlclaimgen.runtime.worker.lease_claiming import Claimer
from tests.conformance.harness import Stand, on_cases
from tests.worker.held.cases import FIFO_LEASE
from tests.worker.support.cases import GROUPED, JOBS
from tests.worker.support.running import Log, OnThread, worker_of, working

FACES = ["blocking", "asyncio"]


@pytest.mark.parametrize("groups", [["a"], ["a", "b"], ["a", None], None])
@on_cases(GROUPED)
def test_the_groups_it_was_given_and_no_other(stand: Stand, groups: list[Any] | None) -> None:
    stand.enqueue([{"queue": name} for name in ("a", "b", "c", None) for _ in range(3)])
    log = Log()
    worker_of("blocking", stand, lambda d: None, on_event=log, groups=groups).run("empty")
    left = Counter(row["queue"] for row in stand.rows())
    wanted = {"a", "b", "c", None} - set(groups if groups is not None else ["a", "b", "c", None])
    assert left == Counter(dict.fromkeys(wanted, 3))


@on_cases(GROUPED.with_(dialects=["sqlite", "postgres"]))
def test_no_group_starves_behind_a_busy_one(stand: Stand) -> None:
    stand.enqueue([{"queue": "a"} for _ in range(40)] + [{"queue": "b"} for _ in range(4)])
    log = Log()
    worker_of(
        "blocking", stand, lambda d: None, on_event=log, groups=["a", "b"], concurrency=2
    ).run("empty")
    turns = [event.group for event in log.of(EventKind.STARTED)]
    assert len(turns) == 44
    assert turns.index("b") <= 3
    assert max(n for n, name in enumerate(turns) if name == "b") < 24, turns


@on_cases(GROUPED.with_(dialects=["sqlite"]))
def test_a_worker_called_wrongly_says_so(stand: Stand) -> None:
    wrong: list[dict[str, Any]] = [
        {"groups": []},
        {"groups": "pdf"},
        {"concurrency": 0},
        {"poll_interval": 0},
    ]
    for options in wrong:
        with pytest.raises(ValueError):
            worker_of("blocking", stand, lambda d: None, **options)


@on_cases(JOBS.with_(dialects=["sqlite"]))
def test_groups_of_a_table_without_groups(stand: Stand) -> None:
    with pytest.raises(ClaimError, match="no group column"):
        worker_of("blocking", stand, lambda d: None, groups=["a"]).run("empty")


@pytest.mark.parametrize("face", FACES)
@on_cases(JOBS)
def test_rows_of_one_key_run_in_order_one_at_a_time(stand: Stand, face: str) -> None:
    ids = stand.enqueue([{"customer": name} for _ in range(8) for name in ("acme", "zeta", None)])
    keys = {id: ("acme", "zeta", None)[n % 3] for n, id in enumerate(ids)}
    at_work: Counter[Any] = Counter()
    order: dict[Any, list[int]] = {"acme": [], "zeta": []}
    beside: list[int] = []
    lock = threading.Lock()

    def handle(delivery: Any) -> None:
        key = keys[delivery.id]
        with lock:
            at_work[key] += 1
            beside.append(sum(at_work.values()))
            if key is not None:
                order[key].append(delivery.id)
                assert at_work[key] == 1
        time.sleep(0.005)  # so that others of the key could come in between
        with lock:
            at_work[key] -= 1

    log = Log()
    worker = worker_of(face, stand, handle, on_event=log, concurrency=12)
    OnThread(worker, until="empty").join(60)
    assert not log.of(EventKind.FAILED) and stand.count == 0
    for key, seen in order.items():
        assert seen == sorted(seen) and len(seen) == 8, key
    assert max(beside) > 1


@pytest.mark.parametrize("face", FACES)
@on_cases(JOBS.with_(dialects=["sqlite", "postgres"]))
def test_a_publish_in_the_process_wakes_the_worker(stand: Stand, face: str) -> None:
    log = Log()
    worker = worker_of(face, stand, lambda d: None, on_event=log, poll_interval=600)
    with working(worker):
        for number in range(1, 6):
            stand.enqueue([{"payload": number}])
            wake(stand.module.QUEUE)
            log.wait_for(EventKind.SETTLED, number, timeout=20)


@on_cases(JOBS.with_(dialects=["sqlite"]))
def test_rows_that_all_fail_are_no_tight_loop(stand: Stand) -> None:
    stand.fill([{"id": n, "payload": n} for n in range(1, 5)])
    stand.database.execute("UPDATE jobs SET attempt = -1000000")
    log = Log()

    def handle(delivery: Any) -> None:
        raise ValueError("always")

    worker = worker_of(
        "blocking",
        stand,
        handle,
        on_event=log,
        concurrency=4,
        poll_interval=0.2,
        retry=lambda attempt, error: 0,
    )
    with working(worker):
        log.wait_for(EventKind.WAITED, 5)
    polls = len(log.of(EventKind.WAITED))
    assert len(log.deliveries) <= 4 * 2 * (polls + 1)


@on_cases(JOBS.with_(dialects=["sqlite"]))
def test_more_due_rows_are_claimed_at_once(stand: Stand) -> None:
    # a poll interval of ten minutes: after a full claim nobody waits for it
    stand.fill([{"id": n, "payload": n} for n in range(1, 101)])
    log = Log()

    def handle(delivery: Any) -> None:
        if delivery.id % 10 == 0 and delivery.attempt == 1:
            raise ValueError("once")

    worker = worker_of(
        "blocking",
        stand,
        handle,
        on_event=log,
        poll_interval=600,
        retry=lambda attempt, error: 3600,
    )
    with working(worker):
        log.wait_for(EventKind.SETTLED, 100, timeout=60)
    assert stand.count == 10


@on_cases(JOBS.with_(dialects=["sqlite", "postgres"]))
def test_until_empty_is_not_ended_by_rows_that_were_given_up(stand: Stand) -> None:
    # a claim that finds nothing but exhausted rows brings no delivery, and more is due
    stand.fill([{"id": n, "payload": n, "attempt": 9} for n in range(1, 10)])
    stand.fill([{"id": n, "payload": n, "attempt": 1} for n in range(10, 13)])
    log = Log()
    worker_of("blocking", stand, lambda d: None, on_event=log, concurrency=2).run("empty")
    assert sorted(id for id, _ in log.deliveries) == [10, 11, 12]
    assert len(stand.rows(dead=True)) == 9 and stand.count == 0


@pytest.mark.parametrize("goes_on", [True, False], ids=["goes on", "twin"])
@on_cases(FIFO_LEASE.with_(dialects=["sqlite", "postgres"]))
def test_until_empty_is_not_ended_by_groups_that_wait(stand: Stand, goes_on: bool) -> None:
    # a claim looks at so many groups and no more; those that are due stand behind them
    stand.enqueue([{"queue": f"a{n:02}"} for n in range(20)], delay=timedelta(hours=1))
    due = stand.enqueue([{"queue": "z1"}, {"queue": "z2"}])
    log, plain = Log(), Claimer._round

    async def ends_when_one_finds_nothing(*arguments: Any) -> tuple[int, bool]:
        found, _ = await plain(*arguments)
        return found, False

    twin = mock.patch.object(Claimer, "_round", ends_when_one_finds_nothing)
    with mock.patch.object(fifo, "BUDGET", 8), contextlib.nullcontext() if goes_on else twin:
        worker_of("blocking", stand, lambda d: None, on_event=log, concurrency=1).run("empty")
    assert sorted(log.ids(EventKind.SETTLED)) == (due if goes_on else [])
