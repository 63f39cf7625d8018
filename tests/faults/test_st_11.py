"""ST-11: a row is committed between the empty claim and the wait."""

from __future__ import annotations

import asyncio

import pytest

from sqlclaimgen.runtime.worker.waking import Alarm
from tests.conformance.harness import Stand, on_cases
from tests.worker.support.waiting import NOTIFIED, Waiting


@pytest.mark.parametrize("broken", [True, False], ids=["broken", "right"])
@on_cases(NOTIFIED)
def test_its_ring_is_not_forgotten(
    stand: Stand, monkeypatch: pytest.MonkeyPatch, broken: bool
) -> None:
    plain = Alarm.wait
    armed = [False]

    async def wait(alarm: Alarm, seconds: float) -> bool:
        if armed[0]:
            armed[0] = False
            # the claim was empty; the row is committed now, and its ring has come before the wait
            stand.enqueue([{"payload": "x"}])
            async with asyncio.timeout(30):
                while not alarm._event.is_set():
                    await asyncio.sleep(0.01)
            if broken:
                alarm.hush()
        return await plain(alarm, seconds)

    with Waiting(stand.module.QUEUE, stand.database.connect).running() as waiting:
        waiting.settle_down(stand.database)
        monkeypatch.setattr(Alarm, "wait", wait)
        armed[0] = True
        # one wake-up for nothing, and with it a claim and a wait
        stand.database.execute("SELECT pg_notify(%s, '')", [stand.module.QUEUE.channel])
        if broken:
            waiting.wait(lambda: not armed[0])
            waiting.settle_down()
            assert waiting.done == []
        else:
            waiting.wait(lambda: len(waiting.done) == 1)
