"""Each row once: the claim of the lease form on every database, and twins that must fail."""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping
from typing import Any

import pytest

from sqlclaimgen.runtime import StatementFailed, utcnow
from sqlclaimgen.runtime.protocols import lease
from sqlclaimgen.runtime.protocols.scope import ONLY, TABLE, Scope, group
from sqlclaimgen.runtime.steps import Commit
from tests.conformance.cases import FULL, PLAIN, SHAPES, URGENT, WHOLE
from tests.conformance.harness import Case, Stand, on_cases, unlocked, waiting
from tests.conformance.stepping import Stepper

LOCKING = tuple(case.with_(dialects=("postgres", "mysql", "mariadb")) for case in (FULL, PLAIN))
"""Databases with row locks."""


def scope_of(case: Case) -> Scope:
    """What the protocols call the case's claims."""
    if "group" in case.claims:
        return group(case.claims["group"])
    return TABLE if case.claim_name == "claim_table" else ONLY


def rows(case: Case, n: int) -> list[dict[str, Any]]:
    """`n` rows that are due, of three priorities, all in the group of the case's claims."""
    values: list[dict[str, Any]] = []
    for number in range(1, n + 1):
        row: dict[str, Any] = {"id": number}
        if "queue =" in case.body:
            row["queue"] = case.claims.get("group", "ab"[number % 2])
        if "priority =" in case.body:
            row["priority"] = number % 3
        if "timestamp(0)" in case.body:
            # the column's default would be rounded into the future
            row["run_after"] = utcnow()
        values.append(row)
    return values


@on_cases(*SHAPES)
def test_a_row_is_claimed_and_finished(stand: Stand) -> None:
    stand.fill(rows(stand.case, 3))
    connection = stand.connect()
    with stand.claim(connection, limit=2) as deliveries:
        assert len(deliveries) == 2
        for delivery in deliveries:
            held = stand.row(delivery.id)
            assert held is not None
            assert held["locked_until"] == delivery.token
            if stand.module.QUEUE.counts_attempts:
                assert (delivery.attempt, held["attempt"]) == (1, 2)
            delivery.ack(connection)
            after = stand.row(delivery.id)
            if stand.table.keeps_finished:
                assert after is not None
                assert after["locked_until"] is None
            else:
                assert after is None
    assert stand.unfinished == 1
    with stand.claim(connection, limit=5) as deliveries:
        assert [delivery.id for delivery in deliveries] == sorted(
            set(range(1, 4)) - {row["id"] for row in stand.rows() if not _waits(row)}
            if stand.table.keeps_finished
            else {row["id"] for row in stand.rows()}
        )


def _waits(row: Mapping[str, Any]) -> bool:
    return row.get("processed_at") is None and row.get("state", "new") == "new"


@on_cases(FULL, WHOLE, URGENT)
def test_rows_come_in_claim_order(stand: Stand) -> None:
    stand.fill(rows(stand.case, 40))
    order = sorted(range(1, 41), key=lambda id: (id % 3, id))
    connection = stand.connect()
    with stand.claim(connection, limit=15) as first:
        got = [delivery.id for delivery in first]
        with stand.claim(connection, limit=40) as second:
            got += [delivery.id for delivery in second]
    if stand.module.QUEUE.retry_after is not None:
        # the rows' due times are those of their insertion, one after another
        due = {row["id"]: row["run_after"] for row in stand.rows()}
        order.sort(key=lambda id: (id % 3, due[id], id))
    assert got == order


@on_cases(*LOCKING)
def test_a_claim_without_its_index_is_refused_or_locks_what_it_returns(stand: Stand) -> None:
    stand.fill(rows(stand.case, 60))
    quote = stand.plan.dialect.quote
    for index in stand.plan.indexes:
        on = f" ON {quote('jobs')}" if stand.dialect in ("mysql", "mariadb") else ""
        stand.database.execute(f"DROP INDEX {quote(index.name)}{on}")
    if stand.dialect != "postgres":
        with pytest.raises(
            StatementFailed, match=r"Key 'jobs_claim\w*' doesn't exist in table 'jobs'"
        ):
            stand.claim(stand.connect(), 10)
        return
    scope = scope_of(stand.case)
    claim = Stepper(
        stand.connect(), stand.module.QUEUE, lambda bound: lease.claim(bound, scope, 10)
    )
    claim.stop_before(Commit)
    locked = stand.database.locked_rows("jobs", "id")
    taken = claim.finish()
    assert len(locked) == 10
    assert locked == {delivery.id for delivery in taken.deliveries}


