"""Workers that were called wrongly say so before the first claim."""

from __future__ import annotations

import inspect
import math
import sqlite3
from collections.abc import Callable
from datetime import timedelta
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest

from sqlclaimgen.runtime import AsyncWorker, ClaimError, Worker
from sqlclaimgen.runtime.worker.arguments import require_callable
from tests.support.generated import generate

TOML = """
format = 1
[table.jobs]
dialects = ["sqlite"]
[table.jobs.columns]
id = { role = "id", type = "bigint", generated = true }
locked_until = { role = "locked_until" }
"""


@pytest.fixture
def jobs(tmp_path: Path) -> Any:
    return generate(TOML, tmp_path).module("jobs")


def handler(delivery: object) -> None: ...


def writes(delivery: object, connection: object) -> None: ...


async def waits(delivery: object) -> None: ...


def nowhere() -> sqlite3.Connection:
    raise AssertionError("nothing connects")


def test_an_async_handler_needs_an_async_worker(jobs: Any) -> None:
    with pytest.raises(TypeError, match="AsyncWorker"):
        Worker(jobs.QUEUE, waits, connect=nowhere)


@pytest.mark.parametrize("face", [Worker, AsyncWorker])
def test_a_connection_opens_no_connections(jobs: Any, face: Callable[..., Any]) -> None:
    connection = sqlite3.connect(":memory:")
    with pytest.raises(TypeError, match="a function that opens a connection"):
        face(jobs.QUEUE, handler, connect=connection)
    connection.close()


def test_a_run_ends_when_empty_or_not_at_all(jobs: Any) -> None:
    with pytest.raises(ValueError, match='it is "empty"'):
        Worker(jobs.QUEUE, handler, connect=nowhere).run(until="done")  # type: ignore[arg-type]


def test_a_plain_transactional_handler_blocks(jobs: Any) -> None:
    async def connect() -> object:
        raise AssertionError("nothing connects")

    def handle(delivery: object, connection: object) -> None: ...

    worker = Worker(jobs.QUEUE, handle, connect=connect, transactional=True, check=False)
    with pytest.raises(ClaimError, match="a connection that blocks"):
        worker.run(until="empty")


# -- the queue and the handler ----------------------------------------------------------------------


@pytest.mark.parametrize("face", [Worker, AsyncWorker])
def test_a_module_or_a_name_is_no_queue(jobs: Any, face: Callable[..., Any]) -> None:
    with pytest.raises(TypeError, match=r"pass \w*jobs\w*\.QUEUE"):
        face(jobs, handler, connect=nowhere)
    with pytest.raises(TypeError, match=r"pass outbox\.QUEUE"):
        face("outbox", handler, connect=nowhere)
    with pytest.raises(TypeError, match=r"pass jobs\.QUEUE"):
        face(None, handler, connect=nowhere)


@pytest.mark.parametrize("face", [Worker, AsyncWorker])
@pytest.mark.parametrize("wrong", [None, 5, "handler"])
def test_a_handler_is_a_function(jobs: Any, face: Callable[..., Any], wrong: Any) -> None:
    with pytest.raises(TypeError, match="it is a function that takes a delivery"):
        face(jobs.QUEUE, wrong, connect=nowhere)


@pytest.mark.parametrize("face", [Worker, AsyncWorker])
def test_a_handler_takes_what_it_is_given(jobs: Any, face: Callable[..., Any]) -> None:
    def make(handler: Any, **options: Any) -> Any:
        return face(jobs.QUEUE, handler, connect=nowhere, **options)

    with pytest.raises(TypeError, match=r"takes \(\), and it is called with a delivery alone"):
        make(lambda: None)
    with pytest.raises(TypeError, match="Give the worker transactional=True"):
        make(lambda delivery, connection: None)
    with pytest.raises(TypeError, match=r"functools\.partial"):
        make(lambda delivery, a, b: None)
    with pytest.raises(TypeError, match="called with a delivery and a connection"):
        make(lambda delivery: None, transactional=True)
    make(lambda *given: None)
    make(lambda delivery, more=None: None)
    make(writes, transactional=True)


