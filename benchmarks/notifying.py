"""From a producer's COMMIT to the handler, by NOTIFY."""

from __future__ import annotations

import contextlib
import random
import statistics
import threading
import time
from datetime import timedelta
from functools import partial
from typing import Any

from benchmarks.case import Case, Contender, Figures, Kind
from benchmarks.goals import AtMost
from benchmarks.park import Park
from benchmarks.tables import QUEUE, Table
from sqlclaimgen.runtime import PYFORMAT, Event, EventKind, Worker

MEDIAN = "median ms"
P99 = "p99 ms"
_LONGEST = 20.0


class Notified:
    """A worker that has nothing to do, and a producer that commits a row now and then.

    The producer is a plain connection, as one in another process would be: `enqueue` in the worker's
    own process would wake it without the database.
    """

    def __init__(self, table: Table) -> None:
        self._table = table
        self._handled: dict[bytes, float] = {}
        self._ready = threading.Event()
        self._some_handled = threading.Semaphore(0)

    def run(self, rows: int) -> Figures:
        """The times from before a COMMIT to the start of the handler, one row after the other."""
        self._handled.clear()
        self._ready.clear()
        worker = Worker(
            self._table.module.QUEUE,
            self._handle,
            connect=self._table.connect,
            groups=[QUEUE],
            poll_interval=2 * _LONGEST,
            signals=False,
            on_event=self._see,
        )
        thread = threading.Thread(target=worker.run)
        thread.start()
        try:
            if not self._ready.wait(_LONGEST):
                raise TimeoutError("the worker is not ready")
            time.sleep(0.5)  # its first claim finds nothing, and it listens
            times = self._produce(rows)
        finally:
            worker.stop()
            thread.join()
        cuts = statistics.quantiles(times, n=100, method="inclusive")
        return {MEDIAN: statistics.median(times), P99: cuts[98]}

    def _produce(self, rows: int) -> list[float]:
        times: list[float] = []
        with contextlib.closing(self._table.connect()) as connection:
            for number in range(rows):
                name = b"%d" % number
                new = self._table.module.New(queue=QUEUE, payload=name)
                # due a moment ago, so that a difference of clocks holds nothing up
                statement, values = self._table.module.insert(
                    new, PYFORMAT, delay=timedelta(seconds=-1)
                )
                connection.execute(statement, values).fetchall()
                committed = time.perf_counter()
                connection.commit()
                if not self._some_handled.acquire(timeout=_LONGEST):
                    raise TimeoutError(f"row {number} was not handled: no notification came")
                times.append((self._handled[name] - committed) * 1000)
                time.sleep(random.uniform(0.002, 0.012))
        return times

    def _handle(self, delivery: Any) -> None:
        self._handled[delivery.row.payload] = time.perf_counter()
        self._some_handled.release()

    def _see(self, event: Event) -> None:
        if event.kind is EventKind.READY:
            self._ready.set()


def _contenders(park: Park) -> tuple[Contender, ...]:
    table = park.table("postgres", "notified_jobs")
    notified = Notified(table)

    def empty(rows: int) -> None:
        table.refill(0)

    return (
        Contender(kind=Kind.OURS, name="ours", run=notified.run, prepare=empty, left=table.left),
    )


def cases(park: Park) -> list[Case]:
    """NOTIFY on PostgreSQL."""
    return [
        Case(
            title="NOTIFY, commit to handler",
            server="postgres",
            rows=500,
            quick=100,
            contenders=partial(_contenders, park),
            figures=(MEDIAN, P99),
            goals=(AtMost(4, MEDIAN), AtMost(15, P99)),
        )
    ]
