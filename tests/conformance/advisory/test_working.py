"""The worker over this form: each row once, rows of a key one at a time."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from sqlclaimgen.runtime import Worker
from tests.conformance.advisory.cases import FULL, PLAIN, rows
from tests.conformance.harness import Stand, on_cases


@pytest.mark.parametrize("transactional", [False, True])
@on_cases(FULL, PLAIN)
def test_a_worker_keeps_the_rows_of_a_key_apart(stand: Stand, transactional: bool) -> None:
    n = 60
    stand.fill(rows(stand.case, n, 6))
    in_work: set[str] = set()
    done: list[int] = []
    guard = threading.Lock()

    def handle(delivery: Any, *connection: Any) -> None:
        with guard:
            assert delivery.row.account not in in_work
            in_work.add(delivery.row.account)
        with guard:
            in_work.remove(delivery.row.account)
            done.append(delivery.id)

    options: dict[str, Any] = {"groups": ["a"]} if "group" in stand.case.claims else {}
    if transactional:
        options["transactional"] = True
    worker = Worker(stand.module.QUEUE, handle, connect=stand.connect, concurrency=4, **options)
    worker.run(until="empty")
    assert sorted(done) == list(range(1, n + 1))
    assert stand.unfinished == 0
