"""What goes in comes out: every type, and a team's own types, through every database."""

from __future__ import annotations

import asyncio
import datetime
import decimal
import uuid
from typing import Any

import pytest

from sqlclaimgen.runtime import NAMED, PYFORMAT, RowInvalid, transaction
from tests.conformance.harness import Case, Stand, on_cases
from tests.conformance.models import Colour, Level, Line, Order

TYPES = Case(
    "types",
    """
    [table.jobs.columns]
    id = { role = "id", type = "bigint", generated = true }
    locked_until = { role = "locked_until" }
    small = { type = "smallint", null = true }
    whole = { type = "int", null = true }
    big = { type = "bigint", null = true }
    words = { type = "text", null = true }
    short = { type = "varchar(40)", null = true }
    raw = { type = "bytes", null = true }
    document = { type = "json", null = true }
    key = { type = "uuid", null = true }
    flag = { type = "boolean", null = true }
    moment = { type = "timestamp(6)", null = true }
    second = { type = "timestamp(0)", null = true }
    day = { type = "date", null = true }
    money = { type = "numeric(20,4)", null = true }
    ratio = { type = "double", null = true }
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
    level = { type = "int", null = true, python = "tests.conformance.models:Level" }
    """,
)

UTC = datetime.UTC
ZONE = datetime.timezone(datetime.timedelta(hours=5, minutes=30))
VALUES: dict[str, list[Any]] = {
    "small": [0, -1, 32767, -32768],
    "whole": [0, 2**31 - 1, -(2**31)],
    "big": [0, 2**63 - 1, -(2**63)],
    "words": [
        "",
        "a",
        "é\u0301 日本 🙂",
        "%s %(x)s :x ? $1",
        "'\"`\\",
        "\n\r\t",
        " x ",
        "x" * 70_000,
    ],
    "short": ["", "'", "é" * 40],
    "raw": [b"", b"\x00\xff'\"\\%s", bytes(range(256)) * 10],
    "document": [
        {},
        [],
        0,
        "",
        "text",
        True,
        1.5,
        {"a": [1, {"b": None}], "é 🙂": "\\ ' \" % :x"},
        [2**53, -1],
        "\u2028",
    ],
    "key": [uuid.UUID(int=0), uuid.UUID(int=2**128 - 1)],
    "flag": [True, False],
    "moment": [
        datetime.datetime(2026, 12, 1, 23, 59, 59, 999_999, UTC),
        datetime.datetime(2026, 3, 29, 2, 30, tzinfo=ZONE),
        datetime.datetime(1971, 1, 1, tzinfo=UTC),
        datetime.datetime(2999, 12, 31, 23, 59, 59, 1, UTC),
    ],
    "second": [datetime.datetime(2026, 12, 1, 23, 59, 59, tzinfo=UTC)],
    "day": [datetime.date(2026, 2, 28), datetime.date(1000, 1, 1), datetime.date(9999, 12, 31)],
    "money": [decimal.Decimal("0.0001"), decimal.Decimal("-9999999999999999.9999")],
    "ratio": [0.1, -1.7976931348623157e308, 5e-324, 3.0],
}


@on_cases(TYPES)
def test_every_type_comes_back_as_it_went_in(stand: Stand) -> None:
    connection = stand.connect()
    if stand.dialect == "postgres" and stand.database.server.version_info < (12,):
        # it rounds a double to 15 digits unless it is asked for all of them
        connection.execute("SET extra_float_digits = 3")
        connection.commit()
    blank: dict[str, Any] = dict.fromkeys(VALUES)
    rows = [blank, *[{**blank, name: value} for name, values in VALUES.items() for value in values]]
    stand.enqueue(rows)
    deliveries = stand.claim(connection, len(rows))._deliveries
    for row, delivery in zip(rows, deliveries, strict=True):
        got = {name: getattr(delivery.row, name) for name in VALUES}
        assert got == row
        for name, value in got.items():
            assert type(value) is type(row[name]), (name, value)
            if isinstance(value, datetime.datetime):
                assert value.utcoffset() == datetime.timedelta(0)


@on_cases(TYPES)
def test_a_time_finer_than_its_column_is_cut_and_not_rounded(stand: Stand) -> None:
    # TZ-07: MySQL rounds, MariaDB truncates
    fine = datetime.datetime(2026, 12, 31, 23, 59, 59, 999_999, UTC)
    stand.enqueue([{**dict.fromkeys(VALUES), "second": fine}])
    (delivery,) = stand.claim(stand.connect())._deliveries
    assert delivery.row.second == fine.replace(microsecond=0)


