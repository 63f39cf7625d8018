"""Clocks that differ: a warning above a tenth of the lease, refusal above a quarter."""

from __future__ import annotations

import dataclasses
import threading
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from sqlclaimgen.runtime.drivers.servers import SERVERS
from sqlclaimgen.runtime.driving import drive, session_of
from sqlclaimgen.runtime.errors import ClocksApart
from sqlclaimgen.runtime.steps import Result, Run
from sqlclaimgen.runtime.worker.checks import clocks
from sqlclaimgen.runtime.worker.events import Event, EventKind, Reporter
from sqlclaimgen.runtime.worker.faces import Worker
from tests.conformance.harness import Stand, on_cases
from tests.worker.checks.looking import LEASE, ROW_LOCK, Looking, answer, off

SERVED = LEASE.with_(dialects=("postgres", "mysql", "mariadb"))


@on_cases(SERVED)
@pytest.mark.parametrize("seconds", [16, -16])
def test_a_quarter_of_the_lease_is_refused(looking: Looking, seconds: float) -> None:
    with pytest.raises(ClocksApart) as refused:
        looking(queue=off(looking.stand, seconds))
    assert refused.value.seconds == pytest.approx(-seconds, abs=1)
    assert ("ahead of" if seconds > 0 else "behind") in str(refused.value)
    assert "the lease is 60 seconds" in str(refused.value)
    looking.stand.database.wait_until_idle()


@on_cases(SERVED)
@pytest.mark.parametrize("seconds", [8, -8])
def test_a_tenth_of_the_lease_is_a_warning(looking: Looking, seconds: float) -> None:
    looking(queue=off(looking.stand, seconds))
    [warning] = looking.warnings
    assert isinstance(warning, ClocksApart)
    looking.events.clear()
    looking(queue=off(looking.stand, seconds / 4))
    assert looking.events == []


@on_cases(ROW_LOCK)
def test_without_a_lease_it_is_never_more_than_a_warning(looking: Looking) -> None:
    looking(queue=off(looking.stand, 3600))
    [warning] = looking.warnings
    assert "delays are off by as much" in str(warning)


@dataclasses.dataclass
class _OnTheDatabasesClock:
    database_clock: bool = True


def test_a_table_on_the_databases_clock_asks_for_no_agreement() -> None:
    bound: Any = dataclasses.make_dataclass("Bound", ["queue"])(_OnTheDatabasesClock())
    asked = clocks.compared(bound, SERVERS["postgres"], Reporter("jobs", None))
    assert answer(asked, {}) is False


@on_cases(LEASE.with_(dialects=("sqlite",)))
def test_a_library_has_its_hosts_clock(looking: Looking) -> None:
    looking(queue=off(looking.stand, 3600))
    assert looking.events == []


@on_cases(SERVED)
def test_a_warning_is_told_once_while_the_worker_runs(stand: Stand) -> None:
    events: list[Event] = []
    session = session_of(stand.connect(autocommit=True), table="jobs")
    session.prepare(30.0)
    watch = clocks.Watch(Reporter("jobs", events.append))

    def look(seconds: float) -> None:
        bound = off(stand, seconds).bind(stand.dialect)
        drive(session, watch.look(bound), table="jobs")

    for seconds in (0, 8, 8, 0, -8):
        look(seconds)
    assert [event.kind for event in events] == [EventKind.WARNED] * 2
    with pytest.raises(ClocksApart):
        look(20)


def test_the_quickest_round_trip_counts() -> None:
    # an answer that took 40 seconds says little; the one that took none says all
    start = datetime(2026, 1, 1, tzinfo=UTC)
    trips = iter((40.0, 0.0, 40.0))
    now = [start]

    class Bound:
        codec: Any = None
        queue: Any = None

    class Queue:
        def clock(self) -> datetime:
            return now[0]

    class Codec:
        def from_time(self, value: datetime) -> datetime:
            return value

    bound: Any = Bound()
    bound.codec, bound.queue = Codec(), Queue()
    measuring = clocks.measured(bound, "SELECT now")
    step = next(measuring)
    found: clocks.Difference | None = None
    while found is None:
        assert isinstance(step, Run)
        trip = next(trips)
        there = now[0] + timedelta(seconds=trip) + timedelta(seconds=7)
        now[0] += timedelta(seconds=trip)
        try:
            step = measuring.send(Result([(there,)]))
        except StopIteration as stop:
            found = stop.value
    assert found == (7.0, 0.0)
    assert found.least == 7.0


@on_cases(LEASE.with_(body=LEASE.body.replace("60s", "2s"), dialects=("postgres",)))
def test_a_clock_that_jumps_ends_the_worker_and_not_what_is_in_work(stand: Stand) -> None:
    stand.enqueue([{"size": 1}, {"size": 2}])
    jump = [0.0]
    extended = threading.Event()
    stopping = threading.Event()

    def clock() -> datetime:
        return datetime.now(UTC) + timedelta(seconds=jump[0])

    def see(event: Event) -> None:
        if event.kind is EventKind.EXTENDED:
            extended.set()
        if event.kind is EventKind.DRAINING:
            stopping.set()

    def handle(delivery: Any) -> None:
        assert extended.wait(30)
        jump[0] = 1.0
        assert stopping.wait(30)

    queue = dataclasses.replace(stand.module.QUEUE, clock=clock)
    worker = Worker(
        queue, handle, connect=stand.database.connect, concurrency=1, signals=False, on_event=see
    )
    with pytest.raises(ClocksApart):
        worker.run()
    assert [row["size"] for row in stand.rows()] == [2]
    assert [row["attempt"] for row in stand.rows()] == [1]