@on_cases(FULL, PLAIN)
def test_each_row_once_with_eight_claimers(stand: Stand) -> None:
    n = 2000
    stand.fill(rows(stand.case, n))
    history = stand.run_claimers(8, limit=10, until=lambda so_far: so_far.settled >= n)
    history.check_each_once(range(1, n + 1))
    history.check_attempts()
    history.check_no_overlap()
    assert stand.unfinished == 0
    assert all(row["locked_until"] is None for row in stand.rows())


@on_cases(*LOCKING)
def test_a_claim_that_waits_is_found_out(stand: Stand) -> None:
    # the twin waits for another claim's rows; the statement as it is takes the next ones
    stand.fill(rows(stand.case, 20))
    twin = stand.twin(claim=waiting)
    one = Stepper(
        stand.connect(),
        stand.module.QUEUE,
        lambda bound: lease.claim(bound, scope_of(stand.case), 5),
    )
    one.stop_before(Commit)
    other = stand.connect()
    taken: list[int] = []

    def claim() -> None:
        with stand.claim(other, 5, module=twin) as deliveries:
            taken.append(len(deliveries))

    thread = threading.Thread(target=claim)
    thread.start()
    stand.database.wait_until_blocked(stand.database.session_id(other))
    with stand.claim(stand.connect(), 5) as deliveries:
        passed_by = {delivery.id for delivery in deliveries}
    first = {delivery.id for delivery in one.finish().deliveries}
    thread.join(20)
    assert len(passed_by) == len(first) == 5
    assert passed_by.isdisjoint(first)
    assert taken


@on_cases(*LOCKING)
def test_a_claim_without_its_lock_is_found_out(stand: Stand) -> None:
    n = 200
    stand.fill(rows(stand.case, n))
    twin = stand.twin(claim=unlocked)
    claims = [
        Stepper(
            stand.connect(),
            twin.QUEUE,
            lambda bound: lease.claim(bound, scope_of(stand.case), 5),
        )
        for _ in range(2)
    ]
    if stand.dialect != "postgres":
        # select and write are two statements: both read before either writes
        for claim in claims:
            claim.stop_before("claim_write")
        ids = [{delivery.id for delivery in claim.finish().deliveries} for claim in claims]
        assert ids[0] == ids[1]
        return
    # one statement: the second waits for the first one's rows, and takes them over
    claims[0].stop_before(Commit)
    taken: list[set[int]] = []
    thread = threading.Thread(
        target=lambda: taken.append({d.id for d in claims[1].finish().deliveries})
    )
    thread.start()
    stand.database.wait_until_blocked(stand.database.session_id(claims[1].connection))
    first = {delivery.id for delivery in claims[0].finish().deliveries}
    thread.join(20)
    assert taken == [first]


@on_cases(FULL, PLAIN)
def test_a_claim_that_ignores_leases_is_found_out(stand: Stand) -> None:
    stand.fill(rows(stand.case, 10))
    twin = stand.twin(
        **{name: ignoring_leases for name in ("claim", "due_priorities") if name in stand.sql}
    )
    with stand.claim(stand.connect(), 5) as deliveries:
        held = {delivery.id for delivery in deliveries}
        with stand.claim(stand.connect(), 5) as others:
            assert held.isdisjoint(delivery.id for delivery in others)
        with stand.claim(stand.connect(), 5, module=twin) as again:
            assert {delivery.id for delivery in again} == held


def ignoring_leases(sql: str) -> str:
    """The edit that takes every condition on `locked_until` away."""
    broken = re.sub(r"""(\w\.)?[`"]locked_until[`"] (IS NULL|<= :now)""", "1 = 1", sql)
    # the two branches would bring every row twice
    return broken.replace("UNION ALL", "UNION")