@on_cases(TYPES)
def test_a_naive_time_is_refused(stand: Stand) -> None:
    connection = stand.connect()
    new = stand.module.New(**{**dict.fromkeys(VALUES), "moment": datetime.datetime(2026, 1, 1)})
    with pytest.raises(ValueError, match="time zone"), transaction(connection):
        stand.module.enqueue(connection, new)
    assert stand.count == 0


ORDER = Order(
    id=uuid.UUID(int=7),
    placed=datetime.datetime(2026, 12, 1, 12, 30, 0, 5, UTC),
    day=datetime.date(2026, 12, 1),
    lines=[Line("a", 2, decimal.Decimal("1.10")), Line("é", 0, decimal.Decimal("0.00"))],
    colour=Colour.BLUE,
    tags={"x": 1},
)


@on_cases(OWN)
def test_a_team_s_own_types_come_back(stand: Stand) -> None:
    stand.enqueue(
        [
            {"payload": ORDER, "colour": Colour.RED, "level": Level.HIGH},
            {"payload": ORDER, "colour": Colour.BLUE, "level": None},
        ]
    )
    first, second = stand.claim(stand.connect(), 2)._deliveries
    assert (first.row.payload, first.row.colour, first.row.level) == (ORDER, Colour.RED, Level.HIGH)
    assert (second.row.payload, second.row.level) == (ORDER, None)
    assert type(first.row.colour) is Colour and type(first.row.level) is Level


@on_cases(OWN)
def test_a_row_that_does_not_decode_can_be_settled(stand: Stand) -> None:
    stand.enqueue([{"payload": ORDER, "colour": Colour.RED, "level": None}] * 3)
    quote = stand.plan.dialect.quote
    table, id = quote("jobs"), quote("id")
    stand.database.execute(f"UPDATE {table} SET {quote('payload')} = '[1]' WHERE {id} = 1")
    stand.database.execute(f"UPDATE {table} SET {quote('colour')} = 'grey' WHERE {id} = 2")
    connection = stand.connect()
    with stand.claim(connection, 3) as claim:
        seen = []
        for delivery in claim:
            if delivery.id == 3:
                assert delivery.row.colour is Colour.RED
                continue
            with pytest.raises(RowInvalid) as invalid:
                _ = delivery.row
            seen.append((invalid.value.id, invalid.value.table, invalid.value.attempt))
            delivery.ack(connection)
    assert seen == [(1, "jobs", 1), (2, "jobs", 1)]
    assert [row["id"] for row in stand.rows()] == [3]


@on_cases(TYPES.with_(dialects=("postgres",)))
def test_a_time_without_end_keeps_no_other_row_from_its_claim(stand: Stand) -> None:
    # psycopg cannot read it, and every claim that met the row failed
    stand.enqueue([{"words": str(n)} for n in range(3)])
    connection = stand.connect()
    for column, value in (("moment", "infinity"), ("day", "infinity"), ("moment", "0044-03-15 BC")):
        stand.database.execute(f"UPDATE jobs SET {column} = '{value}' WHERE id = 1")
        with stand.claim(connection, 3) as claim:
            first, *others = claim
            assert [delivery.row.words for delivery in others] == ["1", "2"]
            with pytest.raises(RowInvalid, match=column):
                _ = first.row
        stand.database.execute(f"UPDATE jobs SET {column} = NULL WHERE id = 1")


REAL_FIRST = Case(
    "real-first",
    """
    lease = "60s"
    [table.jobs.columns]
    score = { type = "double" }
    id = { role = "id", type = "bigint", generated = true }
    run_after = { role = "retry_after" }
    attempt = { role = "attempt" }
    locked_until = { role = "locked_until" }
    """,
    dialects=("sqlite",),
)


@on_cases(REAL_FIRST)
def test_integers_behind_a_first_column_that_is_real(stand: Stand) -> None:
    connection = stand.connect()
    ids = [stand.module.enqueue(connection, stand.module.New(score=7.0)) for _ in range(2)]
    connection.commit()
    assert [type(id) for id in ids] == [int, int]
    with stand.claim(connection, 2) as deliveries:
        first, second = deliveries
        assert (first.id, first.row.score, type(first.row.id)) == (ids[0], 7.0, int)
        assert stand.module.extend(connection, [first, second]) == []
        first.ack(connection)
    with stand.claim(connection, 2) as deliveries:
        for delivery in deliveries:
            delivery.ack(connection)
    assert stand.count == 0


