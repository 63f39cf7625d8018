"""DE-06: a failed row is claimed again at once, because its release did not reach the table."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from tests.care.cases import DEAD_GROUP
from tests.conformance.harness import Stand, on_cases, without

NOW = datetime(2026, 6, 1, tzinfo=UTC)


@on_cases(DEAD_GROUP)
def test_one_statement_writes_all_of_a_failure(stand: Stand) -> None:
    (id,) = stand.enqueue([{"queue": "a"}])
    stand.database.execute(f"UPDATE jobs SET due = {_earliest(stand)}")
    module = stand.at(NOW)
    connection = stand.connect()
    with stand.claim(connection, module=module) as deliveries:
        (delivery,) = list(deliveries)
        delivery.retry_after(connection, timedelta(seconds=5), "timed out")

    row = stand.row(id)  # over another connection
    assert row is not None
    assert row["due"] == NOW + timedelta(seconds=5)
    assert (row["locked_until"], row["attempt"], row["error"]) == (None, 2, "timed out")

    for seconds, found in ((0, 0), (4.999999, 0), (5, 1)):
        module.QUEUE.clock.now = NOW + timedelta(seconds=seconds)
        with stand.claim(connection, module=module) as deliveries:
            assert len(deliveries) == found, seconds


@on_cases(DEAD_GROUP)
def test_a_twin_that_keeps_the_lease_is_caught(stand: Stand) -> None:
    quoted = stand.plan.dialect.quote("locked_until")
    twin = stand.twin(retry_after=without(f", {quoted} = NULL"))
    (id,) = stand.enqueue([{"queue": "a"}])
    connection = stand.connect()
    with stand.claim(connection, module=twin) as deliveries:
        (delivery,) = list(deliveries)
        delivery.retry_after(connection, timedelta(seconds=5), "timed out")
    row = stand.row(id)
    assert row is not None and row["locked_until"] is not None


def _earliest(stand: Stand) -> str:
    return "0" if stand.dialect == "sqlite" else "'2020-01-01 00:00:00'"
