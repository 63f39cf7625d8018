"""The rights that a table's page lists: they suffice, and a worker's login that lacks one is told."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest

from sqlclaimgen.rendering.grants import grants
from sqlclaimgen.runtime import EventKind, Worker
from sqlclaimgen.runtime.errors import ServerUnfit
from tests.conformance.harness import Stand, on_cases
from tests.worker.checks.looking import ADVISORY, FIFO, LEASE, ROW_LOCK, Looking

SERVERS = ("postgres", "mysql", "mariadb")
SERVED = [case.with_(dialects=SERVERS) for case in (LEASE, ROW_LOCK, ADVISORY, FIFO)]

Login = Callable[[str], Callable[[], Any]]


@pytest.fixture
def login(stand: Stand) -> Iterator[Login]:
    """Makes a login with the rights of one kind, and returns how to connect as it."""
    made: list[str] = []
    run = stand.database.execute

    def make(kind: str) -> Callable[[], Any]:
        name = f"{stand.database.name}_{kind}"
        server = "" if stand.dialect == "postgres" else "@'%'"
        run(f"CREATE {'ROLE' if not server else 'USER'} {name}{server}{'' if server else ' LOGIN'}")
        made.append(f"{name}{server}")
        given = next(grant for grant in grants(stand.table) if grant.login == kind)
        for rights, table in ((given.work, "jobs"), (given.dead, "jobs_dead")):
            if rights:
                run(f"GRANT {rights} ON {table} TO {name}{server}")
        return lambda: stand.connect(user=name)

    yield make
    for name in made:
        if stand.dialect == "postgres":
            run(f"DROP OWNED BY {name}")
        run(f"DROP {'ROLE' if stand.dialect == 'postgres' else 'USER'} {name}")


def new(stand: Stand) -> dict[str, Any]:
    """A row of the case."""
    row: dict[str, Any] = {"account": 1} if stand.case.name == "advisory" else {"size": 1}
    return {**row, "queue": "a"} if stand.case.name == "fifo" else row


@on_cases(*SERVED)
def test_the_rights_of_the_page_suffice(stand: Stand, login: Login) -> None:
    module: Any = stand.module
    events: list[Any] = []
    producer = login("producers")()
    module.enqueue_many(producer, [module.New(**new(stand)) for _ in range(3)])
    producer.commit()
    group = ["a"] if stand.case.name == "fifo" else None
    lives: dict[Any, int] = {}

    def handle(delivery: Any) -> Any:
        lives[delivery.id] = lives.get(delivery.id, 0) + 1
        if delivery.id == 1:
            return None
        if delivery.id == 2 and stand.case.name == "lease":
            return module.DeadLetter("by hand")
        return module.Retry("again") if lives[delivery.id] == 1 else None

    worker = Worker(
        module.QUEUE,
        handle,
        connect=login("workers"),
        groups=group,
        on_event=events.append,
        concurrency=1,
    )
    worker.run(until="empty")
    troubles = {EventKind.WARNED, EventKind.DISCONNECTED, EventKind.FAILED, EventKind.UNSETTLED}
    assert not [event for event in events if event.kind in troubles]
    operator = login("operators")()
    if stand.case.name == "lease":
        assert stand.module.redrive(operator, ids=[2]) == [2]
        operator.commit()
        assert stand.unfinished == 1
    else:
        assert stand.unfinished == 0
    scope: dict[str, Any] = {"group": "a"} if group else {}
    assert stand.module.stats(operator, **scope).due.value == stand.unfinished
    if hasattr(stand.module, "purge"):
        stand.module.purge(operator, older_than=timedelta(0))


@on_cases(*SERVED)
def test_a_right_that_a_workers_login_lacks_is_named(looking: Looking, login: Login) -> None:
    group = ["a"] if looking.stand.case.name == "fifo" else None
    with pytest.raises(ServerUnfit) as refused:
        looking(connect=login("producers"), groups=group)
    assert refused.value.setting == "GRANT"
    assert "may not run the statement" in str(refused.value)


@on_cases(SERVED[0])
def test_a_right_on_the_dead_letters_is_named(looking: Looking, login: Login) -> None:
    connect = login("workers")
    name = f"{looking.stand.database.name}_workers"
    server = "" if looking.stand.dialect == "postgres" else "@'%'"
    looking(connect=connect)
    looking.stand.database.execute(f"REVOKE INSERT ON jobs_dead FROM {name}{server}")
    with pytest.raises(ServerUnfit, match="jobs_dead"):
        looking(connect=connect)
