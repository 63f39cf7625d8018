"""Workers that were called wrongly say so before the first claim."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sqlclaimgen.runtime import AsyncWorker, ClaimError, Worker
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

    worker = Worker(jobs.QUEUE, handler, connect=connect, transactional=True, check=False)
    with pytest.raises(ClaimError, match="a connection that blocks"):
        worker.run(until="empty")
