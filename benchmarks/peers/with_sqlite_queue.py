"""Queues on SQLite: `with_sqlite_queue.py FILE ROWS huey|litequeue|persist-queue`.

One consumer each. Commits are flushed (`synchronous = FULL`), also where the queue by itself would not.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

PAYLOAD = "x" * 64


def huey(file: Path, rows: int) -> tuple[float, int]:
    from huey import SqliteHuey

    queue = SqliteHuey(filename=str(file), fsync=True, results=False)

    @queue.task()
    def work(payload: str) -> None:
        pass

    for _ in range(rows):
        work(PAYLOAD)
    started = time.perf_counter()
    while (task := queue.dequeue()) is not None:
        queue.execute(task)
    return time.perf_counter() - started, len(queue)


def litequeue(file: Path, rows: int) -> tuple[float, int]:
    from litequeue import LiteQueue

    queue = LiteQueue(str(file))
    queue.conn.execute("PRAGMA synchronous = FULL")
    with queue.transaction():
        for _ in range(rows):
            queue.put(PAYLOAD)
    started = time.perf_counter()
    while (message := queue.pop()) is not None:
        queue.done(message.message_id)
    seconds = time.perf_counter() - started
    # a finished message stays, with its time
    [left] = queue.conn.execute(
        f"SELECT COUNT(*) FROM {queue.table} WHERE done_time IS NULL"
    ).fetchone()
    return seconds, int(left)


def persist_queue(file: Path, rows: int) -> tuple[float, int]:
    from persistqueue import Empty, SQLiteAckQueue

    queue = SQLiteAckQueue(str(file.parent), db_file_name=file.name)
    for _ in range(rows):
        queue.put(PAYLOAD)
    started = time.perf_counter()
    while True:
        try:
            item = queue.get(block=False)
        except Empty:
            break
        queue.ack(item)
    seconds = time.perf_counter() - started
    # an item that was acknowledged stays until it is cleared
    return seconds, queue.ready_count() + queue.unack_count()


QUEUES = {"huey": huey, "litequeue": litequeue, "persist-queue": persist_queue}

seconds, left = QUEUES[sys.argv[3]](Path(sys.argv[1]), int(sys.argv[2]))
print(json.dumps({"seconds": seconds, "left": left}))
