"""A small table that others hold rows of: MariaDB reads it through for `DELETE .. WHERE id IN (..)`, and
would wait for them. Exhausted rows are deleted one by one, each by its primary key."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from sqlclaimgen.runtime.protocols import lease
from sqlclaimgen.runtime.protocols.scope import group
from sqlclaimgen.runtime.steps import Commit
from tests.care.cases import DEAD_TABLE
from tests.conformance.harness import Stand, on_cases
from tests.conformance.stepping import Stepper
from tests.support.generated import Edit

LONG_AGO = datetime(2026, 1, 1, tzinfo=UTC)
ON_PYMYSQL = DEAD_TABLE.with_(name="pymysql", dialects=("mysql", "mariadb"))


def _beside_a_rival(stand: Stand, module: Any) -> tuple[int, int]:
    """A claim that meets four exhausted rows while a rival holds two others. Returns what it took and
    how many rows are dead."""
    row = {"queue": "a", "payload": 1, "due": LONG_AGO}
    stand.fill(
        [{**row, "attempt": 1, "urgency": 0}] * 2 + [{**row, "attempt": 9, "urgency": 1}] * 4
    )
    rival, connection = stand.connect(), stand.connect()
    stepper = Stepper(rival, stand.module.QUEUE, lambda bound: lease.claim(bound, group("a"), 2))
    stepper.stop_before(Commit)
    connection.cursor().execute("SET innodb_lock_wait_timeout = 1")
    connection.commit()
    try:
        with stand.claim(connection, 4, module=module) as deliveries:
            return len(deliveries), len(stand.rows(dead=True))
    finally:
        assert len(stepper.finish().deliveries) == 2


@on_cases(ON_PYMYSQL)
def test_exhausted_rows_of_a_small_table_are_moved_beside_a_rival(stand: Stand) -> None:
    assert _beside_a_rival(stand, stand.module) == (0, 4)


@on_cases(ON_PYMYSQL)
def test_a_delete_that_reads_the_table_is_found_out(stand: Stand) -> None:
    def scanning(sql: str) -> str:
        return sql.replace("`id` = :id", "`id` + 0 = :id")

    edit: Edit = scanning
    assert _beside_a_rival(stand, stand.twin(dead_letter_remove=edit)) == (0, 0)
