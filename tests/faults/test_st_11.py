"""ST-11: a row is committed between the empty claim and the wait."""

from __future__ import annotations

import asyncio
import threading
from unittest import mock

import pytest

from sqlclaimgen.runtime.worker.waking import Alarm
from tests.conformance.harness import Stand, on_cases
from tests.worker.support.waiting import NOTIFIED, SOON, Waiting


@pytest.mark.parametrize("broken", [True, False], ids=["broken", "right"])
@on_cases(NOTIFIED)
def test_its_ring_is_not_forgotten(stand: Stand, broken: bool) -> None:
    gap = threading.Event()

    with Waiting(stand.module.QUEUE, stand.database.connect).running() as waiting:
        waiting.settle_down(stand.database)
        plain = Alarm.wait

        async def wait(alarm: Alarm, seconds: float) -> bool:
            if not gap.is_set():
                # the claim was empty; the row is committed now, and its ring comes before the wait
                stand.enqueue([{"payload": "x"}])
                async with asyncio.timeout(SOON):
                    while not alarm._event.is_set():
                        await asyncio.sleep(0.01)
                if broken:
                    alarm.hush()
                gap.set()
            return await plain(alarm, seconds)

        with mock.patch.object(Alarm, "wait", wait):
            # one wake-up for nothing, and with it a claim and a wait
            stand.database.execute("SELECT pg_notify(%s, '')", [stand.module.QUEUE.channel])
            assert gap.wait(SOON)
            if broken:
                waiting.settle_down()
                assert waiting.done == []
            else:
                waiting.wait(lambda: len(waiting.done) == 1)
