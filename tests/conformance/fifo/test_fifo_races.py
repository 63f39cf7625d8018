"""Eight claimers on one group, and over many: never two rows of a group in work, order kept."""

from __future__ import annotations

import pytest

from tests.conformance.fifo.fifo_cases import LEASE, ROW_LOCK, careless, unguarded
from tests.conformance.fifo.race import race
from tests.conformance.harness import Stand, on_cases

LIMITS = {"lease": 10, "row-lock": 1}


@on_cases(LEASE, ROW_LOCK)
@pytest.mark.parametrize(("groups", "rows"), [(12, 10), (50, 4)])
def test_over_many_groups(stand: Stand, groups: int, rows: int) -> None:
    watch = race(stand, groups, rows, limit=LIMITS[stand.case.name])
    watch.check()
    assert sum(map(len, watch.finished.values())) == groups * rows
    assert stand.unfinished == 0


@on_cases(LEASE, ROW_LOCK)
def test_one_group(stand: Stand) -> None:
    watch = race(stand, 1, 40, one_group=True)
    watch.check()
    assert watch.finished["g00"] == list(range(1, 41))
    assert stand.unfinished == 0


@on_cases(LEASE)
def test_without_the_test_for_rows_in_work_the_race_fails(stand: Stand) -> None:
    with pytest.raises(AssertionError, match="beside"):
        race(stand, 12, 10, module=careless(stand)).check()


@on_cases(ROW_LOCK)
def test_without_the_guard_the_race_fails(stand: Stand) -> None:
    with pytest.raises(AssertionError, match="beside"):
        race(stand, 12, 10, limit=1, module=unguarded(stand)).check()
