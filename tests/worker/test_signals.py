"""Processes of several workers that are sent a real signal."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.harness import Stand, on_cases
from tests.worker.support.cases import JOBS

ROOT = Path(__file__).parents[2]

HEAD = """
import asyncio, logging, os, sqlite3, sys, threading, time
sys.path.insert(0, {folder!r})
from tests.worker.support.process import load
from sqlclaimgen.runtime import AsyncWorker, Worker
jobs = load({module!r})
logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stdout)
QUICK = dict(poll_interval=0.05, check=False, connect=lambda: sqlite3.connect({path!r}, timeout=10,
    check_same_thread=False))
"""

SEVERAL = """
async def handle(delivery): ...

async def main():
    workers = [AsyncWorker(jobs.QUEUE, handle, **QUICK) for _ in range(3)]
    await asyncio.gather(*(worker.run() for worker in workers))

asyncio.run(main())
print("over")
"""

THREADS = """
import signal
def handle(delivery): ...

workers = [Worker(jobs.QUEUE, handle, **QUICK) for _ in range(3)]
threads = [threading.Thread(target=worker.run) for worker in workers[1:]]
for thread in threads:
    thread.start()
workers[0].run()
for thread in threads:
    thread.join()
print("over")
"""

SERVER = """
import uvicorn
async def handle(delivery): ...

running = []

async def app(scope, receive, send):
    assert scope["type"] == "lifespan"
    while True:
        message = await receive()
        if message["type"] == "lifespan.startup":
            worker = AsyncWorker(jobs.QUEUE, handle, **QUICK)
            running.append(asyncio.create_task(worker.run()))
            await send({"type": "lifespan.startup.complete"})
        else:
            await running[0]
            print("over")
            await send({"type": "lifespan.shutdown.complete"})
            return

uvicorn.run(app, port=0, log_config=None)
"""


@on_cases(JOBS.with_(dialects=["sqlite"]))
@pytest.mark.parametrize(
    ("program", "ready"),
    [(SEVERAL, 3), (THREADS, 3), (SERVER, 1)],
    ids=["loop", "threads", "uvicorn"],
)
def test_every_worker_of_a_process_hears_a_signal(
    stand: Stand, tmp_path: Path, program: str, ready: int
) -> None:
    module = stand.generated.folder / stand.generated.description.output.python / "jobs.py"
    database: Any = stand.database
    head = HEAD.format(folder=str(ROOT), module=str(module), path=str(database.path))
    script = tmp_path / "several.py"
    script.write_text(head + program)
    with subprocess.Popen(
        [sys.executable, "-u", str(script)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    ) as process:
        assert process.stdout is not None
        said: list[str] = []
        try:
            while sum(line == "jobs ready\n" for line in said) < ready:
                line = process.stdout.readline()
                assert line, said
                said.append(line)
            process.send_signal(signal.SIGTERM)
            out, _ = process.communicate(timeout=30)
        finally:
            if process.poll() is None:
                process.kill()
    text = "".join(said) + out
    assert text.count("jobs draining") == text.count("jobs stopped") == ready, text
    assert "over\n" in out, text
    assert process.returncode in (0, -signal.SIGTERM), text  # uvicorn raises it again at its end
    assert text.count("runs off the main thread") == (2 if program is THREADS else 0), text
