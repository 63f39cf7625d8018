"""Three rows, each with an outcome of its own, worked by workers whose sessions die; and what must hold."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from sqlclaimgen.runtime import EventKind
from tests.conformance.harness import Stand
from tests.worker.held.cases import is_advisory
from tests.worker.support.injecting import Injector, Strike, dying, injected
from tests.worker.support.process import HISTORY
from tests.worker.support.running import Log, OnThread, worker_of


class Rows:
    """One row is acked, one comes back once and is discarded then, one becomes a dead letter."""

    def __init__(self, stand: Stand) -> None:
        self.stand = stand
        stand.database.execute("DELETE FROM jobs")
        stand.database.execute("DELETE FROM jobs_dead")
        stand.database.execute("DELETE FROM history")
        keys = [{"account": "x"}, {"account": "x"}, {"account": "y"}]
        self.ids = stand.enqueue(
            [
                {"payload": what, **key}
                for what, key in zip(("ack", "back", "dead"), keys, strict=True)
            ]
        )

    def outcome(self, delivery: Any) -> Any:
        """What the handler returns."""
        module = self.stand.module
        match delivery.row.payload:
            case "ack":
                return None
            case "back" if delivery.attempt == 1:
                return module.Retry("once more")
            case "back":
                return module.Discard()
            case _:
                return module.DeadLetter("nobody wants it")

    def handle(self, delivery: Any, connection: Any = None) -> Any:
        """The handler. A transactional one writes what it does into the history."""
        if connection is not None:
            connection.cursor().execute(_line(delivery))
        return self.outcome(delivery)

    async def handle_async(self, delivery: Any, connection: Any = None) -> Any:
        """The same for an asyncio connection."""
        if connection is not None:
            await connection.execute(_line(delivery))
        return self.outcome(delivery)

    def check(self, logs: Sequence[Log], where: object, *, transactional: bool) -> None:
        """No row is lost, none is settled twice, attempts are counted as stated, effects are there once."""
        stand = self.stand
        ack, back, dead = self.ids
        events = [event for log in logs for event in log.events]
        story = f"{where}: " + "; ".join(
            f"{e.kind.value} {e.id} {e.attempt} {e.outcome or ''} {e.error or ''}" for e in events
        )
        assert stand.count == 0, story
        assert [row["id"] for row in stand.rows(dead=True)] == [dead], story
        settled = Counter((e.id, e.outcome) for e in events if e.kind is EventKind.SETTLED)
        assert set(settled.values()) <= {1}, story
        assert sum(e.kind is EventKind.UNKNOWN for e in events) <= 1, story
        deliveries = [(e.id, e.attempt) for e in events if e.kind is EventKind.STARTED]
        assert {id for id, _ in deliveries} == {ack, back, dead}, story
        if is_advisory(stand.case):
            # each take counts, whatever becomes of it
            assert len(deliveries) == len(set(deliveries)), story
        else:
            # nothing counts but the settlement that returned the row
            assert set(deliveries) <= {(ack, 1), (back, 1), (back, 2), (dead, 1)}, story
        for id in self.ids:
            numbers = [attempt or 0 for one, attempt in deliveries if one == id]
            assert numbers == sorted(numbers), story
        if transactional:
            effects = Counter(row[0] for row in stand.database.execute("SELECT job FROM history"))
            assert effects == {ack: 1, back: 1}, story


def _line(delivery: Any) -> str:
    return f"INSERT INTO history (job, attempt, pid) VALUES ({delivery.id}, {delivery.attempt}, 0)"


def prepare(stand: Stand) -> None:
    """What a run needs beside the table."""
    stand.database.execute(HISTORY)


def once(
    stand: Stand,
    strike: Strike | None,
    *,
    face: str = "blocking",
    transactional: bool = False,
    process: bool = False,
) -> Injector:
    """One run with one strike. `process`: the whole process dies there, and a second one finishes;
    else only the session does, and the same worker goes on."""
    rows = Rows(stand)
    logs = [Log()]
    options: Mapping[str, Any] = {
        "concurrency": 2,
        "poll_interval": 0.02,
        "transactional": transactional,
    }
    handle = rows.handle_async if face == "native" and transactional else rows.handle
    worker = worker_of(face, stand, handle, on_event=logs[0], **options)
    if handle == rows.handle_async:
        worker._handler = handle

    def die() -> None:
        worker.stop()
        worker.stop()

    injector = Injector(stand.database, strike, process=process, on_strike=die if process else None)
    with dying() if process else contextlib.nullcontext(), injected(injector):
        running = OnThread(worker, until="empty")
        try:
            running.join(60)
        except Exception:
            if not (process and injector.struck):
                raise
    if process:
        logs.append(Log())
        second = worker_of("blocking", stand, rows.handle, on_event=logs[1], **options)
        OnThread(second, until="empty").join(60)
    rows.check(logs, strike, transactional=transactional)
    return injector


def struck_everywhere(
    stand: Stand, *, process: bool, transactional: bool, most: int, face: str = "blocking"
) -> set[tuple[str, bool]]:
    """A run for a strike before and after each of the first `most` times a statement is sent. Returns
    the statements that were struck."""
    prepare(stand)
    options: Mapping[str, Any] = {"process": process, "transactional": transactional, "face": face}
    struck: set[tuple[str, bool]] = set()
    for strike in once(stand, None, **{**options, "process": False}).strikes():
        if strike.number < most and once(stand, strike, **options).struck:
            struck.add((strike.statement, strike.after))
    return struck
