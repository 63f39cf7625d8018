"""What runs before and after a handler, on its thread; and Django's connections, which need it."""

from __future__ import annotations

import contextlib
import importlib
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from sqlclaimgen.runtime import AsyncWorker, EventKind
from tests.conformance.harness import Stand, on_cases
from tests.worker.support.cases import JOBS
from tests.worker.support.running import QUICK, Log, OnThread, worker_of

SQLITE = JOBS.with_(dialects=["sqlite"])


@on_cases(SQLITE)
@pytest.mark.parametrize("transactional", [False, True])
def test_it_runs_before_and_after_a_handler_on_its_thread(
    stand: Stand, transactional: bool
) -> None:
    (id,) = stand.enqueue([{}])
    seen: list[tuple[str, Any, int]] = []

    @contextlib.contextmanager
    def around(delivery: Any) -> Iterator[None]:
        seen.append(("before", delivery.id, threading.get_ident()))
        try:
            yield
        finally:
            seen.append(("after", delivery.id, threading.get_ident()))

    def handle(delivery: Any, *connection: Any) -> None:
        seen.append(("handler", delivery.id, threading.get_ident()))
        if delivery.attempt == 1:
            raise ValueError

    worker = worker_of(
        "blocking", stand, handle, around=around, transactional=transactional, concurrency=1
    )
    OnThread(worker, until="empty").join()
    thread = seen[0][2]
    assert seen == [(what, id, thread) for what in ("before", "handler", "after")] * 2
    assert thread != threading.get_ident() and stand.count == 0


@on_cases(SQLITE)
def test_an_async_handler_has_none(stand: Stand) -> None:
    async def handle(delivery: Any) -> None: ...

    with pytest.raises(TypeError, match="async with"):
        AsyncWorker(
            stand.module.QUEUE,
            handle,
            connect=stand.connect,
            around=lambda delivery: contextlib.nullcontext(),
            **QUICK,
        )


@on_cases(SQLITE)
@pytest.mark.parametrize("recipe", [True, False], ids=["recipe", "twin"])
def test_a_connection_of_djangos_that_broke_is_opened_again(stand: Stand, recipe: bool) -> None:
    django = importlib.import_module("django")
    conf = importlib.import_module("django.conf")
    if not conf.settings.configured:
        engine = {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": str(stand.generated.folder / "django.db"),
        }
        conf.settings.configure(DATABASES={"default": engine})
        django.setup()
    db = importlib.import_module("django.db")

    @contextlib.contextmanager
    def reset(delivery: Any) -> Iterator[None]:
        db.close_old_connections()
        try:
            yield
        finally:
            db.close_old_connections()

    def handle(delivery: Any) -> None:
        with db.connection.cursor() as cursor:
            cursor.execute("SELECT 1")
        if delivery.attempt == 1:
            db.connection.connection.close()  # as a server would that ends the session
            with db.connection.cursor() as cursor:
                cursor.execute("SELECT 1")

    (id,) = stand.enqueue([{}])
    log = Log()
    options = {"around": reset} if recipe else {}
    worker = worker_of("blocking", stand, handle, on_event=log, concurrency=1, **options)
    OnThread(worker, until="empty").join()
    assert len(log.of(EventKind.FAILED)) == (1 if recipe else 5)
    assert [row["id"] for row in stand.rows(dead=True)] == ([] if recipe else [id])
