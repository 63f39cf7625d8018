"""A handler's contract: an outcome, nothing, or an exception."""

from __future__ import annotations

import asyncio
import dataclasses
import math
import threading
from datetime import UTC, datetime, timedelta
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from sqlclaimgen.runtime import (
    Ack,
    AsyncWorker,
    DeadLetter,
    Discard,
    EventKind,
    Retry,
    RetryAfter,
    RetryPolicy,
    RowInvalid,
)
from sqlclaimgen.runtime.backoff import CAP
from sqlclaimgen.runtime.worker.failures import outcome_of
from sqlclaimgen.runtime.worker.settings import Settings
from tests.conformance.harness import Case, Stand, on_cases
from tests.servers import on_dialects
from tests.worker.support.cases import JOBS, PLAIN
from tests.worker.support.running import QUICK, Log, leasing, worker_of, working

FACES = ["blocking", "asyncio"]
SQLITE = JOBS.with_(dialects=["sqlite"])

FAILED: Any = SimpleNamespace(number=1, id=1)
"""As much of a delivery as a policy of failures looks at."""


@pytest.mark.parametrize("face", FACES)
@on_cases(JOBS)
def test_each_outcome_reaches_the_table(stand: Stand, face: str) -> None:
    names = ("nothing", "ack", "discard", "retry", "later", "dead", "raises")
    ids = dict(zip(names, stand.enqueue([{"payload": name} for name in names]), strict=True))
    module, log = stand.module, Log()

    def handle(delivery: Any) -> Any:
        match delivery.row.payload:
            case "nothing":
                return None
            case "ack":
                return module.Ack()
            case "discard":
                return module.Discard()
            case "retry" if delivery.attempt == 1:
                return module.Retry("not yet")
            case "later":
                return module.RetryAfter(timedelta(hours=1), "tomorrow")
            case "dead":
                return module.DeadLetter("nobody wants it", "really")
            case "raises":
                raise ValueError("a text with a \x00 in it, and no end" + "." * 20_000)

    worker = worker_of(face, stand, handle, on_event=log, retry=lambda attempt, error: 3600)
    worker.run("empty") if face == "blocking" else asyncio.run(worker.run("empty"))
    rows = {row["id"]: row for row in stand.rows()}
    assert set(rows) == {ids["later"], ids["raises"]}
    for name in ("later", "raises"):
        row = rows[ids[name]]
        assert row["attempt"] == 2 and row["locked_until"] is None
        assert row["run_after"] > datetime.now(UTC) + timedelta(minutes=50)
    assert rows[ids["later"]]["note"] == "tomorrow"
    text = rows[ids["raises"]]["note"]
    assert "ValueError: a text with a \ufffd in it" in text and len(text) <= 8000
    (dead,) = stand.rows(dead=True)
    assert (dead["id"], dead["reason"], dead["error"]) == (ids["dead"], "nobody wants it", "really")
    outcomes = {(e.id, e.attempt): e.outcome for e in log.of(EventKind.SETTLED)}
    assert outcomes[ids["discard"], 1] == "Discard" and outcomes[ids["nothing"], 1] == "Ack"
    assert [outcomes[ids["retry"], n] for n in (1, 2)] == ["Retry", "Ack"]
    assert len(log.of(EventKind.FAILED)) == 1


@on_cases(SQLITE)
def test_what_no_handler_should_do_is_a_failure_of_its_row_alone(stand: Stand) -> None:
    module, log = stand.module, Log()
    bad: dict[str, Any] = {
        "number": lambda: 5,
        "class": lambda: module.Ack,
        "delay": lambda: RetryAfter(5),  # type: ignore[arg-type]
        "text": lambda: module.Retry(5),
        "reason": lambda: DeadLetter(None),  # type: ignore[arg-type]
        "stop": lambda: next(iter(())),
        "cancel": lambda: (_ for _ in ()).throw(asyncio.CancelledError()),
        "recursion": lambda: bad["recursion"](),
        "unprintable": lambda: (_ for _ in ()).throw(Unprintable()),
        "unshowable": lambda: (_ for _ in ()).throw(Unshowable()),
    }
    stand.enqueue([{"payload": name} for name in bad])

    def handle(delivery: Any) -> Any:
        return bad[delivery.row.payload]()

    worker = worker_of("blocking", stand, handle, on_event=log, retry=lambda attempt, error: 60)
    worker.run("empty")
    assert len(log.of(EventKind.FAILED)) == len(bad)
    assert len(log.of(EventKind.SETTLED)) == len(bad)
    assert all(row["note"] and row["locked_until"] is None for row in stand.rows())


