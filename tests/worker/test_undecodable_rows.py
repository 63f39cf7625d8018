"""Rows that nobody can decode, in front of good ones: they keep no other row from its work."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from sqlclaimgen.runtime import EventKind
from tests.conformance.harness import Case, Stand, on_cases
from tests.worker.held.cases import ADVISORY, ROW_LOCK
from tests.worker.support.cases import JOBS
from tests.worker.support.running import Log, OnThread, worker_of


def undelayed(case: Case) -> Case:
    """The same table without the column that delays a row."""
    body = case.body.replace('    run_after = { role = "retry_after" }\n', "")
    return case.with_(name=f"{case.name}-undelayed", body=body)


CASES = (JOBS, ROW_LOCK, ADVISORY, *map(undelayed, (JOBS, ROW_LOCK, ADVISORY)))
BAD, GOOD = 8, 10


@pytest.mark.parametrize("concurrency", [1, 8])
@pytest.mark.parametrize("policy", ["retry", "keep"])
@on_cases(*CASES)
def test_good_rows_flow(stand: Stand, policy: Any, concurrency: int) -> None:
    accounts = "account" in stand.case.body
    stand.fill(
        {"id": id, **({"account": f"a{id}"} if accounts else {})} for id in range(1, BAD + GOOD + 1)
    )
    module = stand.generated.module("jobs")
    row = module.QUEUE.row

    def made(**fields: Any) -> Any:
        if fields["id"] <= BAD:
            raise ValueError("it does not decode")
        return row(**fields)

    module.QUEUE = dataclasses.replace(module.QUEUE, row=made)
    log = Log()
    worker = worker_of(
        "blocking",
        stand,
        lambda delivery: None,
        module=module,
        on_event=log,
        on_invalid=policy,
        concurrency=concurrency,
        max_backoff=60.0,
    )
    OnThread(worker, until="empty").join(60)
    acked = [e.id for e in log.of(EventKind.SETTLED) if e.outcome == "Ack"]
    assert sorted(acked) == list(range(BAD + 1, BAD + GOOD + 1))
    # each of the others was looked at once, and stands
    assert sorted(log.ids(EventKind.FAILED)) == list(range(1, BAD + 1))
    assert [r["id"] for r in stand.rows()] == list(range(1, BAD + 1))
