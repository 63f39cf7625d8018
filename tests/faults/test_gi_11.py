"""GI-11: channel names that are folded, cut, or refused."""

from __future__ import annotations

import pytest

from tests.conformance.harness import Stand, on_cases
from tests.worker.support.waiting import NOTIFIED, Waiting

NAMES = ["Queue" + "q" * 55, "UpperChan", "größe_作業", "with blank"]
CASES = [
    NOTIFIED.with_(name=str(n), body=f'name = "{name}"\n' + NOTIFIED.body.replace("\n    ", "\n"))
    for n, name in enumerate(NAMES)
]


@on_cases(*CASES)
def test_both_sides_mean_the_same(stand: Stand) -> None:
    channel = stand.module.QUEUE.channel
    assert channel == channel.lower()
    assert len(channel.encode()) <= 63
    with Waiting(stand.module.QUEUE, stand.database.connect).running() as waiting:
        waiting.settle_down(stand.database)
        stand.enqueue([{"payload": "x"}])
        waiting.wait(lambda: len(waiting.done) == 1)


@on_cases(NOTIFIED)
def test_the_broken_twin_is_not_woken(stand: Stand) -> None:
    # LISTEN of a name with capitals, unquoted: what many a library does
    twin = stand.twin(enqueue=lambda sql: sql.replace("sqlclaimgen_jobs", "sqlclaimgen_Jobs"))
    with Waiting(twin.QUEUE, stand.database.connect).running() as waiting:
        waiting.settle_down(stand.database)
        connection = stand.connect()
        twin.enqueue(connection, twin.New(payload="x"))
        connection.commit()
        waiting.settle_down()
        assert waiting.done == []


@on_cases(NOTIFIED)
def test_a_name_that_is_too_long_would_fail_in_the_producer(stand: Stand) -> None:
    twin = stand.twin(enqueue=lambda sql: sql.replace("sqlclaimgen_jobs", "j" * 64))
    connection = stand.connect()
    with pytest.raises(Exception, match="channel name too long"):
        twin.enqueue(connection, twin.New(payload="x"))
