"""TZ: zones, clocks, precision."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from tests.care.cases import DEAD_TABLE
from tests.conformance.harness import Stand, on_cases

# one in the hour that Copenhagen skips, one in the hour that it has twice
MOMENTS = [
    datetime(2026, 3, 29, 1, 30, tzinfo=UTC),
    datetime(2026, 10, 25, 0, 30, tzinfo=UTC),
    datetime(2026, 10, 25, 1, 30, 0, 999_999, tzinfo=UTC),
]


def _in_zone(stand: Stand, zone: str) -> Any:
    connection = stand.connect()
    if stand.dialect != "sqlite":
        names = {"postgres": "SET SESSION TIME ZONE INTERVAL '{}' HOUR TO MINUTE"}
        text = names.get(stand.dialect, "SET SESSION time_zone = '{}'").format(zone)
        connection.cursor().execute(text)
        connection.commit()
    return connection


@on_cases(DEAD_TABLE)
@pytest.mark.parametrize("moment", MOMENTS, ids=str)
def test_tz_01_times_are_exact_whatever_the_zone(stand: Stand, moment: datetime) -> None:
    """TZ-03 too: the producer's session and the worker's are in different zones."""
    producer, worker = _in_zone(stand, "-05:00"), _in_zone(stand, "+02:00")
    module = stand.at(moment)
    module.enqueue(producer, module.New(queue="a", payload={}))
    producer.commit()
    with module.claim(worker, group="a") as deliveries:
        (delivery,) = list(deliveries)
        (row,) = stand.rows()
        assert row["locked_until"] == moment + timedelta(seconds=60)
        assert delivery.row.due == moment
        delivery.retry_after(worker, timedelta(hours=1))
    (row,) = stand.rows()
    assert row["due"] == moment + timedelta(hours=1)


@on_cases(DEAD_TABLE)
def test_tz_03_a_time_of_any_zone_is_the_same_moment(stand: Stand) -> None:
    kolkata = timezone(timedelta(hours=5, minutes=30))
    moment = datetime(2026, 1, 1, 5, 30, tzinfo=kolkata)
    module = stand.at(moment)
    module.enqueue(connection := stand.connect(), module.New(queue="a", payload={}))
    connection.commit()
    (row,) = stand.rows()
    assert row["due"] == datetime(2026, 1, 1, tzinfo=UTC)


@on_cases(DEAD_TABLE)
def test_tz_09_a_row_is_due_at_the_very_moment(stand: Stand) -> None:
    module = stand.at(MOMENTS[0])
    connection = stand.connect()
    module.enqueue(connection, module.New(queue="a", payload={}))
    connection.commit()
    with module.claim(connection, group="a") as deliveries:
        assert len(deliveries) == 1
    # a lease that ends now has ended: the same operator on both sides
    first = module.claim(connection, group="a")
    module.QUEUE.clock.now += timedelta(seconds=60)
    with module.claim(connection, group="a") as deliveries:
        assert [delivery.id for delivery in deliveries] == [d.id for d in first._deliveries]


@on_cases(DEAD_TABLE.with_(name="sqlite", dialects=("sqlite",)))
@pytest.mark.parametrize("wrong", ["2026-01-01 00:00:00", "2026-01-01T00:00:00+00:00", 1.5])
def test_tz_05_sqlite_holds_integers_only(stand: Stand, wrong: Any) -> None:
    """TZ-06 too: no time is computed by SQLite, so no function of it can be NULL."""
    connection = stand.connect()
    with pytest.raises(Exception, match="CHECK"):
        connection.execute("INSERT INTO jobs (queue, due, payload) VALUES ('a', ?, '1')", (wrong,))
    assert not [sql for sql in stand.sql.values() if "unixepoch" in sql or "now'" in sql]
    connection.execute("INSERT INTO jobs (queue, payload) VALUES ('a', '1')")
    connection.commit()
    (row,) = stand.rows()
    assert abs(row["due"] - datetime.now(UTC)) < timedelta(minutes=1)
