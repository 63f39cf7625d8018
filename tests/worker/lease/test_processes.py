"""Processes that are killed, servers that are restarted: every row has its effect once."""

from __future__ import annotations

import itertools
import random
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from sqlclaimgen.runtime import EventKind
from tests.conformance.harness import Stand, on_cases
from tests.worker.support.cases import JOBS, SHORT
from tests.worker.support.freezing import frozen
from tests.worker.support.process import HISTORY, Order, order_for, processes
from tests.worker.support.running import Log, worker_of, working

SECOND = JOBS.with_(name="second", body=JOBS.body.replace('"60s"', '"1s"'))
"""The shortest lease there is."""


@on_cases(SHORT)
def test_processes_killed_and_a_server_restarted(stand: Stand, tmp_path: Path) -> None:
    battle(stand, tmp_path, rows=150, workers=3, kills=3, restarts=1, pause=0.4)


@pytest.mark.soak
@on_cases(SHORT)
def test_eight_processes_one_killed_each_second(stand: Stand, tmp_path: Path) -> None:
    battle(stand, tmp_path, rows=5000, workers=8, kills=1000, restarts=2, pause=1.0)


def battle(
    stand: Stand, folder: Path, *, rows: int, workers: int, kills: int, restarts: int, pause: float
) -> None:
    stand.fill([{"id": n, "payload": n} for n in range(1, rows + 1)])
    stand.database.execute(HISTORY)
    # attempts are not the matter here: crashes spend them
    stand.database.execute(f"UPDATE jobs SET attempt = {-1000}")
    order = order_for(stand, "record", transactional=True, until="empty")
    chance = random.Random(1)
    lives = [0] * workers
    with processes(folder) as start:
        crew = [start(order) for _ in range(workers)]
        for number in itertools.count(1):
            done = number > kills and number > restarts
            if remaining(stand) == 0 or done:
                break
            wait_for_progress(stand, pause)
            if number <= kills:
                victim = chance.randrange(workers)
                crew[victim].kill()
                crew[victim].wait()
                lives[victim] += 1
                crew[victim] = start(order)
            if (number <= restarts * 3 and number % 3 == 0) or number == restarts == 1:
                stand.database.server.restart()
            revive(crew, start, order)
        deadline = time.monotonic() + 120 + rows / 20
        while remaining(stand):
            assert time.monotonic() < deadline, f"{remaining(stand)} rows are left: {folder}"
            revive(crew, start, order)
            time.sleep(0.1)
        for process in crew:
            process.wait(60)
    check_effects(stand, rows)
    assert sum(lives) > 0


def check_effects(stand: Stand, rows: int) -> None:
    """Every row had its effect, and had it once."""
    effects = Counter(row[0] for row in stand.database.execute("SELECT job FROM history"))
    lost = set(range(1, rows + 1)) - set(effects)
    twice = [job for job, times in effects.items() if times > 1]
    assert not lost and not twice, f"lost: {lost}, twice: {twice}"


@on_cases(SHORT.with_(dialects=["sqlite"]))
def test_effects_outside_the_transaction_of_the_ack_are_found_out(stand: Stand) -> None:
    # a handler that commits its effect itself and dies before the ack: the check must see it
    stand.fill([{"id": n, "payload": n} for n in (1, 2)])
    stand.database.execute(HISTORY)
    died: list[int] = []

    def handle(delivery: Any) -> None:
        stand.database.execute(f"INSERT INTO history VALUES ({delivery.id}, 1, 0)")
        if delivery.id == 2 and not died:
            died.append(2)
            raise SystemExit

    worker = worker_of("blocking", stand, handle, concurrency=1)
    with pytest.raises(SystemExit):
        worker.run("empty")
    worker.run("empty")
    assert stand.count == 0
    with pytest.raises(AssertionError, match=r"twice: .2."):
        check_effects(stand, 2)
    with pytest.raises(AssertionError, match=r"lost: .3."):
        check_effects(stand, 3)


def remaining(stand: Stand) -> int:
    for _ in range(200):
        try:
            return stand.count
        except Exception:
            stand.database.disconnect()
            time.sleep(0.1)  # the server is on its way
    return stand.count


def wait_for_progress(stand: Stand, pause: float) -> None:
    before = remaining(stand)
    deadline = time.monotonic() + 5
    time.sleep(pause)  # the beat of the kills
    while remaining(stand) == before and time.monotonic() < deadline:
        time.sleep(0.02)


def revive(crew: list[subprocess.Popen[str]], start: object, order: Order) -> None:
    assert callable(start)
    for n, process in enumerate(crew):
        if process.poll() is not None:
            crew[n] = start(order)


@pytest.mark.parametrize("transactional", [False, True], ids=["plain", "transactional"])
@on_cases(SECOND.with_(dialects=["postgres"]))
def test_a_process_that_stood_still_tells_of_its_loss_once(
    stand: Stand, tmp_path: Path, transactional: bool
) -> None:
    (id,) = stand.enqueue([{}])
    order = order_for(stand, "until_lost", concurrency=2, transactional=transactional)
    with processes(tmp_path) as start:
        process = start(order)
        assert process.stdout is not None
        assert process.stdout.readline() == f"began {id} 1\n"
        with frozen(process.pid):
            # its lease runs out meanwhile, and another worker takes the row
            log = Log()
            with working(worker_of("blocking", stand, lambda d: None, on_event=log)):
                log.wait_for(EventKind.SETTLED)
            assert [(event.id, event.attempt) for event in log.of(EventKind.SETTLED)] == [(id, 2)]
        assert process.stdout.readline() == f"ended {id}\n"
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
    told = (tmp_path / "order-0.log").read_text()
    assert told.count(f"jobs {id} lost") == 1, told
    assert stand.count == 0
