"""One suite for every dialect and form: a description, installed, with claimers over its module.

    LEASE = Case("lease", '''
        lease = "60s"
        [table.jobs.columns]
        id = { role = "id", type = "bigint", generated = true }
        locked_until = { role = "locked_until" }
    ''')

    def test_each_once(stand: Stand) -> None: ...       # with @on_cases(LEASE, ..), on every dialect

A `Case` is pure text; a `Stand` is a case generated and installed on the fixture `database`.
"""

from __future__ import annotations

import inspect
import re
import textwrap
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from sqlclaimgen.description.model import Column, DeadLetterTable
from sqlclaimgen.runtime.codecs import CODECS
from sqlclaimgen.runtime.queue import Column as WireColumn
from sqlclaimgen.runtime.values import encoded
from sqlclaimgen.statements import columns
from tests.conformance.history import History
from tests.servers import ALL_DIALECTS, Database
from tests.support.generated import Edit, Generated, generate


@dataclass(frozen=True)
class Case:
    """A description of one table, `jobs` unless `key` says otherwise, and how its claims are called.

    `body` is what stands below `[table.jobs]`; `dialects` is filled in by the stand. `claims` are
    the keyword arguments of `module.claim` beside the limit, `{"group": "a"}`.
    """

    name: str
    body: str
    dialects: Sequence[str] = ALL_DIALECTS
    key: str = "jobs"
    claims: Mapping[str, Any] = field(default_factory=dict)
    claim_name: str = "claim"
    before: str = ""
    """What stands above the table: `[output]`, say."""

    def text(self, *dialects: str) -> str:
        """The whole description, for these dialects only (all of the case's unless given)."""
        listed = ", ".join(f'"{dialect}"' for dialect in dialects or self.dialects)
        body = textwrap.dedent(self.body)
        return (
            f"format = 1\n{textwrap.dedent(self.before)}\n[table.{self.key}]\n"
            f"dialects = [{listed}]\n{body}"
        )

    def claim(self, module: Any, connection: Any, limit: int = 1, **more: Any) -> Any:
        """A claim by hand, through the generated module: a context manager over deliveries. A limit is
        passed where the table's claim takes one."""
        function = getattr(module, self.claim_name)
        arguments = {**self.claims, **more}
        if "limit" in inspect.signature(function).parameters:
            arguments["limit"] = limit
        return function(connection, **arguments)

    def with_(self, **changes: Any) -> Case:
        """A copy with some fields changed."""
        return replace(self, **changes)


class StoppedClock:
    """A host clock that a test sets."""

    def __init__(self, now: datetime) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now


