"""Everything at once for a while: outcomes of all kinds, leases that run out, sessions that die."""

from __future__ import annotations

import contextlib
import random
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import pymysql
import pytest

from sqlclaimgen.runtime import ClaimError, FaultKind, LeaseLost, StatementFailed
from tests.conformance.cases import DELAYED
from tests.conformance.harness import Stand, on_cases
from tests.conformance.history import History

SHORT = DELAYED.with_(name="short", body=DELAYED.body.replace("60s", "1s"))


@pytest.mark.soak
@on_cases(SHORT)
def test_every_row_is_settled_once_whatever_happens(stand: Stand, soak_seconds: float) -> None:
    history = History()
    stop = time.monotonic() + soak_seconds
    enqueued: list[int] = []
    errors: list[BaseException] = []

    def guarded(work: Callable[[], None]) -> Callable[[], None]:
        def run() -> None:
            try:
                work()
            except BaseException as error:
                errors.append(error)

        return run

    def produce() -> None:
        while time.monotonic() < stop and not errors:
            enqueued.extend(stand.enqueue([{"note": None}] * 20))
            history.wait_for_change(0.2)

    def claim(worker: int) -> None:
        chance = random.Random(worker)
        connection = stand.connect()
        while not errors:
            over = time.monotonic() > stop
            try:
                deliveries = stand.claim(connection, 5)._deliveries
                history.claimed(worker)
            except ClaimError as error:
                connection = _fresh(stand, connection, error)
                continue
            if not deliveries and over and stand.count == 0:
                break
            if not deliveries:
                history.wait_for_change(0.05)
            for delivery in deliveries:
                connection = _one(stand, history, worker, connection, delivery, chance, over)

    threads = [threading.Thread(target=guarded(produce))]
    threads += [threading.Thread(target=guarded(partial(claim, n))) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(soak_seconds + 120)
        assert not thread.is_alive()
    if errors:
        raise errors[0]
    history.check_attempts()
    history.check_settled_once()
    finished = {r.id for r in history.records if r.settled == "ack"}
    unknown = {r.id for r in history.records if r.settled == "unknown"}
    assert finished | unknown == set(enqueued)
    assert stand.count == 0


def _one(
    stand: Stand,
    history: History,
    worker: int,
    connection: Any,
    delivery: Any,
    chance: random.Random,
    over: bool,
) -> Any:
    """One delivery, handled in one of many ways. Returns the connection to go on with."""
    delivery.started = True
    record = history.begin(worker, delivery)
    settled: str | None = None
    kind = "ack" if over else chance.choices(KINDS, (60, 10, 10, 5, 5, 5, 5))[0]
    try:
        match kind:
            case "drop":
                pass
            case "late":
                # the lease runs out meanwhile, and perhaps another claim has the row
                time.sleep(1.1)
                delivery.ack(connection)
                settled = "ack"
            case "extend":
                stand.module.extend(connection, [delivery])
                delivery.ack(connection)
                settled = "ack"
            case "die":
                stand.database.kill_session(stand.database.session_id(connection))
                delivery.ack(connection)
                settled = "ack"
            case "release":
                stand.module.release(connection, [delivery])
                settled = "release"
            case _:
                getattr(delivery, kind)(connection)
                settled = kind
    except LeaseLost:
        pass
    except ClaimError as error:
        if getattr(error, "statement", "") == "commit":
            settled = "unknown"
        connection = _fresh(stand, connection, error)
    history.end(record, settled, lost=bool(delivery.lost))
    return connection


KINDS = ("ack", "retry", "extend", "late", "drop", "die", "release")


def _fresh(stand: Stand, connection: Any, error: ClaimError) -> Any:
    """A new connection after a failure that is none of the claims' own."""
    if isinstance(error, StatementFailed) and error.kind is FaultKind.REFUSED:
        raise error
    with contextlib.suppress(pymysql.err.Error):
        connection.close()  # the runtime has closed one already that could not be rolled back
    return stand.connect()