def test_a_handler_that_tells_no_signature_is_taken() -> None:
    with pytest.raises(ValueError, match="no signature"):
        inspect.signature(itemgetter)
    require_callable(itemgetter, transactional=False)


# -- settings ---------------------------------------------------------------------------------------

WRONG: list[tuple[str, Any, type[Exception], str]] = [
    ("concurrency", "4", TypeError, "concurrency is '4'; it is a whole number of handlers"),
    ("concurrency", 2.5, TypeError, "concurrency is 2.5"),
    ("concurrency", True, TypeError, "concurrency is True"),
    ("concurrency", 0, ValueError, "at least one handler"),
    ("drain_timeout", None, TypeError, "drain_timeout is None; it is a number of seconds"),
    ("drain_timeout", -1, ValueError, "drain_timeout is -1; it is 0 seconds or more"),
    ("drain_timeout", math.nan, ValueError, "0 seconds or more"),
    ("poll_interval", "1s", TypeError, "poll_interval is '1s'; it is a number of seconds"),
    ("poll_interval", None, TypeError, "poll_interval is None"),
    ("poll_interval", 0, ValueError, "more than 0 seconds"),
    ("statement_timeout", timedelta(seconds=3), TypeError, "it is a number of seconds"),
    ("max_backoff", math.nan, ValueError, "more than 0 seconds"),
    ("longest_handler", "10m", TypeError, "it is a number of seconds"),
    ("retry", 5, TypeError, r"retry is 5; it is a function, or None: retry\(attempt, error\)"),
    ("retry", "exponential", TypeError, "retry is 'exponential'; it is a function"),
    ("retry", waits, TypeError, "retry is `async`"),
    ("on_event", "print", TypeError, r"on_event is 'print'; it is a function, or None"),
    ("on_event", waits, TypeError, "on_event is `async`, and nobody awaits it"),
    ("groups", 5, ValueError, "groups is 5; it is a list"),
    ("groups", "pdf", ValueError, "groups is 'pdf'; it is a list"),
    ("groups", [], ValueError, "at least one group"),
    ("on_invalid", "drop", ValueError, "it is one of"),
]


@pytest.mark.parametrize(("name", "value", "error", "text"), WRONG)
def test_a_setting_of_another_kind(
    jobs: Any, name: str, value: Any, error: type[Exception], text: str
) -> None:
    options: dict[str, Any] = {name: value}
    with pytest.raises(error, match=text):
        Worker(jobs.QUEUE, handler, connect=nowhere, **options)


@pytest.mark.parametrize("face", [Worker, AsyncWorker])
def test_a_setting_that_is_misspelt(jobs: Any, face: Callable[..., Any]) -> None:
    with pytest.raises(TypeError) as refused:
        face(jobs.QUEUE, handler, connect=nowhere, concurency=4)
    assert (
        str(refused.value)
        == f"{face.__name__} has no setting 'concurency'. Did you mean concurrency?"
    )
    with pytest.raises(TypeError, match="There are: connect, concurrency, groups"):
        face(jobs.QUEUE, handler, connect=nowhere, zzz=4)


def test_a_drain_may_take_no_time_at_all(jobs: Any) -> None:
    Worker(jobs.QUEUE, handler, connect=nowhere, drain_timeout=0, max_backoff=1)


def test_a_delay_needs_its_column(jobs: Any) -> None:
    with pytest.raises(ClaimError, match="jobs has no retry_after column") as refused:
        Worker(jobs.QUEUE, handler, connect=nowhere, retry=lambda attempt, error: 5)
    assert refused.value.table == "jobs"


def test_dead_letters_need_their_place(jobs: Any) -> None:
    with pytest.raises(ClaimError, match="jobs has no dead letters"):
        Worker(jobs.QUEUE, handler, connect=nowhere, on_invalid="dead_letter")
