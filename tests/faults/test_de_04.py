"""DE-04: a delay that overflows, or is negative, must not lose the row or run it at once."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from sqlclaimgen.runtime.backoff import CAP, RetryPolicy, delay_of
from sqlclaimgen.runtime.outcomes import RetryAfter
from sqlclaimgen.runtime.protocols.outcomes import MAX_DELAY, due_at
from tests.care.cases import DEAD_TABLE
from tests.conformance.harness import Stand, on_cases

NOW = datetime(2026, 6, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("delay", "due"),
    [
        (timedelta.max, NOW + MAX_DELAY),
        (timedelta(seconds=5**16), NOW + MAX_DELAY),
        (timedelta.min, NOW),
        (timedelta(seconds=-5), NOW),
        (timedelta(0), NOW),
        (timedelta(seconds=5), NOW + timedelta(seconds=5)),
    ],
)
def test_due_at_is_between_now_and_the_cap(delay: timedelta, due: datetime) -> None:
    assert due_at(NOW, delay) == due


@pytest.mark.parametrize("value", [10**12, 10**400, math.inf, timedelta.max])
def test_a_delay_that_is_too_long_is_the_cap(value: Any) -> None:
    assert delay_of(value) == CAP


@pytest.mark.parametrize(
    "value", [-math.inf, math.nan, -5, timedelta.min, None, True, "5", object(), RetryAfter]
)
def test_what_is_no_delay_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match="is no delay"):
        delay_of(value)


@pytest.mark.parametrize(
    ("value", "delay"),
    [(0, timedelta(0)), (1.5, timedelta(seconds=1.5)), (timedelta(days=2), timedelta(days=2))],
)
def test_a_delay(value: Any, delay: timedelta) -> None:
    assert delay_of(value) == delay


@pytest.mark.parametrize("attempt", [1, 16, 5_000, 2**31])
def test_no_attempt_makes_a_policy_fail(attempt: int) -> None:
    policy = RetryPolicy("exponential", base=16, most=0, jitter=1.0)
    assert timedelta(0) <= policy.delay(attempt) <= CAP


@on_cases(DEAD_TABLE)
def test_the_row_is_settled_whatever_the_delay(stand: Stand) -> None:
    for delay in (timedelta.max, timedelta.min, timedelta(days=999_999)):
        (id,) = stand.enqueue([{"queue": "a", "payload": {}}])
        connection = stand.connect()
        with stand.claim(connection) as deliveries:
            (delivery,) = list(deliveries)
            assert delivery.id == id
            delivery.retry_after(connection, delay)
        row = stand.row(id)
        assert row is not None
        assert row["locked_until"] is None
        assert row["due"] <= datetime.now(UTC) + MAX_DELAY
        stand.database.execute("DELETE FROM jobs")