@on_cases(REAL_FIRST)
def test_ids_behind_a_first_column_that_is_real_are_exact(stand: Stand) -> None:
    high = 2**63 - 2
    stand.database.execute(
        f"INSERT INTO jobs (score, id, run_after, attempt) VALUES (7.0, {high - 1}, 0, 1)"
    )
    connection = stand.connect()
    assert stand.module.enqueue(connection, stand.module.New(score=7.0)) == high
    connection.commit()
    with stand.claim(connection, 2) as deliveries:
        first, second = deliveries
        assert [first.row.id, second.row.id] == [high - 1, high]
        assert stand.module.extend(connection, [first, second]) == []
        first.ack(connection)
        second.ack(connection)
    assert stand.count == 0


DEFAULTS = Case(
    "defaults",
    """
    lease = "60s"
    [table.jobs.columns]
    id = { role = "id", type = "bigint", generated = true }
    locked_until = { role = "locked_until" }
    created_at = { type = "timestamp", default = "now" }
    seen_at = { type = "timestamp(3)", null = true, default = "now" }
    tries = { type = "smallint", default = 3 }
    words = { type = "text", default = "it's" }
    flag = { type = "boolean", default = true }
    key = { type = "uuid", default = "6f1ab1c8-6d1a-4f0e-9f6e-111111111111" }
    day = { type = "date", default = "2026-01-31" }
    money = { type = "numeric(10,2)", default = "12.50" }
    ratio = { type = "double", default = 0 }
    """,
)
CONSTANTS: dict[str, Any] = {
    "tries": 3,
    "words": "it's",
    "flag": True,
    "key": uuid.UUID("6f1ab1c8-6d1a-4f0e-9f6e-111111111111"),
    "day": datetime.date(2026, 1, 31),
    "money": decimal.Decimal("12.50"),
    "ratio": 0.0,
}
GIVEN = datetime.datetime(2026, 3, 4, 5, 6, 7, 891_000, UTC)


def database_time(stand: Stand) -> datetime.datetime:
    """The time by the clock that fills a default."""
    [(value,)] = stand.database.execute(f"SELECT {stand.plan.dialect.now_default}")
    return stand.codec.from_time(value)


def inserted(stand: Stand, connection: Any) -> list[Any]:
    """The rows that were added, in order, as a claim returns them."""
    return [delivery.row for delivery in stand.claim(connection, 10)._deliveries]


def check_defaults(stand: Stand, rows: list[Any], start: datetime.datetime) -> None:
    """Of three rows the second one gave its times; the others have that of their insertion."""
    # one millisecond: what SQLite tells the time in, and what seen_at holds
    least, most = start - datetime.timedelta(milliseconds=1), database_time(stand)
    assert len(rows) == 3
    for row in rows:
        assert {name: getattr(row, name) for name in CONSTANTS} == CONSTANTS
    assert (rows[1].created_at, rows[1].seen_at) == (GIVEN, GIVEN)
    for row in (rows[0], rows[2]):
        assert least <= row.created_at <= most
        assert least <= row.seen_at <= most + datetime.timedelta(milliseconds=1)


@on_cases(DEFAULTS)
def test_a_default_fills_what_a_new_row_leaves_out(stand: Stand) -> None:
    connection = stand.connect()
    new = stand.module.New
    for name, value in CONSTANTS.items():
        assert type(getattr(new(), name)) is type(value)
    start = database_time(stand)
    stand.module.enqueue(connection, new())
    given = new(created_at=GIVEN, seen_at=GIVEN)
    stand.module.enqueue_many(connection, [given, new(created_at=None, seen_at=None)])
    connection.commit()
    check_defaults(stand, inserted(stand, connection), start)


@on_cases(DEFAULTS)
def test_a_default_fills_what_the_statement_of_insert_leaves_out(stand: Stand) -> None:
    connection = stand.connect()
    new = stand.module.New
    start = database_time(stand)
    style = NAMED if stand.dialect == "sqlite" else PYFORMAT
    for one in (new(), new(created_at=GIVEN, seen_at=GIVEN), new()):
        statement, parameters = stand.module.insert(one, style)
        connection.cursor().execute(statement, parameters)
    connection.commit()
    check_defaults(stand, inserted(stand, connection), start)


@on_cases(DEFAULTS.with_(dialects=("postgres",)))
def test_a_default_fills_what_a_new_row_leaves_out_over_asyncio(stand: Stand) -> None:
    start = database_time(stand)
    new = stand.module.New

    async def main() -> None:
        database: Any = stand.database
        connection = await database.connect_async()
        try:
            await stand.module.enqueue_async(connection, new())
            rows = [new(created_at=GIVEN, seen_at=GIVEN), new()]
            await stand.module.enqueue_many_async(connection, rows)
            await connection.commit()
        finally:
            await connection.close()

    asyncio.run(main())
    check_defaults(stand, inserted(stand, stand.connect()), start)
