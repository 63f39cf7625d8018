"""Handlers that settle their delivery themselves: it counts, or is refused; nothing is dropped."""

from __future__ import annotations

import contextlib
from datetime import timedelta
from typing import Any

import pytest

from sqlclaimgen.runtime import ClaimError, EventKind, transaction
from tests.conformance.harness import Stand, on_cases
from tests.worker.held.cases import ADVISORY, ROW_LOCK
from tests.worker.support.cases import JOBS
from tests.worker.support.running import Log, OnThread, worker_of

ALL = (ROW_LOCK, ADVISORY, JOBS)
CALLS = {
    "ack": lambda delivery, connection: delivery.ack(connection),
    "retry": lambda delivery, connection: delivery.retry_after(connection, timedelta(hours=1)),
    "dead letter": lambda delivery, connection: delivery.dead_letter(connection, "no"),
}


def worked(stand: Stand, handle: Any, **options: Any) -> Log:
    log = Log()
    given = {"retry": lambda *_: 3600, "concurrency": 1, **options}
    OnThread(worker_of("blocking", stand, handle, on_event=log, **given), until="empty").join(60)
    return log


@pytest.mark.parametrize("call", CALLS)
@on_cases(*ALL)
def test_a_transactional_handler_returns_its_outcome(stand: Stand, call: str) -> None:
    # settled on its own connection an ack was taken for lost, or written over a retry
    (id,) = stand.enqueue([{}])
    stand.database.execute("CREATE TABLE effects (job BIGINT)")

    def handle(delivery: Any, connection: Any) -> None:
        connection.cursor().execute("INSERT INTO effects VALUES (1)")
        CALLS[call](delivery, connection)

    log = worked(stand, handle, transactional=True)
    (failed,) = log.of(EventKind.FAILED)
    assert isinstance(failed.error, ClaimError)
    assert "Return the outcome instead" in str(failed.error)
    assert log.deliveries == [(id, 1)] and not log.of(EventKind.LOST)
    assert stand.rows()[0]["attempt"] == 2
    assert stand.database.value("SELECT COUNT(*) FROM effects") == 0


@on_cases(ROW_LOCK, ADVISORY)
def test_a_plain_handler_does_not_settle_what_the_worker_holds(stand: Stand) -> None:
    stand.enqueue([{}])
    log = worked(stand, lambda delivery: delivery.ack(delivery.connection))
    (failed,) = log.of(EventKind.FAILED)
    assert "Return the outcome instead" in str(failed.error)
    assert stand.count == 1 and not log.of(EventKind.LOST)


@pytest.mark.parametrize("committed", [True, False], ids=["committed", "rolled back"])
@pytest.mark.parametrize("ours", [True, False], ids=["transaction()", "the caller's own"])
@on_cases(JOBS)
def test_a_plain_handler_over_a_connection_of_its_own(
    stand: Stand, committed: bool, ours: bool
) -> None:
    # what it returns counts where its own settlement was rolled back
    (id,) = stand.enqueue([{}])

    def handle(delivery: Any) -> Any:
        connection = stand.connect()
        if ours:
            with contextlib.suppress(ZeroDivisionError), transaction(connection):
                delivery.discard(connection)
                if not committed:
                    raise ZeroDivisionError
        else:
            connection.cursor().execute("BEGIN")
            delivery.discard(connection)
            connection.cursor().execute("COMMIT" if committed else "ROLLBACK")
        connection.close()
        return stand.module.RetryAfter(timedelta(hours=1))

    log = worked(stand, handle)
    assert log.deliveries == [(id, 1)]
    assert not log.of(EventKind.LOST) and not log.of(EventKind.FAILED)
    row = stand.row(id)
    if committed:
        assert row is None
    else:
        # not held till its lease runs out: what the handler returned was written
        assert row is not None and row["attempt"] == 2 and row["locked_until"] is None
        assert [event.outcome for event in log.of(EventKind.SETTLED)] == ["RetryAfter"]


@on_cases(*ALL)
def test_a_failure_at_the_last_attempt_is_reported_as_what_it_is(stand: Stand) -> None:
    stand.enqueue([{}])

    def handle(delivery: Any) -> None:
        raise ValueError("never")

    log = worked(stand, handle, retry=lambda *_: 0)
    assert [event.outcome for event in log.of(EventKind.SETTLED)] == ["Retry"] * 4 + ["DeadLetter"]
    assert [row["reason"] for row in stand.rows(dead=True)] == ["attempts"]
