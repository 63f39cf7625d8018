"""The caller's event loop: it may end under an AsyncWorker, and it awaits what plain handlers return."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from typing import Any
from unittest import mock

import pytest

from sqlclaimgen.runtime import AsyncWorker, EventKind, Worker
from sqlclaimgen.runtime.worker import held_delivery, lease_delivery
from tests.conformance.harness import Stand, on_cases
from tests.worker.held.cases import ADVISORY, ROW_LOCK
from tests.worker.support.cases import JOBS
from tests.worker.support.running import QUICK, Log

EACH = (
    JOBS.with_(dialects=["sqlite", "postgres"]),
    ROW_LOCK.with_(dialects=["postgres", "mysql"]),
    ADVISORY.with_(dialects=["sqlite", "mariadb"]),
)
"""Every form."""


class Endless:
    """A handler that goes on until it is cancelled, as `async` or behind a plain function."""

    def __init__(self, kind: str) -> None:
        self._begun = threading.Event()
        self.handler = self.handle if kind == "async" else lambda delivery: self.handle(delivery)

    async def handle(self, delivery: Any) -> None:
        self._begun.set()
        await asyncio.Event().wait()

    async def begun(self) -> None:
        assert await asyncio.to_thread(self._begun.wait, 30)


@pytest.fixture(params=["async", "plain"])
def endless(request: pytest.FixtureRequest) -> Endless:
    return Endless(request.param)


@pytest.mark.parametrize("mended", [True, False], ids=["mended", "twin"])
@on_cases(*EACH)
def test_a_handler_that_ends_with_its_loop_has_not_failed(
    stand: Stand, mended: bool, endless: Endless
) -> None:
    (id,) = stand.enqueue([{}])
    log = Log()

    async def main() -> None:
        worker = AsyncWorker(
            stand.module.QUEUE, endless.handler, connect=stand.connect, on_event=log, **QUICK
        )
        task = asyncio.create_task(worker.run())
        await endless.begun()
        del task  # asyncio.run cancels it, and the handler, in any order

    async def never(stop: asyncio.Event) -> bool:
        return False

    with contextlib.ExitStack() as twin:
        for engine in (lease_delivery, held_delivery) if not mended else ():
            twin.enter_context(mock.patch.object(engine, "stopped", never))
        asyncio.run(main())
    if not mended:
        assert log.ids(EventKind.FAILED) == [id]
        return
    assert not log.of(EventKind.FAILED) and log.ids(EventKind.GIVEN_BACK) == [id]
    (row,) = stand.rows()
    assert row.get("locked_until") is None and row["attempt"] == 1
    assert row["note"] is None


@on_cases(*EACH)
def test_a_loop_that_is_closed_under_its_worker(stand: Stand, endless: Endless) -> None:
    # nobody ran the rows, and they were extended for as long as the process lived
    (id,) = stand.enqueue([{}])
    log = Log()
    worker = AsyncWorker(
        stand.module.QUEUE, endless.handler, connect=stand.connect, on_event=log, **QUICK
    )
    loop = asyncio.new_event_loop()
    task = loop.create_task(worker.run())
    loop.run_until_complete(endless.begun())
    loop.close()
    stand.enqueue([{"account": "other"} if "account" in stand.module.New.__annotations__ else {}])
    try:
        log.wait_for(EventKind.STOPPED)
    finally:
        worker.stop()
        worker.stop()
    assert id in log.ids(EventKind.GIVEN_BACK) and not log.of(EventKind.FAILED)
    first, second = stand.rows()  # claimed in vain, or not at all
    assert first.get("locked_until") is None and first["attempt"] == 1
    assert second.get("locked_until") is None and second["attempt"] == 1
    del task


@pytest.mark.parametrize("transactional", [False, True], ids=["plain", "transactional"])
@on_cases(*EACH)
def test_what_a_plain_handler_returns_is_awaited_in_the_loop(
    stand: Stand, transactional: bool
) -> None:
    # a lambda or a partial around a coroutine function failed on every row
    (id,) = stand.enqueue([{}])
    log = Log()
    seen: list[Any] = []

    async def render(client: str, delivery: Any) -> Any:
        seen.append((client, delivery.id, threading.get_ident()))
        return stand.module.Discard()

    worker = AsyncWorker(
        stand.module.QUEUE,
        lambda delivery, *connection: render("client", delivery),
        connect=stand.connect,
        on_event=log,
        transactional=transactional,
        **QUICK,
    )
    asyncio.run(worker.run("empty"))
    assert seen == [("client", id, threading.get_ident())]
    assert [event.outcome for event in log.of(EventKind.SETTLED)] == ["Discard"]
    assert stand.count == 0 and not log.of(EventKind.FAILED)


@on_cases(*EACH)
def test_a_worker_awaits_nothing(stand: Stand) -> None:
    async def handle(delivery: Any) -> None: ...

    stand.enqueue([{}])
    log = Log()
    worker: Worker[Any, Any] = Worker(
        stand.module.QUEUE,
        lambda delivery: handle(delivery),
        connect=stand.connect,
        on_event=log,
        retry=lambda *_: 3600,
        **QUICK,
    )
    worker.run("empty")
    (failed,) = log.of(EventKind.FAILED)
    assert isinstance(failed.error, TypeError) and "AsyncWorker" in str(failed.error)
    assert stand.count == 1
