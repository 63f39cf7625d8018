"""The peers as contenders: each run has a database of its own and a process of its own."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from benchmarks.case import RATE, Contender, Figures, Kind
from benchmarks.park import Park
from benchmarks.peers import environment
from tests.servers import Database, SQLiteDatabase

_HERE = Path(__file__).parent


class PeerFailed(Exception):
    """A peer's script ended with an error; the text is the end of what it printed."""


class Peer:
    """One script with its arguments, in a new database for each run."""

    def __init__(
        self, script: str, database: Callable[[], AbstractContextManager[Database]], *arguments: str
    ) -> None:
        self._script = _HERE / script
        self._database = database
        self._arguments = arguments
        self._left = 0

    def run(self, rows: int) -> Figures:
        """Run the script. Raises PeerFailed."""
        with self._database() as database:
            place = database.path if isinstance(database, SQLiteDatabase) else database.dsn
            # -P: the script's own folder is no place for modules
            command = [environment.python(), "-P", self._script, place, rows, *self._arguments]
            done = subprocess.run(
                [str(word) for word in command],
                capture_output=True,
                text=True,
                timeout=600,
                check=False,
            )
        if done.returncode:
            raise PeerFailed("\n".join((done.stderr or done.stdout).strip().splitlines()[-3:]))
        answer = json.loads(done.stdout.strip().splitlines()[-1])
        self._left = int(answer["left"])
        return {RATE: rows / float(answer["seconds"])}

    def left(self) -> int:
        """What the script counted in its queue at the end."""
        return self._left

    def contender(self, name: str, package: str, share: float) -> Contender:
        """The peer as a contender; missing where its package cannot be installed."""
        return Contender(
            kind=Kind.PEER,
            name=name,
            run=self.run,
            left=self.left,
            share=share,
            missing=environment.why_missing(package),
        )


def on_postgres(park: Park, concurrency: int) -> tuple[Contender, ...]:
    """PgQueuer over both of its drivers, procrastinate."""
    database = park.server("postgres").database
    size = str(concurrency)
    return (
        Peer("with_pgqueuer.py", database, "asyncpg", size).contender(
            "PgQueuer (asyncpg)", "pgqueuer", 0.5
        ),
        Peer("with_pgqueuer.py", database, "psycopg", size).contender(
            "PgQueuer (psycopg)", "pgqueuer", 0.2
        ),
        Peer("with_procrastinate.py", database, size).contender(
            "procrastinate", "procrastinate", 0.05
        ),
    )


def on_sqlite(park: Park) -> tuple[Contender, ...]:
    """huey, litequeue, persist-queue, each with one consumer and commits that are flushed."""
    database = park.server("sqlite").database
    return tuple(
        Peer("with_sqlite_queue.py", database, name).contender(name, name, 0.2)
        for name in ("huey", "litequeue", "persist-queue")
    )
