"""Claimers that race for the rows of FIFO groups, and what must hold meanwhile."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from contextlib import closing
from datetime import timedelta
from typing import Any

from tests.conformance.harness import Stand


class Watch:
    """Which rows are in work, by group; what was violated is kept, in words."""

    def __init__(self, rows: int) -> None:
        self.left = rows
        self.violations: list[str] = []
        self.finished: dict[str, list[int]] = defaultdict(list)
        """Rows that were there at the start, by group, as they were finished."""
        self._working: dict[str, int] = {}
        self._seen: set[tuple[int, int]] = set()
        self._lock = threading.Condition()
        self._claims = 0

    def claimed(self) -> None:
        """A claim has returned."""
        with self._lock:
            self._claims += 1
            self._lock.notify_all()

    def wait_for_rivals(self) -> None:
        """Until claims that began after now have returned, where anybody claims at all."""
        with self._lock:
            enough = self._claims + 9
            self._lock.wait_for(lambda: self._claims >= enough, timeout=0.1)

    def enter(self, delivery: Any) -> None:
        """A claim has returned this row."""
        with self._lock:
            group, pair = delivery.row.queue, (delivery.id, delivery.attempt)
            if group in self._working:
                self.violations.append(f"{group}: {delivery.id} beside {self._working[group]}")
            if pair in self._seen:
                self.violations.append(f"{pair} was delivered twice")
            self._seen.add(pair)
            self._working[group] = delivery.id

    def leave(self, delivery: Any, *, finished: bool) -> None:
        """The row is about to be settled."""
        with self._lock:
            group = delivery.row.queue
            self._working.pop(group, None)
            if finished:
                self.left -= 1
                if delivery.row.priority >= 0:
                    self.finished[group].append(delivery.id)

    def added(self) -> None:
        """One more row has been enqueued."""
        with self._lock:
            self.left += 1

    def check(self) -> None:
        """No violation, and each group in the order of its ids."""
        assert not self.violations, self.violations[:5]
        for group, got in self.finished.items():
            assert got == sorted(got), f"{group} out of order: {got}"


def race(
    stand: Stand,
    groups: int,
    rows: int,
    *,
    module: Any = None,
    one_group: bool = False,
    limit: int = 10,
    claimers: int = 8,
) -> Watch:
    """Work the table empty, or until something is violated. While a row of a group is in work, more
    urgent ones are enqueued into it; a tenth of the rows is retried with a short delay."""
    used = module or stand.module
    stand.fill(
        {"id": number + 1, "queue": f"g{number % groups:02}", "priority": 0, "attempt": 1}
        for number in range(groups * rows)
    )
    _ids_after(stand, groups * rows)
    watch = Watch(groups * rows)
    errors: list[BaseException] = []
    barrier = threading.Barrier(claimers)
    deadline = time.monotonic() + 90

    def one() -> None:
        try:
            with closing(stand.connect()) as connection, closing(stand.connect()) as producer:
                barrier.wait(30)
                resume: Any = None
                while watch.left and not watch.violations and not errors:
                    assert time.monotonic() < deadline, f"{watch.left} rows left"
                    if one_group:
                        claim = used.claim(connection, group="g00")
                    else:
                        claim = used.claim_table(connection, limit=limit, resume=resume)
                    watch.claimed()
                    with claim as deliveries:
                        held = list(deliveries)
                        resume = deliveries.resume
                        for delivery in held:
                            watch.enter(delivery)
                        for delivery in held:
                            _work(used, watch, connection, producer, delivery)
                    if not held:
                        # every group is in work elsewhere: let those go on
                        time.sleep(0.002)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=one, daemon=True) for _ in range(claimers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    if errors:
        raise errors[0]
    return watch


def _work(used: Any, watch: Watch, connection: Any, producer: Any, delivery: Any) -> None:
    first, own = delivery.attempt == 1, delivery.row.priority >= 0
    if own and first and delivery.id % 3 == 0:
        used.enqueue(producer, used.New(queue=delivery.row.queue, priority=-1))
        producer.commit()
        watch.added()
        watch.wait_for_rivals()
    if first and delivery.id % 10 == 0:
        watch.leave(delivery, finished=False)
        delivery.retry_after(connection, timedelta(milliseconds=20))
    else:
        watch.leave(delivery, finished=True)
        delivery.ack(connection)


def _ids_after(stand: Stand, last: int) -> None:
    """Let generated ids begin after those that were filled in."""
    if stand.dialect == "postgres":
        stand.database.execute(f'ALTER TABLE "jobs" ALTER "id" RESTART WITH {last + 1}')
