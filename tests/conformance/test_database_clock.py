"""`clock = "database"`: what this host thinks of the time does not matter."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from sqlclaimgen.dialects import DIALECTS
from sqlclaimgen.runtime import utcnow
from sqlclaimgen.runtime.clock import Reading
from tests.servers import Database
from tests.support.generated import generate

TOML = """
format = 1
[table.jobs]
lease = "60s"
clock = "{clock}"
[table.jobs.columns]
id = {{ role = "id", type = "bigint", generated = true }}
retry_after = {{ role = "retry_after" }}
attempt = {{ role = "attempt" }}
locked_until = {{ role = "locked_until" }}
"""


def wrong(module: Any, by: timedelta) -> Any:
    """The module, on a host whose clock is wrong."""
    module.QUEUE = dataclasses.replace(module.QUEUE, clock=lambda: utcnow() + by)
    return module


def expiry(database: Database, module: Any) -> datetime:
    """What the row holds, as an aware time."""
    [(value,)] = database.execute("SELECT locked_until FROM jobs")
    found: datetime = module.QUEUE.bind(database.dialect).codec.from_time(value)
    return found


@pytest.mark.parametrize("hours", [-3, 3])
def test_the_database_decides(database: Database, tmp_path: Path, hours: int) -> None:
    generated = generate(TOML.format(clock="database"), tmp_path)
    generated.install(database, "jobs")
    jobs = wrong(generated.module("jobs"), timedelta(hours=hours))
    conn = database.connect(autocommit=True)
    jobs.enqueue(conn, jobs.New())
    # a row enqueued now is due now, whatever this host says
    with jobs.claim(conn) as deliveries:
        [delivery] = deliveries
        held = expiry(database, jobs)
        assert abs(held - (datetime.now(UTC) + timedelta(seconds=60))) < timedelta(seconds=20)
        assert held == delivery.token and not delivery.overdue
        assert jobs.extend(conn, [delivery]) == []
        assert expiry(database, jobs) == delivery.token > held
        delivery.retry_after(conn, timedelta(minutes=5))
    with jobs.claim(conn) as deliveries:
        assert not list(deliveries)


def test_a_row_is_due_at_once(sqlite_database: Database, tmp_path: Path) -> None:
    """Within the millisecond, which is as far as SQLite tells the time."""
    database = sqlite_database
    generated = generate(TOML.format(clock="database"), tmp_path)
    generated.install(database, "jobs")
    jobs = generated.module("jobs")
    conn = database.connect(autocommit=True)
    for _ in range(20):
        jobs.enqueue(conn, jobs.New())
        with jobs.claim(conn) as deliveries:
            [delivery] = deliveries
            delivery.ack(conn)


@pytest.fixture(name="slow_reading")
def _slow_reading(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[datetime]]:
    """Each reading of the clock is taken for the end of a round trip of 40 seconds: its middle is 20 seconds
    ahead of the database's clock, longer than anything a test waits for."""
    taken: list[datetime] = []
    take = Reading.take

    def slow(self: Reading, said: datetime, asked: float, answered: float) -> None:
        taken.append(said)
        take(self, said, answered - 40, answered)

    with monkeypatch.context() as patched:
        patched.setattr(Reading, "take", slow)
        yield taken


@pytest.mark.parametrize("by", ["enqueue", "retry", "retry_after", "redrive"])
def test_a_reading_that_is_off_puts_no_row_into_the_future(
    database: Database, tmp_path: Path, slow_reading: list[datetime], by: str
) -> None:
    if database.dialect == "sqlite":
        pytest.skip("its clock is this host's and is not read")
    dead = 'max_attempts = 3\ndead_letter = {{ table = "jobs_dead" }}\n[table.jobs.columns]'
    toml = TOML.replace("[table.jobs.columns]", dead).format(clock="database")
    generated = generate(toml, tmp_path)
    generated.install(database, "jobs")
    jobs = generated.module("jobs")
    conn = database.connect(autocommit=True)
    id = jobs.enqueue(conn, jobs.New())
    if by != "enqueue":
        with jobs.claim(conn) as deliveries:
            [delivery] = deliveries
            if by == "retry":
                delivery.retry(conn)
            elif by == "retry_after":
                delivery.retry_after(conn, timedelta(0))
            else:
                delivery.dead_letter(conn)
        if by == "redrive":
            assert jobs.redrive(conn, ids=[id]) == [id]
    assert slow_reading
    [(due, now)] = database.execute(f"SELECT retry_after, {clock_of(database)} FROM jobs")
    assert due <= now


def clock_of(database: Database) -> str:
    """The expression of the database's time."""
    return DIALECTS[database.dialect].now_default


def test_with_the_hosts_clock_it_would_not_be_due(database: Database, tmp_path: Path) -> None:
    """The twin: the same host, and its own clock."""
    generated = generate(TOML.format(clock="host"), tmp_path)
    generated.install(database, "jobs")
    conn = database.connect(autocommit=True)
    ahead = wrong(generated.module("jobs"), timedelta(hours=3))
    ahead.enqueue(conn, ahead.New())
    right = generated.module("jobs")
    with right.claim(conn) as deliveries:
        assert not list(deliveries)
