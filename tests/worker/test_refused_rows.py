"""Rows that the database refuses to settle: each is named and tried later, and no other one waits for it."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from sqlclaimgen.runtime import EventKind
from sqlclaimgen.runtime.protocols.aside import Aside
from sqlclaimgen.runtime.steps import Result, Step
from sqlclaimgen.runtime.worker.sessions import AsyncSession
from tests.conformance.harness import Case, Stand, on_cases
from tests.support.refusing import WORDS, refuse
from tests.worker.held.cases import ADVISORY, FIFO_LEASE, FIFO_ROW_LOCK, ROW_LOCK
from tests.worker.support.cases import JOBS
from tests.worker.support.injecting import Injector, Strike, injected, name_of
from tests.worker.support.running import Log, OnThread, leasing, worker_of, working

LONG = 60.0
"""A pace that no test lasts: a row that was set aside is not seen again."""


def without_delays(case: Case) -> Case:
    """The same table without the column that delays a row."""
    body = case.body.replace('    run_after = { role = "retry_after" }\n', "")
    assert body != case.body
    return case.with_(name=f"{case.name}-undelayed", body=body)


def edited(case: Case, name: str, old: str, new: str) -> Case:
    """The same table with one text of its description replaced."""
    assert old in case.body
    return case.with_(name=f"{case.name}-{name}", body=case.body.replace(old, new))


CASES = (JOBS, ROW_LOCK, ADVISORY, *map(without_delays, (JOBS, ROW_LOCK, ADVISORY)))


@dataclass
class Trouble:
    """What refuses one row, and what its handler returns meanwhile."""

    prepare: Callable[[Stand, int], None]
    """Set it up for the row of this id."""
    outcome: Callable[[Stand], Any] = lambda stand: None
    attempt: int = 1
    words: str = ""
    """What the database says, in small letters, on every one of them."""
    dialects: tuple[str, ...] = ("postgres", "mysql", "mariadb", "sqlite")
    settled: bool = field(default=False)
    """Whether the row is settled all the same."""


def rejected(stand: Stand) -> Any:
    return stand.module.DeadLetter("nobody wants it")


def a_child(stand: Stand, id: int) -> None:
    stand.database.execute(
        "CREATE TABLE child (job bigint, FOREIGN KEY (job) REFERENCES jobs (id))"
    )
    stand.database.execute(f"INSERT INTO child VALUES ({id})")


def a_new_column(stand: Stand, id: int) -> None:
    # SQLite adds no column that needs a value: a trigger says the same
    if stand.dialect == "sqlite":
        stand.database.execute(
            "CREATE TRIGGER needs BEFORE INSERT ON jobs_dead BEGIN "
            "SELECT RAISE(ABORT, 'tenant may not be null'); END"
        )
        return
    stand.database.execute("ALTER TABLE jobs_dead ADD tenant varchar(20) NOT NULL")


def a_refusing_trigger(stand: Stand, id: int) -> None:
    refuse(stand, "DELETE", {id})


def a_swallowing_trigger(stand: Stand, id: int) -> None:
    if stand.dialect == "sqlite":
        stand.database.execute(
            f"CREATE TRIGGER kept BEFORE DELETE ON jobs WHEN OLD.id = {id} BEGIN "
            "SELECT RAISE(IGNORE); END"
        )
        return
    stand.database.execute(
        "CREATE FUNCTION kept() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$"
    )
    stand.database.execute(
        f"CREATE TRIGGER kept BEFORE DELETE ON jobs FOR EACH ROW WHEN (OLD.id = {id}) "
        "EXECUTE FUNCTION kept()"
    )


def an_older_letter(stand: Stand, id: int) -> None:
    names = ", ".join(column.name for column in stand.table.columns)
    stand.database.execute(
        f"INSERT INTO jobs_dead ({names}, reason, error) "
        f"SELECT {names}, 'older', 'older' FROM jobs WHERE id = {id}"
    )


TROUBLES = {
    "child": Trouble(a_child, words="foreign key"),
    "child of a dead letter": Trouble(a_child, rejected, words="foreign key"),
    "column": Trouble(a_new_column, rejected, words="tenant"),
    "trigger": Trouble(a_refusing_trigger, words=WORDS),
    "swallowed": Trouble(
        a_swallowing_trigger, words="stands unchanged", dialects=("postgres", "sqlite")
    ),
    "swallowed letter": Trouble(
        a_swallowing_trigger, rejected, words="stands unchanged", dialects=("postgres", "sqlite")
    ),
    "older letter": Trouble(an_older_letter, rejected, settled=True),
    "exhausted": Trouble(a_child, attempt=6, words="foreign key"),
    "exhausted letter": Trouble(an_older_letter, attempt=6, settled=True),
    "exhausted column": Trouble(a_new_column, attempt=6, words="tenant"),
}
"""By what happened."""


def connecting(stand: Stand) -> Any:
    """A connection that checks foreign keys."""
    connection = stand.connect()
    if isinstance(connection, sqlite3.Connection):
        connection.execute("PRAGMA foreign_keys = ON")
    return connection


def filled(stand: Stand, number: int, bad: int | None, attempt: int = 1) -> None:
    """So many rows, each with a key or a FIFO group of its own where the form has them."""
    fields = {column.field for column in stand.table.columns}
    stand.fill(
        {
            field: value
            for field, value in {
                "id": id,
                "attempt": attempt if id == bad else 1,
                "payload": "bad" if id == bad else "good",
                "account": f"a{id}",
                "queue": f"q{id}",
            }.items()
            if field in fields
        }
        for id in range(1, number + 1)
    )


class Run:
    """Workers that work until nothing is due, and what they said."""

    def __init__(self, stand: Stand, handle: Callable[[Any], Any], workers: int, **options: Any):
        self.log = Log()
        settings = {"max_backoff": LONG, "on_event": self.log, **options}
        started = [
            OnThread(
                worker_of(
                    "blocking",
                    stand,
                    handle,
                    connect=lambda: connecting(stand),
                    **settings,
                ),
                until="empty",
            )
            for _ in range(workers)
        ]
        for one in started:
            one.join(120)


def check(log: Log, good: set[int], bad: int | None, *, most: int) -> None:
    """Every good row was settled once, the bad one was started `most` times; nothing was said to be
    disconnected."""
    settled = Counter(log.ids(EventKind.SETTLED))
    assert {id: n for id, n in settled.items() if id != bad} == dict.fromkeys(good, 1)
    starts = Counter(log.ids(EventKind.STARTED))
    assert {id: n for id, n in starts.items() if id != bad} == dict.fromkeys(good, 1)
    assert starts[bad] <= most
    assert not log.of(EventKind.DISCONNECTED, EventKind.LOST, EventKind.UNKNOWN)


def worked(
    stand: Stand, trouble: Trouble, number: int, place: str, workers: int, **options: Any
) -> None:
    """A run over `number` rows, one of which is in trouble; what must hold."""
    bad = {"first": 1, "last": number, "alone": 1}[place]
    filled(stand, 1 if place == "alone" else number, bad, trouble.attempt)
    trouble.prepare(stand, bad)

    def handle(delivery: Any) -> Any:
        return trouble.outcome(stand) if delivery.row.payload == "bad" else None

    run = Run(stand, handle, workers, **options)
    good = set() if place == "alone" else set(range(1, number + 1)) - {bad}
    # a lease keeps the others from it; a row that could be delayed is nobody's either
    most = 0 if trouble.attempt == 6 else workers
    check(run.log, good, bad, most=most)
    unsettled = run.log.of(EventKind.UNSETTLED)
    assert {event.id for event in unsettled} == (set() if trouble.settled else {bad})
    assert len(unsettled) <= workers
    for event in unsettled:
        assert trouble.words in str(event.error).lower()
    left = [row["id"] for row in stand.rows()]
    assert left == ([] if trouble.settled else [bad])
    letters = stand.rows(dead=True)
    if trouble.prepare is an_older_letter:
        (letter,) = letters
        assert letter["reason"] != "older"
    else:
        assert letters == []


def on_troubles(*names: str) -> Callable[[Any], Any]:
    """Runs a test with each case, trouble and database that go together."""
    chosen = [(name, TROUBLES[name]) for name in names]
    pairs = [
        pytest.param(dialect, case, trouble, id=f"{case.name}-{dialect}-{name}")
        for case in CASES
        for name, trouble in chosen
        for dialect in case.dialects
        if dialect in trouble.dialects
        if not (trouble.attempt == 6 and case.name.startswith("row-lock"))
    ]
    return pytest.mark.parametrize(("database", "case", "trouble"), pairs, indirect=["database"])


@on_troubles(*TROUBLES)
def test_the_first_row_does_not_stop_the_others(stand: Stand, trouble: Trouble) -> None:
    worked(stand, trouble, 12, "first", 2, concurrency=2)


@on_troubles("child", "exhausted")
@pytest.mark.parametrize("place", ["last", "alone"])
def test_a_row_in_any_place(stand: Stand, trouble: Trouble, place: str) -> None:
    worked(stand, trouble, 12, place, 1, concurrency=4)


@pytest.mark.soak
@on_troubles(*TROUBLES)
@pytest.mark.parametrize("place", ["first", "last"])
def test_two_thousand_rows_and_eight_workers(stand: Stand, trouble: Trouble, place: str) -> None:
    worked(stand, trouble, 2000, place, 8, concurrency=2)


@pytest.mark.parametrize(
    ("step", "after"), [("dead_letter", False), ("commit", False), ("commit", True)]
)
@on_cases(JOBS, ADVISORY)
def test_a_session_that_ends_refused_no_row(stand: Stand, step: str, after: bool) -> None:
    """The claim gives up rows that have no attempt left, and its session is killed meanwhile."""
    filled(stand, 3, bad=1, attempt=6)
    log = Log()
    number = 1 if step == "commit" else 0  # the claim's own COMMIT comes first
    injector = Injector(stand.database, Strike(step, number, after=after))
    worker = worker_of("blocking", stand, lambda d: None, concurrency=3, on_event=log)
    with injected(injector):
        OnThread(worker, until="empty").join(60)
    assert injector.struck
    assert not log.of(EventKind.UNSETTLED, EventKind.LOST), log.events
    assert sorted(log.ids(EventKind.SETTLED)) == [2, 3]
    left = [row["id"] for row in stand.rows()]
    letters = [row["id"] for row in stand.rows(dead=True)]
    assert sorted(left + letters) == [1]  # a lease that it has keeps it from the next claim


def claims_refused(stand: Stand, number: int, place: str, workers: int, **options: Any) -> Log:
    """A run over rows one of which may not be claimed: it is named, never started, and set aside."""
    bad = {"first": 1, "last": number, "alone": 1}[place]
    filled(stand, 1 if place == "alone" else number, None)
    refuse(stand, "UPDATE", {bad})
    run = Run(stand, lambda delivery: None, workers, **options)
    check(run.log, set() if place == "alone" else set(range(1, number + 1)) - {bad}, bad, most=0)
    unsettled = run.log.of(EventKind.UNSETTLED)
    assert {event.id for event in unsettled} == {bad}
    assert len(unsettled) <= workers
    for event in unsettled:
        assert WORDS in str(event.error)
        assert event.attempt is None and event.outcome is None
    (left,) = stand.rows()
    assert (left["id"], left["attempt"]) == (bad, 1)
    return run.log


CLAIMED = (*(case for case in CASES if not case.name.startswith("row-lock")), FIFO_LEASE)
"""The forms whose claims write: a row lock's claim does not."""