def answer(result: Any, attempt: int, error: BaseException) -> Any:
    return result


class Unprintable(Exception):
    """Nobody can say what happened."""

    def __str__(self) -> str:
        raise RuntimeError("no words for it")


class Unshowable(Exception):
    """The log cannot show it."""

    def __repr__(self) -> str:
        raise AttributeError("response")


@pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt])
@on_cases(SQLITE)
def test_a_handler_that_wants_the_process_to_end(stand: Stand, kind: type[BaseException]) -> None:
    stand.enqueue([{"payload": "end"}, *({"payload": "go"} for _ in range(20))])
    log = Log()

    def handle(delivery: Any) -> None:
        if delivery.row.payload == "end":
            raise kind()

    with pytest.raises(kind):
        worker_of("blocking", stand, handle, on_event=log, concurrency=1).run()
    # its row is back, due after the others, and the worker drained
    assert log.of(EventKind.STOPPED)
    (row,) = [row for row in stand.rows() if row["payload"] == '"end"' or row["payload"] == "end"]
    assert row["locked_until"] is None and row["attempt"] == 2
    assert len(log.of(EventKind.STARTED)) < 21


@on_cases(SQLITE)
def test_an_asyncio_handler_that_ends_its_loop(stand: Stand) -> None:
    stand.enqueue([{"payload": "end"}])
    log = Log()

    async def handle(delivery: Any) -> None:
        raise SystemExit(3)

    worker = AsyncWorker(stand.module.QUEUE, handle, connect=stand.connect, on_event=log, **QUICK)
    with pytest.raises(SystemExit):
        asyncio.run(worker.run())
    (row,) = stand.rows()
    assert row["locked_until"] is None and row["attempt"] == 2
    assert log.of(EventKind.STOPPED)


@pytest.mark.parametrize("policy", ["keep", "retry", "dead_letter"])
@pytest.mark.parametrize("face", FACES)
@on_cases(
    JOBS.with_(
        dialects=["sqlite", "postgres"],
        body=JOBS.body.replace(
            'type = "json", null', 'type = "json", python = "builtins:int", null'
        ),
    )
)
def test_a_row_that_does_not_decode(stand: Stand, face: str, policy: str) -> None:
    if policy != "retry" and face == "asyncio":
        pytest.skip("one policy is enough for the second face")
    log = Log()
    good, bad, last = stand.enqueue([{"payload": 1}, {"payload": 2}, {"payload": 3}])
    stand.database.execute(f"UPDATE jobs SET payload = '\"no number\"' WHERE id = {bad}")
    seen: list[int] = []
    worker = worker_of(
        face,
        stand,
        lambda delivery: seen.append(delivery.id),
        on_event=log,
        on_invalid=policy,
        retry=lambda attempt, error: 3600,
    )
    worker.run("empty") if face == "blocking" else asyncio.run(worker.run("empty"))
    assert sorted(seen) == [good, last]
    (failed,) = log.of(EventKind.FAILED)
    assert isinstance(failed.error, RowInvalid) and failed.id == bad
    rows = stand.rows() if policy != "dead_letter" else stand.rows(dead=True)
    (row,) = rows
    assert row["id"] == bad
    assert (row["locked_until"] is not None) == (policy == "keep")
    if policy == "dead_letter":
        assert row["reason"] == "invalid" and stand.count == 0


def test_delays_of_every_policy_are_clamped() -> None:
    for backoff in ("none", "constant", "linear", "exponential"):
        policy = RetryPolicy(backoff=backoff, base=10, most=3600, jitter=0.2)
        delays = [policy.delay(attempt) for attempt in (1, 2, 3, 1000, 10**9)]
        assert all(timedelta(0) <= delay <= timedelta(seconds=3600) for delay in delays)
        assert (delays[0] == timedelta(0)) == (backoff == "none")


