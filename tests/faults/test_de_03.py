"""DE-03: a dead row is brought back while a newer row has its key."""

from __future__ import annotations

from typing import Any

import pytest

from sqlclaimgen.runtime import AlreadyQueued
from sqlclaimgen.runtime.transactions import transaction
from tests.care.cases import DEAD_GROUP, DEAD_TABLE, MARKED
from tests.conformance.harness import Stand, on_cases


def _dead(stand: Stand, *keys: str) -> list[Any]:
    made: list[Any] = []
    connection = stand.connect()
    for key in keys:
        more = {} if stand.case is MARKED else {"queue": "a"}
        if stand.case is DEAD_TABLE:
            more["payload"] = "p"
        made += stand.enqueue([{"slip": key, **more}])
        with stand.claim(connection) as deliveries:
            for delivery in deliveries:
                delivery.dead_letter(connection)
    connection.close()
    return made


@on_cases(DEAD_TABLE)
def test_a_key_that_is_queued_again_is_refused(stand: Stand) -> None:
    ids = _dead(stand, "k", "other")
    stand.enqueue([{"queue": "a", "slip": "k", "payload": 1}])
    connection = stand.connect()
    with pytest.raises(AlreadyQueued) as refused:
        stand.module.redrive(connection, ids=ids)
    assert refused.value.id == ids[0]
    assert "queued again" in str(refused.value)
    # all or none: the other stays dead too
    assert [row["id"] for row in stand.rows(dead=True)] == ids
    assert stand.count == 1
    assert stand.module.redrive(connection, ids=ids[1:]) == ids[1:]


@on_cases(DEAD_TABLE)
def test_a_refusal_leaves_the_callers_transaction_usable(stand: Stand) -> None:
    (id,) = _dead(stand, "k")
    stand.enqueue([{"queue": "a", "slip": "k", "payload": 1}])
    connection = stand.connect()
    if stand.dialect == "sqlite":
        connection.execute("BEGIN IMMEDIATE")
    else:
        connection.cursor().execute("SELECT 1")
        if stand.dialect != "postgres":
            connection.begin()
    with pytest.raises(AlreadyQueued):
        stand.module.redrive(connection, ids=[id])
    stand.module.enqueue(connection, stand.module.New(queue="a", payload=2))
    connection.commit()
    assert stand.count == 2
    assert [row["id"] for row in stand.rows(dead=True)] == [id]


@on_cases(DEAD_TABLE)
def test_the_oldest_that_can_come_back_do(stand: Stand) -> None:
    ids = _dead(stand, "k", "l", "m")
    stand.enqueue([{"queue": "a", "slip": key, "payload": 1} for key in ("k", "l")])
    assert stand.module.redrive(stand.connect(), limit=1) == [ids[2]]
    assert [row["id"] for row in stand.rows(dead=True)] == ids[:2]


@on_cases(DEAD_TABLE)
def test_two_dead_letters_of_one_key_come_back_one_at_a_time(stand: Stand) -> None:
    ids = _dead(stand, "k", "k")
    connection = stand.connect()
    with pytest.raises(AlreadyQueued):
        stand.module.redrive(connection, ids=ids)
    assert stand.module.redrive(connection, limit=10) == ids[:1]
    with stand.claim(connection) as deliveries:
        for delivery in deliveries:
            delivery.ack(connection)
    assert stand.module.redrive(connection, limit=10) == ids[1:]


@on_cases(DEAD_GROUP, MARKED)
def test_a_dead_letter_that_stays_gives_its_key_free(stand: Stand) -> None:
    (id,) = _dead(stand, "k")
    more = {} if stand.case is MARKED else {"queue": "a"}
    stand.enqueue([{"slip": "k", **more}])
    with transaction(connection := stand.connect()):
        assert stand.module.redrive(connection, ids=[id]) == [id]
    assert sorted(str(row["slip"]) for row in stand.rows()) == ["None", "k"]