class Stand:
    """A case on a database: its module, its table, and what tests do to it."""

    def __init__(self, case: Case, database: Database, folder: Path) -> None:
        self.case = case
        self.database = database
        self.dialect = database.dialect
        self.generated: Generated = generate(case.text(database.dialect), folder)
        self.table = next(t for t in self.generated.description.tables if t.key == case.key)
        self.generated.install(database, case.key)
        self.module: Any = self.generated.module(case.key)
        self.plan = self.generated.plan(case.key, self.dialect)
        self.sql = {statement.name: statement.text for statement in self.plan.statements}
        self.codec = CODECS[self.dialect]

    # -- connections and claims --------------------------------------------------------------------

    def connect(self, **options: Any) -> Any:
        """A connection of the plain driver; closed when the database is dropped. `connect_timeout`s of
        lock waits are the drivers' own."""
        return self.database.connect(**options)

    def claim(self, connection: Any, limit: int = 1, *, module: Any = None, **more: Any) -> Any:
        """A claim by hand over the stand's module, or over a twin's."""
        return self.case.claim(module or self.module, connection, limit, **more)

    def twin(self, **edits: Edit) -> Any:
        """A copy of the module with statements broken on purpose: `twin(ack=without("..."))`."""
        return self.generated.twin(self.case.key, self.dialect, edits)

    def unforced(self) -> Any:
        """A copy of the module whose statements name no index but the primary key, for a table whose other
        indexes are gone."""
        named = [name for name, sql in self.sql.items() if unforced(sql) != sql]
        return self.twin(**dict.fromkeys(named, unforced))

    def at(self, now: datetime, *, module: Any = None) -> Any:
        """A copy of the module whose host clock stands at `now` until a test sets
        `module.QUEUE.clock.now`."""
        copy: Any = self.generated.module(self.case.key)
        base = (module or self.module).QUEUE
        copy.QUEUE = replace(copy.QUEUE, clock=StoppedClock(now), statements=base.statements)
        return copy

    def later(self, seconds: float, *, module: Any = None) -> Any:
        """A copy of the module whose host clock is ahead by so many seconds: leases have run out there."""
        copy: Any = self.generated.module(self.case.key)
        base = (module or self.module).QUEUE

        def clock() -> datetime:
            return base.clock() + timedelta(seconds=seconds)

        copy.QUEUE = replace(copy.QUEUE, clock=clock, statements=base.statements)
        return copy

    # -- the table ---------------------------------------------------------------------------------

    def fill(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Insert rows fast, beside the generated enqueue: each maps fields to values, all the same
        fields. What is left out takes the column's default."""
        listed = list(rows)
        if not listed:
            return
        named = {column.field: column for column in self.table.columns}
        chosen = [named[name] for name in listed[0]]
        quote = self.plan.dialect.quote
        names = ", ".join(_escaped(quote(column.name)) for column in chosen)
        marks = ", ".join("?" if self.dialect == "sqlite" else "%s" for _ in chosen)
        overriding = " OVERRIDING SYSTEM VALUE" if self.dialect == "postgres" else ""
        sql = f"INSERT INTO {self._table(self.table)} ({names}){overriding} VALUES ({marks})"
        values = [
            tuple(encoded(self.codec, _wire(column), row[column.field]) for column in chosen)
            for row in listed
        ]
        connection = self.connect()
        cursor = connection.cursor()
        cursor.executemany(sql, values)
        if self.dialect == "postgres" and self.table.id.generated:
            # explicit ids do not move the sequence, which every other database does by itself
            id = quote(self.table.id.name)
            top = f"(SELECT MAX({id}) FROM {self._table(self.table)})"
            cursor.execute(
                f"SELECT setval(pg_get_serial_sequence(%s, %s), {_escaped(top)})",
                [self._table(self.table), self.table.id.name],
            )
        connection.commit()
        connection.close()

    def enqueue(self, rows: Iterable[Mapping[str, Any]], **options: Any) -> list[Any]:
        """Enqueue through the generated module and commit; returns the ids."""
        connection = self.connect()
        ids = self.module.enqueue_many(
            connection, [self.module.New(**row) for row in rows], **options
        )
        connection.commit()
        connection.close()
        return list(ids)

    def rows(self, *, dead: bool = False, above: int | None = None) -> list[dict[str, Any]]:
        """The table, read over another connection: fields to decoded values, by id. `dead`: the
        dead-letter table, with `reason`, `error` and `time`. `above`: only ids above this one."""
        quote = self.plan.dialect.quote
        names = [(column.field, quote(column.name)) for column in self.table.columns]
        kinds = {column.field: columns.kind(column) for column in self.table.columns}
        table = self._table(self.table)
        letter = self.table.dead_letter
        if dead:
            assert isinstance(letter, DeadLetterTable)
            table = self._table(letter)
            for extra in ("reason", "error", "time"):
                name = getattr(letter, extra)
                if name:
                    names.append((extra, quote(name)))
                    kinds[extra] = "timestamp(6)" if extra == "time" else "text"
        listed = ", ".join(name for _, name in names)
        id = quote(self.table.id.name)
        where = "" if above is None else f" WHERE {id} > {above}"
        found = self.database.execute(f"SELECT {listed} FROM {table}{where} ORDER BY {id}")
        return [
            {
                field: self.codec.decode(kinds[field], value)
                for (field, _), value in zip(names, row, strict=True)
            }
            for row in found
        ]

    def row(self, id: Any) -> dict[str, Any] | None:
        """One row of the table, None when it is not there."""
        name = self.table.id.field
        return next((row for row in self.rows() if row[name] == id), None)

    @property
    def count(self) -> int:
        """How many rows the table has."""
        return int(self.database.value(f"SELECT COUNT(*) FROM {self._table(self.table)}"))

    @property
    def unfinished(self) -> int:
        """How many rows are not finished."""
        where = next((index.where for index in self.plan.indexes), None)
        if where is None and self.table.keeps_finished:
            by = next(c for c in self.table.columns if c.role in ("status", "processed_at"))
            name = self.plan.dialect.quote(by.name)
            assert by.role == "processed_at" or by.status is not None
            where = (
                f"{name} IS NULL"
                if by.status is None
                else f"{name} = {self.plan.dialect.literal(by.status.pending)}"
            )
        sql = f"SELECT COUNT(*) FROM {self._table(self.table)}"
        return int(self.database.value(f"{sql} WHERE {where}" if where else sql))

    def _table(self, table: Any) -> str:
        return self.plan.dialect.qualified(table.schema, table.name)

    # -- claimers ----------------------------------------------------------------------------------

    def run_claimers(
        self,
        claimers: int = 8,
        *,
        limit: int = 10,
        module: Any = None,
        work: Callable[[History, int, Any], str | None] | None = None,
        settle: Callable[[Any, Any, str], None] | None = None,
        until: Callable[[History], bool],
        history: History | None = None,
        timeout: float = 60,
    ) -> History:
        """Claim, work and settle in that many threads, each on a connection of its own, until `until`
        says so. `work(history, worker, delivery)` names the outcome (`ack` unless given, None: leave
        it); the default lasts until another claim has returned. What a thread raises is raised here.
        """
        record = history or History()
        barrier = threading.Barrier(claimers)
        stop = threading.Event()
        errors: list[BaseException] = []

        def one(worker: int) -> None:
            connection = self.connect()
            try:
                barrier.wait(timeout)
                while not stop.is_set() and not until(record):
                    with self.claim(connection, limit, module=module) as deliveries:
                        record.claimed(worker)
                        empty = True
                        for delivery in deliveries:
                            empty = False
                            begun = record.begin(worker, delivery)
                            outcome: str | None = None
                            try:
                                outcome = (work or _longer_than_a_claim)(record, worker, delivery)
                                if outcome is not None:
                                    (settle or _settle)(connection, delivery, outcome)
                            finally:
                                lost = bool(delivery.lost)
                                done = None if lost or not delivery.settled else outcome
                                record.end(begun, done, lost=lost)
                    if empty:
                        record.wait_for_change()
            except BaseException as error:
                errors.append(error)
                stop.set()
            finally:
                connection.close()

        threads = [threading.Thread(target=one, args=(n,), daemon=True) for n in range(claimers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout)
            if thread.is_alive():
                stop.set()
                errors.append(TimeoutError(f"a claimer still runs after {timeout} seconds"))
        if errors:
            raise errors[0]
        return record


def _longer_than_a_claim(history: History, worker: int, delivery: Any) -> str | None:
    history.wait_for_rival(worker)
    return "ack"


def _settle(connection: Any, delivery: Any, outcome: str) -> None:
    getattr(delivery, outcome)(connection)


def _wire(column: Column) -> WireColumn:
    return WireColumn(column.field, columns.kind(column))


def _escaped(name: str) -> str:
    return name.replace("%", "%%")


# -- broken twins ------------------------------------------------------------------------------------


def without(*texts: str) -> Edit:
    """An edit that removes these texts, wherever they stand; each must be there."""
    return substituting(*((text, "") for text in texts))


def unforced(sql: str) -> str:
    """An edit that removes the names of indexes, except of the primary key."""
    return re.sub(r" FORCE INDEX \((?!PRIMARY\))[^)]*\)| INDEXED BY \"?\w+\"?", "", sql)


def substituting(*pairs: tuple[str, str]) -> Edit:
    """An edit that replaces texts; each must be there."""

    def edit(sql: str) -> str:
        for old, new in pairs:
            assert old in sql, f"{old!r} is not in {sql}"
            sql = sql.replace(old, new)
        return sql

    return edit


def waiting(sql: str) -> str:
    """The edit that makes a statement wait for locked rows."""
    return without(" SKIP LOCKED")(sql)


def unlocked(sql: str) -> str:
    """The edit that makes a statement lock nothing."""
    for lock in (
        "FOR NO KEY UPDATE SKIP LOCKED",
        "FOR UPDATE OF t SKIP LOCKED",
        "FOR UPDATE SKIP LOCKED",
    ):
        sql = sql.replace(lock, "")
    return sql


# -- every case on every dialect ---------------------------------------------------------------------


def on_cases(*cases: Case) -> Callable[[Any], Any]:
    """Runs a test that takes the fixture `stand` with each case, on each dialect of the case."""
    pairs = [
        pytest.param(dialect, case, id=f"{case.name}-{dialect}")
        for case in cases
        for dialect in case.dialects
    ]
    return pytest.mark.parametrize(("database", "case"), pairs, indirect=["database"])
