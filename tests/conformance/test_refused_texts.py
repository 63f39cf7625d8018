"""Text that one of a table's databases does not take: refused before anything is sent, on all of them."""

from __future__ import annotations

from typing import Any

import pytest

from sqlclaimgen.runtime import AlreadyQueued, ClaimError, ConnectionBusy, ValueRefused, held_by_key
from tests.conformance.harness import Case, Stand, on_cases

TEXTS = Case(
    "texts",
    """
    lease = "60s"
    [table.jobs.columns]
    id = { role = "id", type = "bigint", generated = true }
    locked_until = { role = "locked_until" }
    queue = { role = "group", type = "text", default = "a" }
    once = { role = "dedupe_key", type = "varchar(80)", null = true }
    headers = { role = "headers", null = true }
    payload = { role = "payload", type = "json", null = true }
    note = { type = "text", null = true }
    """,
    claims={"group": "a"},
)

_WRONG = [
    ("queue", "x{}y"),
    ("once", "x{}y"),
    ("note", "x{}y"),
    ("payload", {"a": "x{}y"}),
    ("payload", {"x{}y": 1}),
    ("headers", {"a": "x{}y"}),
]


def _with(value: Any, text: str) -> Any:
    if isinstance(value, dict):
        return {_with(key, text): _with(item, text) for key, item in value.items()}
    return value.replace("{}", text) if isinstance(value, str) else value


@on_cases(TEXTS)
def test_a_text_that_cannot_be_stored_is_one_error(stand: Stand) -> None:
    connection = stand.connect()
    nul = stand.dialect == "postgres"
    for field, value in _WRONG:
        for text in ("\ud800", *["\0"][: 1 if nul else 0]):
            with pytest.raises(ValueRefused, match=f"jobs: {field} of the row") as refused:
                stand.module.enqueue(connection, stand.module.New(**{field: _with(value, text)}))
            assert isinstance(refused.value, ClaimError)
            assert refused.value.column == field
    # the transaction is as it was
    stand.module.enqueue(connection, stand.module.New(note="fine"))
    connection.commit()
    assert stand.count == 1


def test_a_table_of_postgres_and_sqlite_has_one_verdict(tmp_path: Any) -> None:
    from tests.support.generated import generate

    module: Any = generate(TEXTS.text("postgres", "sqlite"), tmp_path).module("jobs")
    assert not module.QUEUE.holds_nul
    alone: Any = generate(TEXTS.text("sqlite"), tmp_path / "alone").module("jobs")
    assert alone.QUEUE.holds_nul


@on_cases(TEXTS)
def test_a_queued_key_is_on_the_error(stand: Stand) -> None:
    connection = stand.connect()
    stand.module.enqueue(connection, stand.module.New(once="k"))
    with pytest.raises(AlreadyQueued) as refused:
        stand.module.enqueue(connection, stand.module.New(once="k"))
    assert refused.value.key == "k"
    connection.rollback()


@on_cases(TEXTS)
def test_a_connection_is_claimed_over_by_one_at_a_time(stand: Stand) -> None:
    connection = stand.connect()
    held_by_key.begin(stand.module.QUEUE, connection)
    with pytest.raises(ConnectionBusy, match="another thread or task"):
        stand.claim(connection)
    held_by_key.end(connection)
    with stand.claim(connection):
        pass
