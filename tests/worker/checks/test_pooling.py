"""A pooler in transaction mode: the advisory form is refused behind it (AD-05), the others work
through it (DR-01)."""

from __future__ import annotations

import logging
import threading
from collections import Counter
from typing import Any

import pytest

from sqlclaimgen.runtime.errors import ServerUnfit
from sqlclaimgen.runtime.looking import told
from sqlclaimgen.runtime.protocols.held_forms import held_form_of
from sqlclaimgen.runtime.worker.faces import Worker
from tests.conformance.harness import Stand, on_cases
from tests.servers import PgBouncer
from tests.worker.checks.looking import ADVISORY, LEASE, ROW_LOCK, Looking

POSTGRES = ("postgres",)
KEYED = ADVISORY.with_(dialects=POSTGRES)
OTHERS = tuple(case.with_(dialects=POSTGRES) for case in (LEASE, ROW_LOCK))


def _pooler(stand: Stand, **options: Any) -> PgBouncer:
    database: Any = stand.database
    return PgBouncer(database, **options)


@on_cases(KEYED)
@pytest.mark.parametrize(("size", "order"), [(1, 0), (4, 0), (4, 1)])
def test_the_advisory_form_is_refused(looking: Looking, size: int, order: int) -> None:
    # the pooler hands out the session that was used last, or each in turn
    options = {"server_round_robin": order}
    with _pooler(looking.stand, pool_size=size, settings=options) as pooler:
        # connections that others use make the pool as large as it gets
        warm = [pooler.connect() for _ in range(size)]
        for connection in warm:
            connection.execute("SELECT 1")
        for connection in warm:
            connection.commit()
        with pytest.raises(ServerUnfit) as refused:
            looking(connect=pooler.connect)
        assert refused.value.setting == "pool_mode"
        assert "pooler in transaction mode" in str(refused.value)
        assert "use the lease form" in str(refused.value)
        for connection in warm:
            connection.close()


@on_cases(KEYED)
def test_a_pool_of_sessions_is_none_of_it(looking: Looking) -> None:
    with _pooler(looking.stand, pool_mode="session", pool_size=4) as pooler:
        looking(connect=pooler.connect)
    looking()
    assert looking.events == []


@on_cases(KEYED)
def test_one_connection_more_and_for_a_moment(looking: Looking) -> None:
    opened: list[Any] = []

    def connect() -> Any:
        opened.append(looking.connect())
        return opened[-1]

    looking(connect=connect)
    assert len(opened) == 2
    assert all(connection.closed for connection in opened)
    looking.stand.database.wait_until_idle()


@on_cases(KEYED, *OTHERS)
def test_by_hand_a_pooler_is_told_of_once(stand: Stand, caplog: pytest.LogCaptureFixture) -> None:
    told.clear()
    with caplog.at_level(logging.WARNING, "sqlclaimgen"):
        with stand.claim(stand.connect()):
            pass
        assert caplog.records == []
        with _pooler(stand, pool_size=2) as pooler:
            connection = pooler.connect()
            for _ in range(2):
                with stand.claim(connection):
                    pass
            connection.close()
    found = [record.getMessage() for record in caplog.records]
    assert len(found) == (1 if stand.case.name == KEYED.name else 0)
    assert all("pool in session mode" in text for text in found)


@on_cases(*OTHERS)
def test_the_other_forms_work_through_it(stand: Stand) -> None:
    if stand.case.name != "lease" and held_form_of(stand.module.QUEUE) is None:
        pytest.skip("workers do not serve this form yet")
    rows = 120
    with _pooler(stand, pool_size=6) as pooler:
        producer = pooler.connect()
        new = stand.module.New
        stand.module.enqueue_many(producer, [new(size=n) for n in range(rows)])
        producer.commit()
        producer.close()
        done: Counter[int] = Counter()
        lock = threading.Lock()

        def handle(delivery: Any) -> None:
            with lock:
                done[delivery.row.size] += 1

        workers = [
            Worker(stand.module.QUEUE, handle, connect=pooler.connect, concurrency=2, signals=False)
            for _ in range(3)
        ]
        errors: list[BaseException] = []

        def run(worker: Worker[Any, Any]) -> None:
            try:
                worker.run(until="empty")
            except BaseException as error:
                errors.append(error)

        threads = [threading.Thread(target=run, args=(one,), daemon=True) for one in workers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
    assert errors == []
    assert done == Counter(range(rows))
