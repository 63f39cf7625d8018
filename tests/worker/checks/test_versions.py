"""A server that is too old is named, with the version it needs: WC-12 of the fault catalogue."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from sqlclaimgen.dialects import DIALECTS
from sqlclaimgen.runtime.drivers.servers import SERVERS
from sqlclaimgen.runtime.errors import ServerTooOld
from sqlclaimgen.runtime.worker.checks import setup
from sqlclaimgen.runtime.worker.faces import Worker
from tests.conformance.harness import Stand, on_cases
from tests.worker.checks.looking import LEASE, Looking, answer


@dataclasses.dataclass
class _Queue:
    table: str = "app.jobs"
    fifo: str | None = None


def _look(dialect: str, version: str) -> None:
    queue: Any = _Queue()
    answer(setup.version(queue, SERVERS[dialect]), {"version": [(version,)]})


OLD = [
    ("postgres", "10.23 (Debian 10.23-1.pgdg120+1)"),
    ("postgres", "9.6.24"),
    ("mysql", "5.7.44-log"),
    ("mysql", "8.0.0-dmr"),
    ("mariadb", "10.5.29-MariaDB-0+deb11u1"),
    ("mariadb", "5.5.5-10.5.8-MariaDB"),
    ("sqlite", "3.34.1"),
]
NEW = [
    ("postgres", "11.0"),
    ("postgres", "15.18 (Debian 15.18-0+deb12u1)"),
    ("postgres", "19beta1"),
    ("mysql", "8.0.1-dmr"),
    ("mysql", "8.0.36-28.1"),
    ("mysql", "9.7.4-2"),
    ("mariadb", "10.6.0-MariaDB"),
    ("mariadb", "5.5.5-10.11.19-MariaDB-0+deb12u1"),
    ("sqlite", "3.35.0"),
    ("sqlite", "3.40.1"),
]


@pytest.mark.parametrize(("dialect", "version"), OLD)
def test_too_old(dialect: str, version: str) -> None:
    with pytest.raises(ServerTooOld) as refused:
        _look(dialect, version)
    text = str(refused.value)
    assert refused.value.table == "app.jobs"
    assert f"{DIALECTS[dialect].title} {version}" in text
    assert f"need {DIALECTS[dialect].floor} or newer ({SERVERS[dialect].needs})" in text
    assert "Upgrade the server" in text


@pytest.mark.parametrize(("dialect", "version"), NEW)
def test_new_enough(dialect: str, version: str) -> None:
    _look(dialect, version)


def test_the_runtime_and_the_generator_know_the_same_floors() -> None:
    assert SERVERS.keys() == DIALECTS.keys()
    for dialect, server in SERVERS.items():
        assert ".".join(map(str, server.floor)) == DIALECTS[dialect].floor
        assert server.title == DIALECTS[dialect].title
        assert server.notifies == bool(DIALECTS[dialect].notify)


@on_cases(LEASE)
def test_no_row_is_claimed_on_a_server_that_is_too_old(
    stand: Stand, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand.enqueue([{"size": 1}])
    monkeypatch.setattr(type(SERVERS[stand.dialect]), "floor", (99,))
    worker = Worker(stand.module.QUEUE, _never, connect=stand.database.connect)
    with pytest.raises(ServerTooOld, match="need 99 or newer"):
        worker.run()
    assert [row["locked_until"] for row in stand.rows()] == [None]
    stand.database.wait_until_idle()


@on_cases(LEASE)
def test_the_running_servers_are_new_enough(looking: Looking) -> None:
    looking()
    assert looking.events == []


def _never(delivery: Any) -> None:
    raise AssertionError("no row is to be handed out")


def test_fifo_groups_need_a_newer_one() -> None:
    queue: Any = _Queue(fifo="strict")
    too_old = {"version": [("8.0.3-rc",)]}
    with pytest.raises(ServerTooOld, match=r"FIFO groups need 8\.0\.4 or newer \(JSON_TABLE\)"):
        answer(setup.version(queue, SERVERS["mysql"]), too_old)
    answer(setup.version(queue, SERVERS["mysql"]), {"version": [("8.0.4",)]})
    answer(setup.version(queue, SERVERS["mariadb"]), {"version": [("10.6.0-MariaDB",)]})
