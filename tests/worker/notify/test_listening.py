"""What listens, where, and for how long."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from sqlclaimgen.description.model import Table
from sqlclaimgen.runtime.worker.events import Event, EventKind
from sqlclaimgen.runtime.worker.faces import AsyncWorker, Worker
from sqlclaimgen.statements.prices import price
from tests.conformance.harness import Stand, on_cases
from tests.servers import Database, on_dialects
from tests.support.generated import generate
from tests.worker.support.waiting import NEVER, NOTIFIED, SOON, Waiting


@on_cases(NOTIFIED)
def test_the_asyncio_face_listens_on_its_own_kind_of_connection(stand: Stand) -> None:
    database: Any = stand.database
    done: list[Any] = []
    events: list[Event] = []

    async def work() -> None:
        changed = asyncio.Event()

        async def handle(delivery: Any) -> None:
            done.append(delivery.id)
            changed.set()

        worker = AsyncWorker(
            stand.module.QUEUE,
            handle,
            connect=database.connect_async,
            poll_interval=NEVER,
            signals=False,
            max_backoff=0.2,
            on_event=events.append,
        )
        running = asyncio.ensure_future(worker.run())
        for n in range(2):
            listeners = await asyncio.to_thread(_listeners, stand)
            # what is claimed below was committed after the LISTEN, and its ring is over
            await asyncio.sleep(0.2)
            await asyncio.to_thread(stand.enqueue, [{"payload": "x"}])
            await asyncio.wait_for(changed.wait(), SOON)
            changed.clear()
            if n == 0:
                (listener,) = listeners
                await asyncio.to_thread(database.kill_session, listener)
        worker.stop()
        await asyncio.wait_for(running, SOON)

    asyncio.run(work())
    assert len(done) == 2
    assert any(event.kind is EventKind.DISCONNECTED for event in events)
    database.wait_until_idle()


def _listeners(stand: Stand) -> set[Any]:
    return Waiting(stand.module.QUEUE, stand.database.connect).wait_listening(stand.database)


@on_cases(NOTIFIED)
def test_a_worker_that_is_told_not_to_does_not_listen(stand: Stand) -> None:
    with Waiting(stand.module.QUEUE, stand.database.connect, notify=False).running() as waiting:
        waiting.settle_down()
        stand.enqueue([{"payload": "x"}])
        waiting.settle_down()
        assert waiting.done == []


@on_cases(NOTIFIED)
def test_a_run_until_empty_does_not_listen(stand: Stand) -> None:
    stand.enqueue([{"payload": "x"}] * 3)
    opened: list[Any] = []

    def connect() -> Any:
        opened.append(stand.database.connect())
        return opened[-1]

    Worker(stand.module.QUEUE, lambda delivery: None, connect=connect, check=False).run("empty")
    assert len(opened) <= 3
    assert stand.count == 0


@on_dialects("sqlite")
def test_a_table_of_two_databases_listens_on_the_one_that_can(
    database: Database, tmp_path: Path
) -> None:
    text = NOTIFIED.with_(dialects=("postgres", "sqlite")).text()
    made = generate(text, tmp_path)
    made.install(database, "jobs")
    module = made.module("jobs")
    assert module.QUEUE.channel is not None
    with Waiting(module.QUEUE, database.connect).running() as waiting:
        waiting.settle_down()
        connection = database.connect(autocommit=True)
        module.enqueue(connection, module.New(payload="x"))
        waiting.wait(lambda: len(waiting.done) == 1)
        assert waiting.count(EventKind.DISCONNECTED) == 0


@on_cases(NOTIFIED)
def test_the_price_counts_it(stand: Stand) -> None:
    table: Table = stand.table
    assert (price(table).listening, price(table).worker) == (1, 4)
