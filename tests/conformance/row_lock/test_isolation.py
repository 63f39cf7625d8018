"""The level a claim runs at is the table's, whatever the session's default is (DL-09), and it reads the
time of the claim, not of the transaction (TZ-04)."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import pytest

from sqlclaimgen.rendering import plans, python_module
from sqlclaimgen.runtime.protocols import row_lock
from sqlclaimgen.runtime.steps import Run
from tests.conformance.harness import Stand, on_cases
from tests.conformance.row_lock.cases import FULL, MINIMAL, rows, scope_of
from tests.conformance.stepping import Stepper

LEVELS = ("repeatable read", "serializable")

_SHOW = {
    "postgres": "SHOW transaction_isolation",
    "mysql": "SELECT isolation_level FROM performance_schema.events_transactions_current"
    " JOIN performance_schema.threads USING (thread_id) WHERE processlist_id = CONNECTION_ID()",
    "mariadb": "SELECT trx_isolation_level FROM information_schema.innodb_trx"
    " WHERE trx_mysql_thread_id = CONNECTION_ID()",
}


def strict_default(stand: Stand, level: str) -> Any:
    """A connection whose session default is a stricter level."""
    connection = stand.connect(autocommit=True)
    cursor = connection.cursor()
    if stand.dialect == "postgres":
        cursor.execute(f"SET default_transaction_isolation = '{level}'")
    else:
        cursor.execute(f"SET SESSION TRANSACTION ISOLATION LEVEL {level.upper()}")
    return connection


def level_of(stand: Stand, connection: Any) -> str:
    """The level of the open transaction, as the server tells it."""
    cursor = connection.cursor()
    if stand.dialect == "mariadb":
        time.sleep(0.11)  # the view is refreshed when nobody has read it for a tenth of a second
    cursor.execute(_SHOW[stand.dialect])
    return str(cursor.fetchone()[0]).lower().replace("-", " ")


@pytest.mark.parametrize("level", LEVELS)
@on_cases(FULL)
def test_a_row_that_changed_meanwhile_is_no_error(stand: Stand, level: str) -> None:
    """At REPEATABLE READ PostgreSQL fails with 40001 on it, in spite of SKIP LOCKED."""
    stand.fill(rows(stand.case, 4))
    connection = strict_default(stand, level)
    claim = Stepper(
        connection, stand.module.QUEUE, lambda bound: row_lock.claim(bound, scope_of(stand.case), 4)
    )
    claim.step()  # BEGIN
    assert isinstance(claim.next, Run)
    # a snapshot, where the level keeps one
    connection.cursor().execute("SELECT COUNT(*) FROM jobs")
    stand.database.execute("UPDATE jobs SET note = 'changed'")
    taken = claim.finish()
    assert len(taken.deliveries) == 4
    assert level_of(stand, connection) == "read committed"
    connection.rollback()


@on_cases(FULL)
def test_the_callers_default_is_not_touched(stand: Stand) -> None:
    stand.fill(rows(stand.case, 4))
    connection = strict_default(stand, "serializable")
    with stand.claim(connection) as deliveries:
        assert level_of(stand, connection) == "read committed"
        for delivery in deliveries:
            delivery.ack(connection)
    cursor = connection.cursor()
    cursor.execute("BEGIN")
    cursor.execute("SELECT id FROM jobs WHERE id = 1 FOR UPDATE")
    assert level_of(stand, connection) == "serializable"
    connection.rollback()


def at_level(stand: Stand, level: str) -> Any:
    """The stand's module, its table at a level of its own."""
    module = stand.generated.module(stand.case.key)
    module.QUEUE = replace(module.QUEUE, isolation=level)
    return module


@pytest.mark.parametrize("level", LEVELS)
@on_cases(FULL, MINIMAL)
def test_a_table_may_name_its_level(stand: Stand, level: str) -> None:
    if stand.dialect != "postgres" and level == "serializable":
        pytest.skip("InnoDB reads the candidates with locks there: claims wait for one another")
    stand.fill(rows(stand.case, 4))
    module = at_level(stand, level)
    connection = stand.connect()
    with stand.claim(connection, 2, module=module) as deliveries:
        assert level_of(stand, connection) == level
        with stand.claim(stand.connect(), 1, module=module) as others:
            assert len(others) == 1
        for delivery in deliveries:
            delivery.ack(connection)
    assert stand.unfinished == 2


@pytest.mark.parametrize("level", LEVELS)
@on_cases(MINIMAL.with_(dialects=("postgres",)))
def test_a_stricter_claim_tries_again_over_a_fresh_snapshot(stand: Stand, level: str) -> None:
    stand.fill(rows(stand.case, 4))
    connection = stand.connect(autocommit=True)
    claim = Stepper(
        connection,
        at_level(stand, level).QUEUE,
        lambda bound: row_lock.claim(bound, scope_of(stand.case), 4),
    )
    claim.step()
    connection.execute("SELECT COUNT(*) FROM jobs")
    stand.database.execute("UPDATE jobs SET payload = 'changed'")
    taken = claim.finish()
    assert len(taken.deliveries) == 4
    assert len([step for step in claim.steps if isinstance(step, Run)]) == 2
    connection.rollback()


@on_cases(MINIMAL)
def test_the_module_says_the_level(stand: Stand) -> None:
    table = replace(stand.table, isolation="repeatable read")
    text = python_module.render(stand.generated.description, table, plans(table))
    assert '    isolation="repeatable read",\n' in text


@on_cases(FULL)
def test_a_row_that_fell_due_during_a_long_transaction_is_seen(stand: Stand) -> None:
    """The host's clock is read at the claim; now() would be the start of the transaction."""
    assert "now()" not in "".join(stand.sql.values()).lower()
    assert "current_timestamp" not in "".join(stand.sql.values()).lower()
