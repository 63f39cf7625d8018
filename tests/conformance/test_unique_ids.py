"""Two rows of one id, in a live table that nobody compared with the description: no statement takes or
finishes the other row unseen."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from sqlclaimgen.runtime import transaction
from sqlclaimgen.runtime.errors import BatchRolledBack, ClaimError, IdNotUnique
from sqlclaimgen.runtime.worker.faces import Worker
from tests.conformance.harness import Stand, on_cases
from tests.support.tenants import with_a_key_of_two_columns
from tests.worker.checks.looking import ADVISORY, FORMS, LEASE

ROWS = 5


@pytest.fixture
def doubled(stand: Stand) -> Stand:
    """Every id twice, and a module that looks at no live table."""
    stand.module.QUEUE = dataclasses.replace(stand.module.QUEUE, work=None, dead=None)
    row: dict[str, Any] = {"account": 1} if stand.case.name == "advisory" else {"size": 1}
    row |= {"queue": "a"} if stand.case.name == "fifo" else {}
    stand.enqueue([row] * ROWS)
    with_a_key_of_two_columns(stand)
    listed = ", ".join(column.name for column in stand.table.columns)
    always = " OVERRIDING SYSTEM VALUE" if stand.dialect == "postgres" else ""
    stand.database.execute(
        f"INSERT INTO jobs (tenant, {listed}){always} SELECT 2, {listed} FROM jobs"
    )
    assert stand.count == 2 * ROWS
    return stand


@on_cases(*FORMS)
@pytest.mark.parametrize(("outcome", "limit"), [("ack", 1), ("ack", ROWS * 2), ("retry", 1)])
def test_no_row_ends_unseen(doubled: Stand, outcome: str, limit: int) -> None:
    connection = doubled.connect()
    before = doubled.rows()
    group: dict[str, Any] = {"group": "a"} if doubled.case.name == "fifo" else {}
    with (
        pytest.raises((IdNotUnique, BatchRolledBack)),
        doubled.claim(connection, limit, **group) as deliveries,
    ):
        for delivery in deliveries:
            getattr(delivery, outcome)(connection)
    assert _content(doubled.rows()) == _content(before)


def _content(rows: list[dict[str, Any]]) -> list[Any]:
    """What matters of them: an attempt may be counted, and a lease may be taken."""
    return sorted((row["id"], row.get("processed_at") is None) for row in rows)


@on_cases(LEASE, ADVISORY)
@pytest.mark.parametrize("kept_inside", [False, True])
def test_an_error_kept_inside_a_transaction_commits_nothing(
    stand: Stand, kept_inside: bool
) -> None:
    # the second row comes while the first is held
    row = {"account": 1} if stand.case.name == "advisory" else {"size": 1}
    stand.enqueue([row])
    connection = stand.connect()
    stand.database.execute("CREATE TABLE effects (job int)")
    with pytest.raises(ClaimError), stand.claim(connection) as deliveries:
        with_a_key_of_two_columns(stand)
        listed = ", ".join(column.name for column in stand.table.columns)
        always = " OVERRIDING SYSTEM VALUE" if stand.dialect == "postgres" else ""
        stand.database.execute(
            f"INSERT INTO jobs (tenant, {listed}){always} SELECT 2, {listed} FROM jobs"
        )
        for delivery in deliveries:
            with transaction(connection):
                connection.cursor().execute("INSERT INTO effects VALUES (1)")
                try:
                    delivery.ack(connection)
                except IdNotUnique:
                    if not kept_inside:
                        raise
    assert stand.count == 2
    assert stand.database.value("SELECT COUNT(*) FROM effects") == 0


@on_cases(*FORMS)
def test_no_worker_finishes_a_row_that_it_did_not_run(doubled: Stand) -> None:
    ran: list[Any] = []
    errors: list[BaseException] = []
    worker: Worker[Any, Any]

    def hear(event: Any) -> None:
        if isinstance(event.error, IdNotUnique):
            errors.append(event.error)
            worker.stop()

    worker = Worker(
        doubled.module.QUEUE,
        lambda delivery: ran.append(delivery.id),
        connect=doubled.connect,
        groups=["a"] if doubled.case.name == "fifo" else None,
        concurrency=1,
        check=False,
        on_event=hear,
        drain_timeout=0.5,
    )
    worker.run()
    assert errors
    assert len(_content(doubled.rows())) == 2 * ROWS
    assert all(unfinished for _, unfinished in _content(doubled.rows()))