def test_jitter_keeps_to_the_longest_delay() -> None:
    policy = RetryPolicy(backoff="exponential", base=10, most=100, jitter=0.5)
    grown = {policy.delay(30) for _ in range(200)}
    assert timedelta(seconds=50) <= min(grown)
    assert max(grown) <= timedelta(seconds=100)
    assert len(grown) > 100  # they do not pile up at the longest one
    constant = RetryPolicy(backoff="constant", base=100, most=100, jitter=0.5)
    assert max(constant.delay(1) for _ in range(200)) > timedelta(seconds=100)


@on_cases(JOBS.with_(dialects=["sqlite"]))
@pytest.mark.parametrize("result", [None, "5", math.nan, -5, True, Ack()], ids=repr)
def test_a_policy_that_gives_no_delay_leaves_the_tables_own(
    stand: Stand, caplog: pytest.LogCaptureFixture, result: Any
) -> None:
    queue = dataclasses.replace(stand.module.QUEUE, retry=RetryPolicy("constant", base=7))
    settings = Settings(retry=partial(answer, result))
    outcome = outcome_of(queue, settings, FAILED, ValueError("no"))
    assert isinstance(outcome, RetryAfter) and outcome.delay == timedelta(seconds=7)
    assert "jobs: the worker's `retry` gave no delay; the table's own policy holds" in caplog.text
    assert "is no delay" in caplog.text
    none = dataclasses.replace(queue, retry=None)
    assert isinstance(outcome_of(none, settings, FAILED, ValueError("no")), Retry)


@on_cases(JOBS.with_(dialects=["sqlite"]))
def test_a_policy_that_raises_leaves_the_tables_own(
    stand: Stand, caplog: pytest.LogCaptureFixture
) -> None:
    queue = dataclasses.replace(stand.module.QUEUE, retry=RetryPolicy("constant", base=7))

    def broken(attempt: int, error: BaseException) -> float:
        raise ZeroDivisionError

    outcome = outcome_of(queue, Settings(retry=broken), FAILED, ValueError("no"))
    assert isinstance(outcome, RetryAfter) and outcome.delay == timedelta(seconds=7)
    assert "jobs: the worker's `retry` gave no delay" in caplog.text
    assert "ZeroDivisionError" in caplog.text


@on_cases(JOBS.with_(dialects=["sqlite"]))
@pytest.mark.parametrize("result", [10**12, math.inf, timedelta.max], ids=repr)
def test_a_policy_that_gives_too_much_is_capped(stand: Stand, result: Any) -> None:
    settings = Settings(retry=partial(answer, result))
    outcome = outcome_of(stand.module.QUEUE, settings, FAILED, ValueError("no"))
    assert isinstance(outcome, RetryAfter) and outcome.delay == CAP


@on_cases(JOBS)
def test_the_last_attempt_is_a_dead_letter(stand: Stand) -> None:
    (id,) = stand.enqueue([{"payload": 1}])

    def handle(delivery: Any) -> None:
        raise ValueError(f"attempt {delivery.attempt}")

    log = Log()
    worker = worker_of("blocking", stand, handle, on_event=log, retry=lambda attempt, error: 0)
    worker.run("empty")
    assert [attempt for _, attempt in log.deliveries] == [1, 2, 3, 4, 5]
    (dead,) = stand.rows(dead=True)
    assert dead["id"] == id and dead["reason"] == "attempts" and "attempt 5" in dead["error"]


@on_cases(PLAIN)
def test_a_table_without_switches(stand: Stand) -> None:
    stand.fill([{"id": n} for n in range(1, 31)])
    log = Log()
    failed: set[int] = set()

    def handle(delivery: Any) -> Any:
        if delivery.id % 7 == 0 and delivery.id not in failed:
            failed.add(delivery.id)
            raise ValueError("once")

    worker_of("blocking", stand, handle, on_event=log).run("empty")
    assert stand.count == 0 and len(log.deliveries) == 34


