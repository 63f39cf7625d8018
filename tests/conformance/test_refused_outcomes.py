"""Settlements by hand that the database refuses, or cancels without an error."""

from __future__ import annotations

from typing import Any

import pytest

from sqlclaimgen.runtime import (
    BatchRolledBack,
    FaultKind,
    StatementFailed,
    WriteIgnored,
    transaction,
)
from sqlclaimgen.runtime.protocols import outcomes
from tests.conformance.harness import Case, Stand, on_cases
from tests.support.refusing import WORDS, refuse
from tests.worker.held.cases import ADVISORY, ROW_LOCK
from tests.worker.support.cases import JOBS


def on(dialects: tuple[str, ...], *cases: Case) -> tuple[Case, ...]:
    """Each case, on those of these databases that it has."""
    return tuple(
        case.with_(dialects=[one for one in case.dialects if one in dialects]) for case in cases
    )


TWO_STATEMENTS = on(("mysql", "mariadb", "sqlite"), JOBS, ADVISORY)
"""Where a dead letter is written by one statement and its row removed by another."""

CANCELLING = on(("postgres", "sqlite"), JOBS, ROW_LOCK, ADVISORY)
"""Where a trigger can cancel a write without an error."""


def kept_inside(stand: Stand) -> None:
    """A dead letter in a transaction of the caller's, whose error is kept in there."""
    stand.fill([{"id": 1, "payload": "work"}])
    refuse(stand, "DELETE", {1})
    connection = stand.connect()
    with stand.claim(connection) as deliveries:
        for delivery in deliveries:
            with transaction(connection):
                with pytest.raises(StatementFailed, match=WORDS) as failed:
                    delivery.dead_letter(connection, "nobody wants it")
                assert (failed.value.kind, failed.value.id) == (FaultKind.ROW, 1)


@on_cases(*TWO_STATEMENTS)
def test_a_dead_letter_whose_row_cannot_be_removed_is_not_written(stand: Stand) -> None:
    kept_inside(stand)
    assert [row["id"] for row in stand.rows()] == [1]
    assert stand.rows(dead=True) == []


@on_cases(*on(("mysql", "mariadb"), ROW_LOCK))
def test_a_row_lock_rolls_back_all_that_its_claim_settled(stand: Stand) -> None:
    with pytest.raises(BatchRolledBack, match=WORDS):
        kept_inside(stand)
    assert [row["id"] for row in stand.rows()] == [1]
    assert stand.rows(dead=True) == []


@on_cases(*TWO_STATEMENTS)
def test_a_letter_without_its_savepoint_is_found_out(
    stand: Stand, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A broken twin: what the first of the two statements wrote is not undone."""

    def nothing() -> Any:
        yield from ()

    monkeypatch.setattr(outcomes, "_undone", nothing)
    kept_inside(stand)
    assert [row["id"] for row in stand.rows()] == [1]
    assert [row["id"] for row in stand.rows(dead=True)] == [1]


@pytest.mark.parametrize("outcome", ["ack", "discard", "dead_letter"])
@on_cases(*CANCELLING)
def test_a_settlement_that_a_trigger_cancels_is_told(stand: Stand, outcome: str) -> None:
    stand.fill([{"id": 1, "payload": "work"}])
    cancel_deletes(stand)
    connection = stand.connect()
    with stand.claim(connection) as deliveries:
        for delivery in deliveries:
            with pytest.raises(WriteIgnored, match="stands unchanged") as ignored:
                getattr(delivery, outcome)(connection)
            assert ignored.value.id == 1
            assert not delivery.settled and not delivery.lost
    assert [row["id"] for row in stand.rows()] == [1]
    assert stand.rows(dead=True) == []


def cancel_deletes(stand: Stand) -> None:
    """Let a trigger cancel every delete."""
    if stand.dialect == "sqlite":
        stand.database.execute(
            "CREATE TRIGGER kept BEFORE DELETE ON jobs BEGIN SELECT RAISE(IGNORE); END"
        )
        return
    stand.database.execute(
        "CREATE FUNCTION kept() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$"
    )
    stand.database.execute(
        "CREATE TRIGGER kept BEFORE DELETE ON jobs FOR EACH ROW EXECUTE FUNCTION kept()"
    )
