"""What no row can be made of is refused where it is enqueued, and the message says so."""

from __future__ import annotations

import datetime
import uuid
from decimal import Decimal
from typing import Any

import pytest

from sqlclaimgen.runtime import AlreadyQueued, StatementFailed
from tests.conformance import models
from tests.conformance.harness import Case, Stand, on_cases

STRICT = Case(
    "strict",
    """
    [table.jobs.columns]
    id = { role = "id", type = "bigint", generated = true }
    locked_until = { role = "locked_until" }
    secret = { type = "text" }
    small = { type = "smallint" }
    """,
)
PRICED = Case(
    "priced",
    """
    [table.jobs.columns]
    id = { role = "id", type = "bigint", generated = true }
    locked_until = { role = "locked_until" }
    price = { type = "numeric(10,2)" }
    """,
)
OWN = Case(
    "own",
    """
    [table.jobs.columns]
    id = { role = "id", type = "bigint", generated = true }
    locked_until = { role = "locked_until" }
    payload = { role = "payload", type = "json", python = "tests.conformance.models:Order" }
    colour = { type = "text", python = "tests.conformance.models:Colour" }
    """,
    dialects=("sqlite",),
)


SMALL = Case(
    "small",
    """
    [table.jobs.columns]
    id = { role = "id", type = "smallint", generated = true }
    locked_until = { role = "locked_until" }
    once = { role = "dedupe_key" }
    """,
    dialects=("postgres", "mysql", "mariadb"),
)


def refused(stand: Stand, **given: Any) -> str:
    new = stand.module.New(**{"secret": "the-secret", "small": 1} | given)
    with pytest.raises(StatementFailed) as caught:
        stand.module.enqueue(stand.connect(), new)
    text = str(caught.value)
    assert caught.value.__cause__ is not None
    assert text.startswith("jobs: enqueue failed: ")
    assert "a value does not fit its column" in text
    assert ".." not in text and "\n" not in text
    return text


@on_cases(STRICT)
def test_a_value_that_the_column_does_not_take(stand: Stand) -> None:
    assert "the-secret" not in refused(stand, small=None)
    if stand.dialect == "sqlite":
        # its columns take values of every type: what is refused is refused before
        for value in ("abc", 2**70):
            with pytest.raises(
                ValueError, match="jobs: small of the row to enqueue does not encode"
            ):
                stand.module.enqueue(stand.connect(), stand.module.New(secret="s", small=value))
        return
    assert "the-secret" not in refused(stand, small="abc")
    assert "the-secret" not in refused(stand, small=2**40)


@on_cases(PRICED)
def test_text_that_is_no_number(stand: Stand) -> None:
    with pytest.raises((ValueError, StatementFailed), match="jobs: ") as caught:
        stand.module.enqueue(stand.connect(), stand.module.New(price="abc"))
    assert ".." not in str(caught.value)
    stand.enqueue([{"price": Decimal("1.50")}, {"price": 2}])


@on_cases(STRICT.with_(dialects=("sqlite",)))
def test_a_row_of_another_table(stand: Stand) -> None:
    class Other:
        pass

    for given, named in ((Other(), "Other"), ({"secret": "s"}, "a dict")):
        with pytest.raises(TypeError, match=r"jobs: enqueue takes a generated_\w+\.New") as caught:
            stand.module.enqueue(stand.connect(), given)
        assert f"{named}." in str(caught.value)


@on_cases(OWN)
def test_a_value_that_is_not_of_the_columns_type(stand: Stand) -> None:
    connection = stand.connect()

    def enqueue(payload: Any, colour: Any) -> None:
        stand.module.enqueue(connection, stand.module.New(payload=payload, colour=colour))

    with pytest.raises(
        TypeError, match=r"jobs: payload of the row to enqueue .*a dict is no Order"
    ):
        enqueue({"subjekt": "x"}, models.Colour.RED)
    with pytest.raises(TypeError, match=r"jobs: payload .*a list is no Order"):
        enqueue([ORDER], models.Colour.RED)
    with pytest.raises(TypeError, match=r"jobs: colour .*a str is no Colour"):
        enqueue(ORDER, "no colour")
    assert stand.count == 0
    # what can be made of it is taken, as before: types say no, rows do not suffer
    enqueue(ORDER, models.Colour.RED.value)
    connection.commit()
    with stand.claim(connection) as (delivery,):
        assert (delivery.row.payload, delivery.row.colour) == (ORDER, models.Colour.RED)


ORDER = models.Order(
    id=uuid.UUID(int=7),
    placed=datetime.datetime(2026, 12, 1, 12, 30, tzinfo=datetime.UTC),
    day=datetime.date(2026, 12, 1),
    lines=[],
    colour=models.Colour.BLUE,
    tags={"x": 1},
)


@on_cases(SMALL)
def test_ids_that_are_used_up_are_named(stand: Stand) -> None:
    stand.fill([{"id": 32767, "once": "a"}])
    connection = stand.connect()
    with pytest.raises(
        StatementFailed, match="ids that the database generates are used up: id is a"
    ):
        stand.module.enqueue(connection, stand.module.New(once="b"))
    connection.rollback()
    assert stand.count == 1


@on_cases(SMALL)
def test_enqueues_that_are_refused_use_ids_up(stand: Stand) -> None:
    """Why a build warns of small ids beside a dedupe key."""
    (first,) = stand.enqueue([{"once": "a"}])
    connection = stand.connect()
    for _ in range(10):
        with pytest.raises(AlreadyQueued):
            stand.module.enqueue(connection, stand.module.New(once="a"))
        connection.rollback()
    (second,) = stand.enqueue([{"once": "b"}])
    assert second == first + 11
