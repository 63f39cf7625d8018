"""What the database's clock said, and when: no answer is taken for younger than it is."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any
from unittest import mock

import pytest

from sqlclaimgen.runtime import clock
from sqlclaimgen.runtime.protocols import clocks

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("takes", "asked", "late"),
    [
        ([0.1], 1, 0.1),
        ([3.5, 0.1], 2, 0.1),
        ([3.5, 3.5, 3.5], 3, 3.5),  # nobody is asked for ever
    ],
)
def test_a_late_answer_is_asked_again_and_what_it_took_counts(
    takes: list[float], asked: int, late: float
) -> None:
    # a lease was written that had run out: an answer was taken for what the clock said just now
    time = SimpleNamespace(passed=100.0)
    time.monotonic = lambda: time.passed
    answers = iter(takes)

    def run(statement: str, parameters: Any) -> Any:
        time.passed += next(answers)
        return SimpleNamespace(rows=[(NOW,)])
        yield

    reading, codec = clock.Reading(), SimpleNamespace(from_time=lambda value: value)
    bound: Any = SimpleNamespace(run=run, codec=codec, reading=reading)
    with mock.patch.object(clocks, "time", time), mock.patch.object(clock, "time", time):
        assert list(clocks.read(bound, joined=True)) == []
        assert reading.now == NOW + timedelta(seconds=late)
        time.passed += 2
        assert reading.now == NOW + timedelta(seconds=late + 2)
    assert asked == len(takes) - len(list(answers))
