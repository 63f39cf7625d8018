"""Processes that are killed, servers that are restarted: every row has its effect once, groups in order."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from tests.conformance.harness import Stand, on_cases
from tests.worker.held.cases import ADVISORY, FIFO_LEASE, FIFO_ROW_LOCK, ROW_LOCK, SERVERS
from tests.worker.lease import test_processes
from tests.worker.support.process import HISTORY

# a group whose holder was killed waits for the end of its lease
SHORT_FIFO = FIFO_LEASE.with_(
    name="short-fifo-lease", body=FIFO_LEASE.body.replace('"60s"', '"2s"')
)

# SQLite keeps keys in the process, and says so: one process works on such a table
CASES = on_cases(ROW_LOCK, ADVISORY.with_(dialects=SERVERS), FIFO_ROW_LOCK, SHORT_FIFO)
FEW = on_cases(
    ROW_LOCK.with_(dialects=["postgres"]),
    ADVISORY.with_(dialects=["mysql"]),
    FIFO_ROW_LOCK.with_(dialects=["mariadb"]),
    SHORT_FIFO.with_(dialects=["postgres", "sqlite"]),
)

NUMBERED = {"postgres": "seq BIGSERIAL", "mysql": "seq BIGINT AUTO_INCREMENT UNIQUE"}
NUMBERED["mariadb"] = NUMBERED["mysql"]
NUMBERED["sqlite"] = "seq INTEGER PRIMARY KEY"


@FEW
def test_processes_killed_and_a_server_restarted(stand: Stand, tmp_path: Path) -> None:
    battle(stand, tmp_path, rows=120, workers=3, kills=2, restarts=1, pause=0.3)


@pytest.mark.soak
@CASES
def test_eight_processes_one_killed_each_second(stand: Stand, tmp_path: Path) -> None:
    battle(stand, tmp_path, rows=5000, workers=8, kills=1000, restarts=2, pause=1.0)


def battle(stand: Stand, folder: Path, **numbers: Any) -> None:
    fill = stand.fill
    fifo = stand.module.QUEUE.fifo is not None

    def spread(rows: Iterable[Mapping[str, Any]]) -> None:
        """Twenty groups, or keys."""
        name = "queue" if fifo else "account"
        fill([{"id": row["id"], name: f"k{row['id'] % 20}"} for row in rows])

    history = HISTORY.replace("(job", f"({NUMBERED[stand.dialect]}, job")
    with (
        mock.patch.object(stand, "fill", spread),
        mock.patch.object(test_processes, "HISTORY", history),
    ):
        test_processes.battle(stand, folder, **numbers)
    if fifo:
        groups: dict[int, list[int]] = defaultdict(list)
        for (job,) in stand.database.execute("SELECT job FROM history ORDER BY seq"):
            groups[job % 20].append(job)
        assert all(jobs == sorted(jobs) for jobs in groups.values()), "a row overtook another one"
