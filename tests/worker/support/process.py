"""A worker as a process of its own: `python -m tests.worker.support.process FILE`.

FILE is JSON: the folder and file of a generated module, how to connect, the worker's settings, and
what its handler does. It ends when nothing is due, or when it is stopped.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlclaimgen.runtime import Unfinished, Worker

HISTORY = "CREATE TABLE history (job BIGINT NOT NULL, attempt INT NOT NULL, pid BIGINT NOT NULL)"
"""What handlers write in the transaction of their ack: one line for each row, whatever dies."""


@dataclass(frozen=True)
class Order:
    """What a process is to do."""

    module: str
    dialect: str
    address: dict[str, Any]
    settings: dict[str, Any]
    handler: str
    until: str | None = None

    def connect(self) -> Any:
        """A connection of the plain driver."""
        match self.dialect:
            case "postgres":
                import psycopg

                return psycopg.connect(self.address["dsn"])
            case "sqlite":
                return sqlite3.connect(self.address["path"], timeout=10, check_same_thread=False)
            case _:
                import pymysql

                return pymysql.connect(**self.address)


def order_for(stand: Any, handler: str, **settings: Any) -> Order:
    """An order over a stand's table."""
    database = stand.database
    module = stand.generated.folder / stand.generated.description.output.python / "jobs.py"
    match database.dialect:
        case "postgres":
            address = {"dsn": database.dsn}
        case "sqlite":
            address = {"path": str(database.path)}
        case _:
            address = {**database.server.address(), "database": database.name, "charset": "utf8mb4"}
    until = settings.pop("until", None)
    quick = {"poll_interval": 0.05, "max_backoff": 0.5, "check": False, "notify": False}
    return Order(
        str(module),
        database.dialect,
        address,
        {**quick, "concurrency": 4, **settings},
        handler,
        until,
    )


@contextlib.contextmanager
def processes(folder: Path) -> Iterator[Callable[[Order], subprocess.Popen[str]]]:
    """Start processes; what is left of them at the end of the block is killed. What they log is in
    `folder`: nobody reads it while they run."""
    started: list[subprocess.Popen[str]] = []

    def start(order: Order) -> subprocess.Popen[str]:
        path = folder / f"order-{len(started)}.json"
        path.write_text(json.dumps(order.__dict__))
        with path.with_suffix(".log").open("w") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "tests.worker.support.process", str(path)],
                cwd=Path(__file__).parents[3],
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        started.append(process)
        return process

    try:
        yield start
    finally:
        for process in started:
            if process.poll() is None:
                process.kill()
            process.wait()
            if process.stdout is not None:
                process.stdout.close()


def load(path: str) -> Any:
    """A generated module."""
    spec = importlib.util.spec_from_file_location("jobs", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["jobs"] = module
    spec.loader.exec_module(module)
    return module


def record(delivery: Any, connection: Any) -> None:
    """Write the delivery into the history, in the transaction of the ack."""
    connection.cursor().execute(
        f"INSERT INTO history (job, attempt, pid) VALUES ({delivery.id}, {delivery.attempt}, {os.getpid()})"
    )
    time.sleep(0.005)  # work: so that a kill meets some of it


def slow(delivery: Any) -> None:
    """Say that it has begun, and take three seconds."""
    print(f"began {delivery.id}", flush=True)
    time.sleep(3)
    print(f"ended {delivery.id}", flush=True)


def deaf(delivery: Any) -> None:
    """Say that it has begun, and go on for a minute."""
    print(f"began {delivery.id}", flush=True)
    time.sleep(60)


def until_lost(delivery: Any, *connection: Any) -> None:
    """Say that it has begun, and go on until its row is lost."""
    print(f"began {delivery.id} {delivery.attempt}", flush=True)
    while not delivery.lost:
        time.sleep(0.01)
    print(f"ended {delivery.id}", flush=True)


def suicidal(delivery: Any) -> None:
    """Kill its own process for the payload `kill`."""
    print(f"began {delivery.id} {delivery.attempt}", flush=True)
    if delivery.row.payload == "kill":
        os.kill(os.getpid(), 9)


def quitting(delivery: Any) -> None:
    """End the process with 7 for the payload `quit`; anything else takes a second."""
    print(f"began {delivery.id}", flush=True)
    time.sleep(0.3 if delivery.row.payload == "quit" else 1)
    if delivery.row.payload == "quit":
        sys.exit(7)
    print(f"ended {delivery.id}", flush=True)


HANDLERS: Mapping[str, Callable[..., Any]] = {
    "record": record,
    "slow": slow,
    "deaf": deaf,
    "suicidal": suicidal,
    "until_lost": until_lost,
    "quitting": quitting,
}


def main(path: str) -> int:
    """Do what the file says. Exit code 3: handlers were still running."""
    order = Order(**json.loads(Path(path).read_text()))
    worker: Worker[Any, Any] = Worker(
        load(order.module).QUEUE,
        HANDLERS[order.handler],
        connect=order.connect,
        **order.settings,
    )
    try:
        worker.run(until=order.until)  # type: ignore[arg-type]
    except Unfinished:
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
