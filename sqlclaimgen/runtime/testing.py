"""For a team's own tests: a queue in memory, worked in the calling thread, on a clock the test moves.

conn = memory("sql/sqlite/jobs.ddl.sql")
clock = Clock()
with clock.of(jobs):
    jobs.enqueue(conn, jobs.New(payload="x"))
    [first] = work(jobs.QUEUE, handler, conn)
    clock.advance(minutes=5)
    [second] = work(jobs.QUEUE, handler, conn)
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import sqlite3
from collections.abc import Awaitable, Callable, Generator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from os import PathLike
from pathlib import Path
from typing import Any, Generic, TypeVar, cast

from sqlclaimgen.runtime import by_hand
from sqlclaimgen.runtime.claims import Claim
from sqlclaimgen.runtime.connections import Connection
from sqlclaimgen.runtime.deliveries import Delivery
from sqlclaimgen.runtime.driving import session_of
from sqlclaimgen.runtime.errors import ClaimError
from sqlclaimgen.runtime.outcomes import Ack, AnyOutcome, Discard
from sqlclaimgen.runtime.protocols import exhausted
from sqlclaimgen.runtime.queue import Queue
from sqlclaimgen.runtime.transactions import transaction
from sqlclaimgen.runtime.worker import failures
from sqlclaimgen.runtime.worker.handlers import checked
from sqlclaimgen.runtime.worker.scopes import Scopes
from sqlclaimgen.runtime.worker.settings import Settings

D = TypeVar("D")
O = TypeVar("O")

MOST = 1000
"""Deliveries after which `work` takes it that it would never end."""


class Clock:
    """A clock that stands until the test moves it. Calling it gives its time, in UTC."""

    def __init__(self, now: datetime = datetime(2026, 1, 1, tzinfo=UTC)) -> None:
        if now.tzinfo is None:
            raise ValueError(f"naive datetime {now!r}: give it a time zone")
        self.now = now.astimezone(UTC)

    def __call__(self) -> datetime:
        return self.now

    def advance(self, by: timedelta | None = None, **units: float) -> datetime:
        """Move the clock on, by a timedelta or by `seconds=`, `minutes=`, `hours=`, `days=`. Returns
        its time. Raises ValueError for a step back."""
        step = (by or timedelta(0)) + timedelta(**units)
        if step < timedelta(0):
            raise ValueError(f"{step} is a step back: leases and delays would run backwards")
        self.now += step
        return self.now

    @contextlib.contextmanager
    def of(self, *modules: Any) -> Generator[Clock, None, None]:
        """Inside the block generated modules read this clock, for enqueues, claims and settlements,
        and so does what is given their QUEUE there."""
        before = [(module, module.QUEUE) for module in modules]
        for module, queue in before:
            module.QUEUE = dataclasses.replace(queue, clock=self, database_clock=False)
        try:
            yield self
        finally:
            for module, queue in before:
                module.QUEUE = queue


def memory(*ddl: str | PathLike[str], schemas: Sequence[str] = ()) -> sqlite3.Connection:
    """A new SQLite database in memory with the tables of these generated files,
    `sql/sqlite/<table>.ddl.sql`. `schemas` are attached first, for tables that have one.

    It lives as long as the connection. Every statement commits for itself; use `transaction` for more.
    """
    connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    for schema in schemas:
        quoted = schema.replace('"', '""')
        connection.execute(f"ATTACH ':memory:' AS \"{quoted}\"")
    for file in ddl:
        connection.executescript(Path(file).read_text(encoding="utf-8"))
    return connection


@dataclass(frozen=True, slots=True)
class Worked(Generic[D]):
    """What became of one delivery."""

    delivery: D
    outcome: AnyOutcome | None
    """What was settled; None: nothing, the row is held until its lease ends."""
    error: BaseException | None = None
    """What the handler raised."""


def work(
    queue: Queue[D, O, Any, Any],
    handler: Callable[..., O | None] | Callable[..., Awaitable[O | None]],
    conn: Connection,
    *,
    groups: Sequence[Any] | None = None,
    transactional: bool = False,
    reraise: bool = False,
    **settings: Any,
) -> list[Worked[D]]:
    """Claim and settle until nothing is due, one row after another in the calling thread, as a worker
    would: the same outcomes, the same failure policy, the same dead letters. An `async` handler is run
    to its end. `settings` are a Worker's: `retry`, `on_invalid`.

    `reraise` raises what a handler raised, after its row was settled; an exception that is none of
    Exception's (a test framework's own) is raised at once, and its row given back. Raises ClaimError
    when rows are due again without end: move a Clock between two calls instead.
    """
    given = Settings(groups=groups, transactional=transactional, **settings)
    scopes = Scopes(queue.bind(session_of(conn, table=queue.table).dialect), groups)
    done: list[Worked[D]] = []
    while True:
        taken = _round(queue, handler, conn, scopes, given)
        if taken is None:
            return done
        done.append(taken)
        if reraise and taken.error is not None:
            raise taken.error
        if len(done) >= MOST:
            raise ClaimError(
                f"{queue.table}: rows are still due after {MOST} deliveries: the handler gives them back "
                "due now. Let it return RetryAfter, and move a Clock between two calls.",
                table=queue.table,
            )


def _round(
    queue: Queue[Any, Any, Any, Any],
    handler: Callable[..., Any],
    conn: Connection,
    scopes: Scopes,
    settings: Settings,
) -> Worked[Any] | None:
    """The first row that any scope has, worked."""
    more = True
    while more:
        more = False
        for scope in scopes.round():
            claim: Claim[Any] = by_hand.claim(queue, conn, scope, 1)
            scopes.went_on(scope, claim.resume)
            more = more or claim.more
            with claim:
                for delivery in claim:
                    return _worked(queue, handler, conn, delivery, settings)
    return None


def _worked(
    queue: Queue[Any, Any, Any, Any],
    handler: Callable[..., Any],
    conn: Connection,
    delivery: Delivery[Any, Any],
    settings: Settings,
) -> Worked[Any]:
    error: Exception | None = None
    outcome: AnyOutcome | None
    delivery.worked = settings.transactional or queue.form != "lease"
    try:
        row = delivery.row  # decoded here: a row that does not decode is a failure of its own
        del row
        if settings.transactional:
            return Worked(delivery, _in_transaction(queue, handler, conn, delivery))
        outcome = _returned(queue, handler(delivery))
    except Exception as caught:
        if isinstance(caught, ClaimError) and delivery.lost:
            raise
        error = caught
        outcome = failures.outcome_of(
            queue, settings, delivery, caught, can_keep=queue.form == "lease"
        )
    finally:
        delivery.worked = False
    if outcome is None:
        # kept as it is: leaving the claim's block must not give it back
        delivery.lost = True
    elif not delivery.settled:
        outcome = exhausted.effective(delivery, outcome)
        by_hand.settle(conn, delivery, outcome)
    return Worked(delivery, outcome, error)


def _in_transaction(
    queue: Queue[Any, Any, Any, Any],
    handler: Callable[..., Any],
    conn: Connection,
    delivery: Delivery[Any, Any],
) -> AnyOutcome:
    """A transactional handler: its writes are committed with an ack or a discard, and undone with
    anything else."""
    try:
        with transaction(conn):
            outcome = _returned(queue, handler(delivery, conn))
            if not isinstance(outcome, Ack | Discard):
                raise _Undone(outcome)
            delivery.worked = False
            by_hand.settle(conn, delivery, outcome)
    except _Undone as undone:
        delivery.worked = False
        outcome = exhausted.effective(delivery, undone.outcome)
        by_hand.settle(conn, delivery, outcome)
    return outcome


class _Undone(Exception):
    """Rolls a transaction back."""

    def __init__(self, outcome: AnyOutcome) -> None:
        super().__init__()
        self.outcome = outcome


def _returned(queue: Queue[Any, Any, Any, Any], value: object) -> AnyOutcome:
    if isinstance(value, Awaitable):
        value = asyncio.run(_awaited(cast("Awaitable[object]", value)))
    return checked(queue.outcomes, value)


async def _awaited(value: Awaitable[object]) -> object:
    return await value