@pytest.mark.parametrize("face", ["asyncio", "native", "behind a plain function"])
@on_cases(JOBS.with_(dialects=["postgres"]))
def test_a_lost_lease_cancels_the_task(stand: Stand, face: str) -> None:
    stand.enqueue([{"payload": 1}])
    module = leasing(stand.at(datetime.now(UTC)), 2)
    module.QUEUE = stand.generated.module("jobs").QUEUE
    leasing(module, 2)
    log = Log()
    ended: list[Any] = []
    began = threading.Event()

    async def handle(delivery: Any) -> None:
        began.set()
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            ended.append(delivery.lost)
            raise

    connect = stand.database.connect_async if face == "native" else stand.connect  # type: ignore[attr-defined]
    handler = handle if face in ("asyncio", "native") else lambda delivery: handle(delivery)
    worker = AsyncWorker(module.QUEUE, handler, connect=connect, on_event=log, **QUICK)
    with working(worker):
        assert began.wait(10)
        stand.database.execute(
            "UPDATE jobs SET locked_until = locked_until + interval '1 hour', attempt = 9"
        )
        log.wait_for(EventKind.LOST)
        for _ in range(500):
            if ended:
                break
            threading.Event().wait(0.01)
    assert ended == [True]
    assert not log.of(EventKind.SETTLED, EventKind.FAILED)


@pytest.mark.parametrize("face", FACES)
@on_cases(SQLITE)
def test_a_handler_sees_that_its_lease_is_lost(stand: Stand, face: str) -> None:
    (id,) = stand.enqueue([{"payload": 1}])
    module = leasing(stand.generated.module("jobs"), 1)
    log = Log()
    seen: list[bool] = []

    def handle(delivery: Any) -> None:
        stand.database.execute(
            "UPDATE jobs SET locked_until = locked_until + 60000000, attempt = 9"
        )
        log.wait_for(EventKind.LOST)
        seen.append(delivery.lost)

    worker = worker_of(face, stand, handle, module=module, on_event=log)
    with working(worker):
        log.wait_for(EventKind.LOST)
        for _ in range(500):
            if seen:
                break
            threading.Event().wait(0.01)
    assert seen == [True]
    assert not log.of(EventKind.SETTLED)
    row = stand.row(id)
    assert row is not None and row["attempt"] == 9, "its row was left alone"
    assert len(log.of(EventKind.LOST)) == 1


@on_cases(JOBS.with_(dialects=["sqlite"]))
def test_settlements_that_are_refused_end_no_loop(stand: Stand) -> None:
    ids = stand.enqueue([{"payload": n} for n in range(6)])
    stand.database.execute_script(
        f"CREATE TRIGGER no BEFORE DELETE ON jobs WHEN old.id = {ids[2]}"
        " BEGIN SELECT RAISE(ABORT, 'this one stays'); END;"
    )
    log = Log()
    worker_of("blocking", stand, lambda delivery: None, on_event=log, max_backoff=0.05).run("empty")
    (refused,) = log.of(EventKind.UNSETTLED)
    assert refused.id == ids[2] and "this one stays" in str(refused.error)
    assert sorted(log.ids(EventKind.SETTLED)) == [id for id in ids if id != ids[2]]
    (row,) = stand.rows()
    assert row["locked_until"] is not None, "its lease gives it back"


@on_dialects("sqlite")
@pytest.mark.parametrize("case", [PLAIN])
def test_outcomes_a_table_lacks_are_refused(stand: Stand, case: Case) -> None:
    stand.fill([{"id": 1}])
    log = Log()
    answers = [RetryAfter(timedelta(0)), Discard()]
    worker = worker_of("blocking", stand, lambda delivery: answers.pop(0), on_event=log)
    worker.run("empty")
    (failed,) = log.of(EventKind.FAILED)
    assert isinstance(failed.error, TypeError) and "RetryAfter" in str(failed.error)
    assert stand.count == 0


@on_cases(JOBS.with_(dialects=["sqlite", "postgres"]))
def test_a_plain_handler_of_an_asyncio_worker_runs_on_threads(stand: Stand) -> None:
    stand.enqueue([{"payload": n} for n in range(8)])
    together = threading.Barrier(4)  # passed only by four at a time
    log = Log()

    def handle(delivery: Any) -> None:
        together.wait(20)

    worker = AsyncWorker(
        stand.module.QUEUE, handle, connect=stand.connect, concurrency=4, on_event=log, **QUICK
    )
    asyncio.run(worker.run("empty"))
    assert len(log.of(EventKind.SETTLED)) == 8 and stand.count == 0
