"""Rows of one key run one at a time, each once: eight claimers, and twins that are broken on purpose."""

from __future__ import annotations

import contextlib
import threading
from typing import Any

import pytest

from sqlclaimgen.runtime import ClaimLost
from tests.conformance.advisory.cases import (
    DELAYED,
    FULL,
    MARKED,
    PLAIN,
    WHOLE,
    on,
    rows,
    with_sessions,
)
from tests.conformance.advisory.test_taking import settled_between
from tests.conformance.harness import Stand, on_cases, substituting
from tests.conformance.history import History, Violation
from tests.support.generated import Edit


class Watch:
    """Which keys are in work, seen from inside the handlers: the key's lock is held around each."""

    def __init__(self, *, wait: bool) -> None:
        self._wait = wait
        self._in_work: dict[str, Any] = {}
        self._guard = threading.Lock()
        self.together: list[tuple[Any, Any]] = []
        """Two rows of one key that were in work at once."""

    def __call__(self, history: History, worker: int, delivery: Any) -> str:
        account = delivery.row.account
        with self._guard:
            if account in self._in_work:
                self.together.append((self._in_work[account], delivery.id))
            self._in_work[account] = delivery.id
        if self._wait:
            history.wait_for_rival(worker)
        with self._guard:
            self._in_work.pop(account, None)
        return "ack"

    def check(self) -> None:
        """Raises Violation where two rows of a key were in work at once."""
        if self.together:
            raise Violation(f"of one key at once: {self.together[:10]}")


@on_cases(FULL, PLAIN)
def test_eight_claimers_keep_the_rows_of_a_key_apart(stand: Stand) -> None:
    n, keys = 2000, 50
    stand.fill(rows(stand.case, n, keys))
    watch = Watch(wait=False)
    history = stand.run_claimers(
        8, work=watch, until=lambda so_far: so_far.settled >= n, timeout=150
    )
    watch.check()
    history.check_each_once(range(1, n + 1))
    history.check_attempts()
    assert stand.unfinished == 0


@on_cases(WHOLE, DELAYED, MARKED)
def test_handlers_that_overlap_are_of_different_keys(stand: Stand) -> None:
    n, keys = 120, 6
    stand.fill(rows(stand.case, n, keys))
    watch = Watch(wait=True)
    history = stand.run_claimers(
        8, work=watch, until=lambda so_far: so_far.settled >= n, timeout=100
    )
    watch.check()
    history.check_each_once(range(1, n + 1))
    overlaps = list(history._overlaps(lambda record: "all"))
    assert overlaps, "nothing ran at the same time, so nothing was tested"


@on_cases(PLAIN)
def test_another_key_runs_meanwhile(stand: Stand) -> None:
    stand.fill([{"account": "7"}, {"account": "7"}, {"account": "8"}])
    with stand.claim(stand.connect()) as first, stand.claim(stand.connect()) as second:
        assert [d.row.account for d in (*first, *second)] == ["7", "8"]
        with stand.claim(stand.connect()) as third:
            assert len(third) == 0


# -- broken twins --------------------------------------------------------------------------------------

_TRIES_NOTHING = substituting(
    ("GET_LOCK(c.candidate_lock, 0)", "1"),
    ("WHERE IS_FREE_LOCK", "WHERE 1 = 1 OR IS_FREE_LOCK"),
    (
        "IF(IS_USED_LOCK(c.candidate_lock) = CONNECTION_ID(), CONNECTION_ID(), NULL)",
        "CONNECTION_ID()",
    ),
)
NEVER_TRIED: dict[str, Edit] = {
    "postgres": substituting(("pg_try_advisory_lock(", "0 <> abs(1 + 0 * ")),
    "mysql": _TRIES_NOTHING,
    "mariadb": _TRIES_NOTHING,
}


@on_cases(*with_sessions(PLAIN))
def test_a_claim_that_tries_no_lock_is_found_out(stand: Stand) -> None:
    stand.fill(rows(stand.case, 40, 2))
    twin = stand.twin(claim=NEVER_TRIED[stand.dialect])
    # four claims, and none of them is left: their rows are in work at once
    claims = [stand.claim(stand.connect(), module=twin) for _ in range(4)]
    accounts = [delivery.row.account for claim in claims for delivery in claim]
    assert len(accounts) == 4 and len(set(accounts)) <= 2


@on_cases(PLAIN)
def test_a_key_of_the_row_alone_is_found_out(stand: Stand) -> None:
    stand.fill(rows(stand.case, 40, 2))
    quote = stand.plan.dialect.quote
    edit = substituting((f"(t.{quote('account')} ", f"(t.{quote('id')} "))
    twin = stand.twin(claim=edit, take=edit)
    watch = Watch(wait=True)
    stand.run_claimers(8, module=twin, work=watch, until=lambda so_far: so_far.settled >= 40)
    with pytest.raises(Violation):
        watch.check()


@on_cases(PLAIN)
def test_a_key_that_is_the_same_for_all_is_found_out(stand: Stand) -> None:
    stand.fill(rows(stand.case, 4))
    quote = stand.plan.dialect.quote
    edit = substituting((f"(t.{quote('account')} ", "(1 "))
    twin = stand.twin(claim=edit, take=edit)
    with stand.claim(stand.connect(), module=twin) as first:
        assert len(first) == 1
        with stand.claim(stand.connect(), module=twin) as second:
            assert len(second) == 0, "another account's row waits for no reason"


def unconditional(stand: Stand) -> Edit:
    """The edit that makes a take find its row though it is finished."""
    return substituting((f" AND t.{stand.plan.dialect.quote('processed_at')} IS NULL", ""))


@on_cases(on(FULL, "postgres", "mysql", "mariadb"))
def test_a_take_that_reads_nothing_again_is_found_out(stand: Stand) -> None:
    # test_taking has the take as it is, in the same place
    stand.fill(rows(stand.case, 1))
    taken = settled_between(stand, stand.twin(take=unconditional(stand)))
    assert [delivery.id for delivery in taken.deliveries] == [1], "a finished row was handed out"


UNLIMITED = FULL.with_(
    name="unlimited",
    body=FULL.body.replace("max_attempts = 3", "").replace(
        'dead_letter = { table = "jobs_dead" }', ""
    ),
)
"""Attempts without a limit: a row that is taken again and again is not given up."""


@on_cases(*with_sessions(UNLIMITED))
def test_a_take_that_reads_nothing_again_runs_rows_twice(stand: Stand) -> None:
    n = 400
    stand.fill(rows(stand.case, n, 4))
    edits = {"take": unconditional(stand)}
    if stand.dialect == "postgres":
        # the time between snapshot and lock, which is short here
        edits["claim"] = substituting(("WHERE CASE", "WHERE pg_sleep(0.005) IS NOT NULL AND CASE"))
    twin = stand.twin(**edits)

    def settle(connection: Any, delivery: Any, outcome: str) -> None:
        with contextlib.suppress(ClaimLost):  # at least the fence held
            delivery.ack(connection)

    history = stand.run_claimers(
        8,
        module=twin,
        work=Watch(wait=False),
        settle=settle,
        until=lambda so_far: so_far.settled >= n,
    )
    with pytest.raises(Violation):
        history.check_each_once(range(1, n + 1))
    history.check_settled_once()
