"""Adding rows: ours, one INSERT over arrays, and COPY. One transaction each."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from datetime import datetime, timezone
from functools import partial
from typing import Any

from benchmarks.case import Case, Contender, Kind, timed
from benchmarks.goals import OfHandWritten
from benchmarks.park import Park
from benchmarks.tables import PAYLOAD, QUEUE, Table

UNNEST = """
INSERT INTO lease_jobs (queue, priority, payload, retry_after)
SELECT * FROM unnest(%s::text[], %s::smallint[], %s::bytea[], %s::timestamptz[])
RETURNING id
"""
COPY = "COPY lease_jobs (queue, priority, payload, retry_after) FROM STDIN"


def ours(table: Table, connection: Any, rows: int) -> None:
    """The generated `enqueue_many`."""
    module = table.module
    new = (module.New(queue=QUEUE, priority=5, payload=PAYLOAD) for _ in range(rows))
    ids = module.enqueue_many(connection, new)
    assert len(ids) == rows


def unnest(table: Table, connection: Any, rows: int) -> None:
    """One statement over one array for each column."""
    now = datetime.now(timezone.utc)
    values = [[QUEUE] * rows, [5] * rows, [PAYLOAD] * rows, [now] * rows]
    assert len(connection.execute(UNNEST, values).fetchall()) == rows


def copy(table: Table, connection: Any, rows: int) -> None:
    """COPY, which returns no ids."""
    now = datetime.now(timezone.utc)
    with connection.cursor() as cursor, cursor.copy(COPY) as stream:
        for _ in range(rows):
            stream.write_row((QUEUE, 5, PAYLOAD, now))


class Enqueuing:
    """One way of adding rows, which knows how many there have to be."""

    def __init__(self, table: Table, add: Callable[[Table, Any, int], None]) -> None:
        self._table = table
        self._add = add
        self._rows = 0

    def prepare(self, rows: int) -> None:
        """Empty the table."""
        self._table.refill(0)
        self._rows = rows

    def work(self, rows: int) -> None:
        """Add the rows and commit."""
        with contextlib.closing(self._table.connect()) as connection:
            self._add(self._table, connection, rows)
            connection.commit()

    def left(self) -> int:
        """How many rows are not there."""
        return self._rows - self._table.left()


def _contenders(park: Park) -> tuple[Contender, ...]:
    table = park.table("postgres", "lease_jobs")
    ways = (
        (Kind.OURS, "ours", ours),
        (Kind.HAND, "unnest", unnest),
        (Kind.LIMIT, "COPY", copy),
    )
    found: list[Contender] = []
    for kind, name, add in ways:
        way = Enqueuing(table, add)
        found.append(
            Contender(kind=kind, name=name, run=timed(way.work), prepare=way.prepare, left=way.left)
        )
    return tuple(found)


def cases(park: Park) -> list[Case]:
    """`enqueue_many` on PostgreSQL."""
    return [
        Case(
            title="enqueue_many of 20,000",
            server="postgres",
            rows=20_000,
            quick=20_000,
            contenders=partial(_contenders, park),
            goals=(OfHandWritten(0.7),),
        )
    ]
