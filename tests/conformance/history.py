"""What happened to every delivery of a run, and what must hold of it in every form.

The checks are those of DESIGN.md, section 3. Each raises `Violation`, so that a test can say
`with pytest.raises(Violation)` of a twin that is broken on purpose.
"""

from __future__ import annotations

import itertools
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any


class Violation(AssertionError):
    """An invariant does not hold of what was recorded."""


@dataclass(slots=True)
class Record:
    """One delivery. `start` and `end` are numbers of one common order, not seconds; `settled` names
    the outcome whose settlement returned (and committed), None: there was none."""

    worker: Hashable
    id: Any
    attempt: int
    start: int
    row: Any = None
    end: int | None = None
    settled: str | None = None
    lost: bool = False


class History:
    """Deliveries as workers report them, from any number of threads."""

    def __init__(self) -> None:
        self.records: list[Record] = []
        self.claims: Counter[Hashable] = Counter()
        """Claims that have returned, by worker, empty ones included."""
        self.settled = 0
        """Settlements that have returned."""
        self._seen: dict[Hashable, int] = {}
        self._tick = itertools.count(1)
        self._changed = threading.Condition()

    def claimed(self, worker: Hashable) -> None:
        """A claim of `worker` has returned."""
        with self._changed:
            self.claims[worker] += 1
            self._seen[worker] = self._rivals(worker)
            self._changed.notify_all()

    def begin(self, worker: Hashable, delivery: Any) -> Record:
        """The work on a delivery begins."""
        with self._changed:
            record = Record(worker, delivery.id, delivery.number, next(self._tick), delivery.row)
            self.records.append(record)
            return record

    def end(self, record: Record, settled: str | None, *, lost: bool = False) -> None:
        """The work on a delivery is over: its settlement has returned, or it was lost or left."""
        with self._changed:
            record.end = next(self._tick)
            record.settled, record.lost = settled, lost
            self.settled += settled is not None
            self._changed.notify_all()

    @contextmanager
    def of(self, worker: Hashable, delivery: Any, outcome: str = "ack") -> Iterator[Record]:
        """A delivery whose settlement is the last thing of the block; nothing settled if it raises."""
        record = self.begin(worker, delivery)
        try:
            yield record
        except BaseException:
            self.end(record, None, lost=bool(delivery.lost))
            raise
        self.end(record, outcome)

    def wait_for_rival(self, worker: Hashable, timeout: float = 0.05) -> None:
        """Work that takes longer than a claim: until a rival's claim has returned since the last one of
        `worker`, or `timeout` seconds have passed because there is no rival left."""
        with self._changed:
            self._changed.wait_for(lambda: self._rivals(worker) > self._seen[worker], timeout)

    def wait_for_change(self, timeout: float = 0.02) -> None:
        """Until anything is recorded, at most `timeout` seconds: the pause after an empty claim."""
        with self._changed:
            self._changed.wait(timeout)

    def _rivals(self, worker: Hashable) -> int:
        return sum(n for who, n in self.claims.items() if who != worker)

    # -- what must hold ----------------------------------------------------------------------------

    def check_each_once(self, ids: Iterable[Any]) -> None:
        """Every row was delivered once and settled once, and no other row was."""
        delivered = Counter(record.id for record in self.records)
        settled = Counter(record.id for record in self.records if record.settled)
        wanted = Counter(ids)
        _same(delivered, wanted, "delivered")
        _same(settled, wanted, "settled")

    def check_settled_once(self) -> None:
        """No row was finished twice."""
        finished = Counter(
            record.id
            for record in self.records
            if record.settled in ("ack", "discard", "dead_letter")
        )
        twice = [id for id, n in finished.items() if n > 1]
        if twice:
            raise Violation(f"finished more than once: {twice[:10]}")

    def check_attempts(self) -> None:
        """No row was delivered twice with the same attempt. A delivery that was released gave its own
        back."""
        seen = Counter(
            (record.id, record.attempt) for record in self.records if record.settled != "release"
        )
        twice = [pair for pair, n in seen.items() if n > 1]
        if twice:
            raise Violation(f"(id, attempt) delivered more than once: {twice[:10]}")

    def check_no_overlap(self) -> None:
        """Two deliveries of a row were in work at once only after the first was lost, and then not
        both settled."""
        for first, second in self._overlaps(lambda record: record.id):
            if not first.lost and not second.lost:
                raise Violation(f"in work at once: {first} and {second}")
            if first.settled and second.settled:
                raise Violation(f"both settled: {first} and {second}")

    def check_exclusive(self, key: Callable[[Record], Hashable]) -> None:
        """No two deliveries with the same key (a FIFO group, an advisory key) were in work at once. A
        key of None stands alone."""
        for first, second in self._overlaps(key):
            raise Violation(f"of one key at once: {first} and {second}")

    def check_order(
        self, key: Callable[[Record], Hashable], order: Callable[[Record], Any]
    ) -> None:
        """The settled deliveries of each key began in the order that `order` gives."""
        groups: dict[Hashable, list[Record]] = defaultdict(list)
        for record in sorted(self.records, key=lambda record: record.start):
            if record.settled and key(record) is not None:
                groups[key(record)].append(record)
        for name, records in groups.items():
            got = [order(record) for record in records]
            if got != sorted(got):
                raise Violation(f"{name!r} out of order: {got}")

    def _overlaps(self, key: Callable[[Record], Hashable]) -> Iterator[tuple[Record, Record]]:
        groups: dict[Hashable, list[Record]] = defaultdict(list)
        for record in self.records:
            if key(record) is not None:
                groups[key(record)].append(record)
        for records in groups.values():
            records.sort(key=lambda record: record.start)
            for n, first in enumerate(records):
                for second in records[n + 1 :]:
                    if first.end is None or second.start < first.end:
                        yield first, second


def _same(got: Counter[Any], wanted: Counter[Any], what: str) -> None:
    if got == wanted:
        return
    more = dict(itertools.islice((got - wanted).items(), 10))
    fewer = dict(itertools.islice((wanted - got).items(), 10))
    raise Violation(f"{what}: too often {more}, not or too rarely {fewer}")
