"""A transaction that is undone in favour of another one is run again, and spends nothing."""

from __future__ import annotations

from typing import Any
from unittest import mock

import pytest

from sqlclaimgen.runtime import transaction
from sqlclaimgen.runtime.errors import FaultKind, StatementFailed
from sqlclaimgen.runtime.protocols import transaction as transactions
from tests.conformance.harness import Stand, on_cases
from tests.support.conflicts import DIALECTS, conflicting
from tests.worker.checks.looking import ADVISORY, LEASE, ROW_LOCK

SERVED = {case.name: case.with_(dialects=DIALECTS) for case in (LEASE, ROW_LOCK, ADVISORY)}
STEPS = {
    "lease": ("claim", "commit", "ack", "extend", "give_back"),
    "row_lock": ("claim",),
    "advisory": ("take", "commit", "ack"),
}


def _new(stand: Stand) -> dict[str, Any]:
    return {"account": 1} if stand.case.name == "advisory" else {"size": 1}


@on_cases(*SERVED.values())
@pytest.mark.parametrize(
    "step", ["claim", "claim_write", "take", "commit", "ack", "extend", "give_back"]
)
def test_by_hand_it_is_tried_again(stand: Stand, step: str) -> None:
    served = step in STEPS[stand.case.name] or (step == "claim_write" and step in stand.sql)
    if not served:
        pytest.skip(f"the form runs no {step} in a transaction of its own")
    (id,) = stand.enqueue([_new(stand)])
    connection = stand.connect()
    # the key is given back in a transaction of its own, whose COMMIT has to be confirmed
    times = 1 if (stand.case.name, step) == ("advisory", "commit") else 3
    with conflicting(step, times) as conflicts, stand.claim(connection) as deliveries:
        for delivery in deliveries:
            assert (delivery.id, delivery.attempt) == (id, 1)
            if step == "extend":
                assert stand.module.extend(connection, [delivery]) == []
            if step == "give_back":
                stand.module.release(connection, [delivery])
            else:
                delivery.ack(connection)
    assert conflicts.met == times
    if step != "give_back":
        assert stand.unfinished == 0


@on_cases(SERVED["lease"])
def test_not_for_ever(stand: Stand) -> None:
    stand.enqueue([_new(stand)])
    connection = stand.connect()
    with conflicting("commit", 1000) as conflicts, pytest.raises(StatementFailed) as failed:
        stand.claim(connection).__enter__()
    assert failed.value.kind is FaultKind.CONFLICT
    assert conflicts.met == transactions.TRIES
    assert [row["attempt"] for row in stand.rows()] == [1]


@on_cases(SERVED["lease"])
def test_a_settlement_in_a_transaction_of_the_callers_is_theirs_to_repeat(stand: Stand) -> None:
    stand.enqueue([_new(stand)])
    connection = stand.connect()
    with stand.claim(connection) as deliveries:
        for delivery in deliveries:
            with (
                conflicting("ack", 1),
                pytest.raises(StatementFailed),
                transaction(connection),
            ):
                delivery.ack(connection)
            with transaction(connection):
                delivery.ack(connection)
    assert stand.count == 0


@on_cases(*(case.with_(dialects=("mariadb",)) for case in (LEASE, ROW_LOCK)))
def test_crowds_under_snapshot_isolation(stand: Stand) -> None:
    # MariaDB 11.6 and newer have it on: a row that changed since the statement began is error 1020
    stand.database.execute("SET GLOBAL innodb_snapshot_isolation = ON")
    try:
        assert _crowd(stand, tries=1, rows=400), "no conflict arises: the test proves nothing"
        assert not _crowd(stand, tries=transactions.TRIES, rows=150)
    finally:
        stand.database.execute("SET GLOBAL innodb_snapshot_isolation = OFF")


def _crowd(stand: Stand, *, tries: int, rows: int) -> bool:
    """Whether a claimer met a conflict that it was told of."""
    stand.database.execute("DELETE FROM jobs")
    stand.enqueue([_new(stand)] * rows)
    with mock.patch.object(transactions, "TRIES", tries):
        try:
            history = stand.run_claimers(
                8, limit=3, work=lambda *_: "ack", until=lambda _: stand.unfinished == 0
            )
        except StatementFailed as error:
            assert error.kind is FaultKind.CONFLICT
            return True
    assert stand.unfinished == 0 and history is not None
    return False
