"""What the database's clock said, and when: no answer is taken for younger than it is."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any
from unittest import mock

import pytest

from sqlclaimgen.runtime import FaultKind, StatementFailed, clock
from sqlclaimgen.runtime.protocols import clocks

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def reading(takes: list[float], passed: SimpleNamespace) -> tuple[clock.Reading, int]:
    """The clock is read while answers take so long. Returns how often it was asked."""
    answers = iter(takes)

    def run(statement: str, parameters: Any) -> Any:
        passed.seconds += next(answers)
        return SimpleNamespace(rows=[(NOW,)])
        yield

    read = clock.Reading()
    queue = SimpleNamespace(lease=timedelta(seconds=10), table="jobs")
    codec = SimpleNamespace(from_time=lambda value: value)
    bound: Any = SimpleNamespace(run=run, codec=codec, reading=read, queue=queue)
    try:
        assert list(clocks.read(bound, joined=True)) == []
    finally:
        passed.asked = len(takes) - len(list(answers))
    return read, passed.asked


@pytest.fixture(name="passed")
def _passed() -> Iterator[SimpleNamespace]:
    passed = SimpleNamespace(seconds=100.0)
    passed.monotonic = lambda: passed.seconds
    with mock.patch.object(clocks, "time", passed), mock.patch.object(clock, "time", passed):
        yield passed


@pytest.mark.parametrize(("takes", "asked"), [([0.2], 1), ([3.5, 0.2], 2), ([3.5, 1.1, 0.2], 3)])
def test_a_late_answer_is_asked_again(
    passed: SimpleNamespace, takes: list[float], asked: int
) -> None:
    # nobody knows when it was read: too early, a lease that had run out was written; too late, one
    # that had not was taken
    read, times = reading(takes, passed)
    assert times == asked
    assert read.now == NOW + timedelta(seconds=0.1)
    passed.seconds += 2
    assert read.now == NOW + timedelta(seconds=2.1)


def test_the_earliest_that_it_can_be_is_as_if_it_was_read_when_the_answer_came(
    passed: SimpleNamespace,
) -> None:
    read, _ = reading([0.8], passed)
    assert read.earliest == NOW
    passed.seconds += 2
    assert read.earliest == NOW + timedelta(seconds=2)
    assert read.now == NOW + timedelta(seconds=2.4)


def test_nobody_goes_by_answers_that_are_all_late(passed: SimpleNamespace) -> None:
    with pytest.raises(StatementFailed, match=r"took 3\.5 seconds to answer") as refused:
        reading([3.5] * 4, passed)
    assert refused.value.kind is FaultKind.BUSY and passed.asked == 3