@pytest.mark.parametrize("place", ["first", "last", "alone"])
@on_cases(*CLAIMED)
def test_a_row_that_may_not_be_claimed_does_not_stop_the_others(stand: Stand, place: str) -> None:
    claims_refused(stand, 12, place, 2, concurrency=2)


@pytest.mark.soak
@pytest.mark.parametrize("place", ["first", "last"])
@on_cases(*CLAIMED)
def test_two_thousand_claims_and_eight_workers(stand: Stand, place: str) -> None:
    claims_refused(stand, 2000, place, 8, concurrency=2)


NULLABLE = edited(FIFO_LEASE, "null", "fifo = true", "null = true, fifo = true")
"""A table of FIFO groups whose rows may have no group."""


def groups_of_two(stand: Stand, bad: int, more: int = 0) -> None:
    """Rows 1 to 8, two of each of four groups; the head of one of them is `bad`. `more` rows without a
    group."""
    stand.fill({"id": id, "queue": "abcd"[(id - 1) // 2]} for id in range(1, 9))
    stand.fill({"id": id, "queue": None} for id in range(9, 9 + more))


def one_group_stopped(log: Log, bad: int, rows: int = 8) -> None:
    """Every row was settled but those of the bad head's group, and that head alone was reported."""
    good = set(range(1, rows + 1)) - {bad, bad + 1}
    assert Counter(log.ids(EventKind.SETTLED)) == dict.fromkeys(good, 1)
    assert bad + 1 not in log.ids(EventKind.STARTED)
    (event,) = log.of(EventKind.UNSETTLED)
    assert event.id == bad
    assert not log.of(EventKind.DISCONNECTED, EventKind.LOST, EventKind.UNKNOWN)


@pytest.mark.parametrize("groups", [None, list("abcd")], ids=["table", "groups"])
@pytest.mark.parametrize("bad", [1, 7])
@on_cases(FIFO_LEASE, without_delays(FIFO_LEASE))
def test_a_head_that_may_not_be_claimed_stops_its_group_alone(
    stand: Stand, bad: int, groups: list[str] | None
) -> None:
    groups_of_two(stand, bad)
    refuse(stand, "UPDATE", {bad})
    run = Run(stand, lambda delivery: None, 1, concurrency=8, groups=groups)
    one_group_stopped(run.log, bad)
    (event,) = run.log.of(EventKind.UNSETTLED)
    assert WORDS in str(event.error)
    assert event.attempt is None and event.outcome is None
    assert [(row["id"], row["attempt"]) for row in stand.rows()] == [(bad, 1), (bad + 1, 1)]


@on_cases(NULLABLE)
def test_rows_without_a_group_go_on_beside_a_head_that_may_not_be_claimed(stand: Stand) -> None:
    groups_of_two(stand, 1, more=4)
    refuse(stand, "UPDATE", {1, 10})
    log = Run(stand, lambda delivery: None, 1, concurrency=3).log
    assert Counter(log.ids(EventKind.SETTLED)) == dict.fromkeys({*range(3, 10), 11, 12}, 1)
    assert sorted(event.id for event in log.of(EventKind.UNSETTLED)) == [1, 10]
    assert not log.of(EventKind.DISCONNECTED)


@on_cases(edited(FIFO_LEASE, "due", "fifo = true", 'fifo = "due"'))
def test_where_delayed_rows_let_others_pass_so_does_a_refused_one(stand: Stand) -> None:
    groups_of_two(stand, 1)
    refuse(stand, "UPDATE", {1})
    log = Run(stand, lambda delivery: None, 1, concurrency=8).log
    assert Counter(log.ids(EventKind.SETTLED)) == dict.fromkeys(range(2, 9), 1)
    assert [event.id for event in log.of(EventKind.UNSETTLED)] == [1]


@on_cases(FIFO_LEASE, FIFO_ROW_LOCK, without_delays(FIFO_ROW_LOCK))
def test_a_head_that_may_not_be_settled_stops_its_group_alone(stand: Stand) -> None:
    groups_of_two(stand, 3)
    refuse(stand, "DELETE", {3})
    one_group_stopped(Run(stand, lambda delivery: None, 1, concurrency=2).log, 3)


@on_cases(FIFO_LEASE)
def test_a_worker_that_takes_refused_heads_again_is_found_out(
    stand: Stand, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A broken twin: claims do not leave out the heads that the database refused."""
    groups_of_two(stand, 1)
    refuse(stand, "UPDATE", {1})
    monkeypatch.setattr(Aside, "ids", lambda self: [])
    log = Log()
    with working(worker_of("blocking", stand, lambda delivery: None, on_event=log)):
        log.wait_for(EventKind.UNSETTLED, 3)
    with pytest.raises(AssertionError):
        one_group_stopped(log, 1)


@on_cases(JOBS, FIFO_LEASE)
def test_a_row_that_may_not_be_extended_keeps_no_other_from_it(stand: Stand) -> None:
    filled(stand, 3, None)
    module = leasing(stand.module, 2)
    extended, refused = threading.Event(), threading.Event()
    log = Log()

    def told(event: Any) -> None:
        log(event)
        if event.kind is EventKind.UNSETTLED:
            refused.set()
        elif event.kind is EventKind.EXTENDED and event.count == 2 and refused.is_set():
            extended.set()

    def handle(delivery: Any) -> None:
        assert extended.wait(30)

    begun = OnThread(
        worker_of("blocking", stand, handle, module=module, on_event=told, max_backoff=LONG),
        until="empty",
    )
    log.wait_for(EventKind.STARTED, 3)
    refuse(stand, "UPDATE", {2})
    begun.join()
    (event,) = log.of(EventKind.UNSETTLED)
    assert (event.id, event.outcome) == (2, None)
    assert WORDS in str(event.error)
    assert set(log.ids(EventKind.SETTLED)) == {1, 2, 3}
    assert not log.of(EventKind.DISCONNECTED, EventKind.LOST)


class Refusals(Injector):
    """Holds the answer of the first ack that is refused until another session has claimed since."""

    def __init__(self, database: Any) -> None:
        super().__init__(database)
        self.refused = asyncio.Event()
        self.claimed = asyncio.Event()

    def wrap(self, session: AsyncSession) -> AsyncSession:
        original = session.execute

        async def execute(step: Step) -> Result:
            name, since = name_of(step), self.refused.is_set()
            try:
                result = await original(step)
            except Exception:
                if name == "ack" and not since:
                    self.refused.set()
                    await asyncio.wait_for(self.claimed.wait(), 30)
                raise
            if name.startswith("claim") and since:
                self.claimed.set()
            return result

        session.execute = execute  # type: ignore[method-assign]
        return session


@on_cases(ROW_LOCK, without_delays(ROW_LOCK))
def test_a_row_is_set_aside_before_its_lock_is_released(stand: Stand) -> None:
    """PostgreSQL releases the locks of a transaction with the error that aborts it, before the worker
    has read that error: another slot's claim finds the row free."""
    filled(stand, 2, 1)
    a_child(stand, 1)
    refusals, log, claimed = Refusals(stand.database), Log(), threading.Event()

    def handle(delivery: Any) -> None:
        if delivery.id == 1:
            assert claimed.wait(30)  # the other slot is open
        else:
            claimed.set()

    worker = worker_of(
        "blocking",
        stand,
        handle,
        connect=lambda: connecting(stand),
        on_event=log,
        concurrency=2,
        max_backoff=LONG,
    )
    with injected(refusals):
        OnThread(worker, until="empty").join(60)
    assert refusals.claimed.is_set()
    check(log, {2}, 1, most=1)


@on_cases(without_delays(ROW_LOCK), without_delays(ADVISORY))
def test_a_worker_that_sets_no_row_aside_is_found_out(
    stand: Stand, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A broken twin: a refused row is claimed again at once, and what the tests above check tells."""
    filled(stand, 1, 1)
    a_child(stand, 1)
    monkeypatch.setattr(Aside, "add", lambda self, delivery: None)
    log = Log()
    worker = worker_of(
        "blocking", stand, lambda delivery: None, connect=lambda: connecting(stand), on_event=log
    )
    with working(worker):
        log.wait_for(EventKind.UNSETTLED, 3)
    with pytest.raises(AssertionError):
        check(log, set(), 1, most=1)
