"""A session that died inside a claim's block: what was settled before is rolled back, and that is told."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest

from sqlclaimgen.runtime import BatchRolledBack, ClaimLost, TransactionOpen
from tests.conformance.harness import Stand, on_cases
from tests.worker.held.cases import ADVISORY, ROW_LOCK, SERVERS


@on_cases(ROW_LOCK)
def test_a_batch_whose_losses_are_kept_inside(stand: Stand) -> None:
    stand.enqueue([{}, {}, {}])
    connection = stand.connect()
    number = stand.database.session_id(connection)
    taken: list[Any] = []
    with (
        pytest.raises((BatchRolledBack, ClaimLost)),
        stand.module.claim(connection, limit=3) as claim,
    ):
        for delivery in claim:
            taken.append(delivery)
            with contextlib.suppress(ClaimLost, BatchRolledBack):
                delivery.ack(connection)
            if len(taken) == 1:
                stand.database.kill_session(number)
    assert stand.count == 3
    assert not any(delivery.settled for delivery in taken)
    assert all(delivery.lost for delivery in taken)


@on_cases(ROW_LOCK, ADVISORY.with_(dialects=SERVERS))
def test_a_death_that_a_statement_of_the_callers_met(stand: Stand) -> None:
    stand.enqueue([{}])
    connection = stand.connect()
    number = stand.database.session_id(connection)
    with (
        pytest.raises((ClaimLost, TransactionOpen)),
        stand.module.claim(connection) as claim,
    ):
        for delivery in claim:
            if "advisory" in stand.case.name:
                connection.begin() if stand.dialect != "postgres" else connection.execute(
                    "SELECT 1"
                )
            delivery.ack(connection)
            stand.database.kill_session(number)
            with contextlib.suppress(Exception):
                connection.cursor().execute("SELECT 1")
    assert stand.count == 1 and not delivery.settled
