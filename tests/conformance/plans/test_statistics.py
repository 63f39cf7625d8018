"""Statistics of MySQL and MariaDB that are fresh, wrong or missing: plans and results stay the same."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest

from sqlclaimgen.runtime.driving import session_of
from sqlclaimgen.statements.model import Statement
from tests.conformance.harness import unforced
from tests.conformance.plans import switches
from tests.conformance.plans.crowd import Crowd, crowd, numbers
from tests.conformance.plans.judge import explained_by_innodb, faults
from tests.servers import Database, ServerPark

_ROWS, _DISTINCT = "UPDATE mysql.innodb_table_stats SET", "UPDATE mysql.innodb_index_stats SET"
_HERE = "WHERE database_name = DATABASE() AND table_name = 'jobs'"
_KEY = f"{_HERE} AND index_name = 'PRIMARY'"
_OTHERS = f"{_HERE} AND index_name <> 'PRIMARY' AND stat_name LIKE 'n_diff%'"

STATISTICS: Mapping[str, Sequence[str]] = {
    "fresh": (),
    "of an empty table": (
        f"{_ROWS} n_rows = 0, clustered_index_size = 1, sum_of_other_index_sizes = 1 {_HERE}",
        f"{_DISTINCT} stat_value = 0 {_HERE}",
    ),
    "of ten million rows, all in one group": (
        f"{_ROWS} n_rows = 10000000, clustered_index_size = 1, sum_of_other_index_sizes = 900000 {_HERE}",
        f"{_DISTINCT} stat_value = 10000000 {_KEY}",
        f"{_DISTINCT} stat_value = 1 {_OTHERS}",
    ),
    "of ten million rows, each in a group of its own": (
        f"{_ROWS} n_rows = 10000000, clustered_index_size = 1, sum_of_other_index_sizes = 900000 {_HERE}",
        f"{_DISTINCT} stat_value = 10000000 {_KEY}",
        f"{_DISTINCT} stat_value = 10000000 {_OTHERS}",
    ),
    "missing": (
        f"DELETE FROM mysql.innodb_table_stats {_HERE}",
        f"DELETE FROM mysql.innodb_index_stats {_HERE}",
    ),
}
"""What is done to the statistics of a table that was analyzed."""

BOUNDED = ("fresh", "of ten million rows, all in one group", "missing")
"""Where a statement reads little on MySQL too. A hint names the index, not how it is read: with the other
statistics MySQL may read that index from its start, or each entry of a group."""

_BASE = {
    "form": "lease",
    "group": "group",
    "claims": "both",
    "priority": "no",
    "retry_after": "yes",
    "finished": "processed_at",
    "dead letter": "attempt",
    "where": "no",
    "dedupe": "no",
}
CHOICES: Mapping[str, switches.Choice] = {
    "lease": _BASE,
    "priorities": {**_BASE, "form": "row_lock", "priority": "yes"},
    "fifo": {**_BASE, "group": "fifo", "retry_after": "no"},
    "fifo row lock": {**_BASE, "form": "row_lock", "group": "fifo nullable"},
}


@pytest.fixture(scope="module", params=("mysql", "mariadb"))
def place(request: pytest.FixtureRequest, servers: ServerPark) -> Iterator[Database]:
    with servers[request.param].database() as database:
        numbers(database)
        yield database


def filled(place: Database, choice: switches.Choice) -> Crowd:
    table = switches.table(choice)
    assert table is not None
    made = crowd(place, table)
    place.execute("ALTER TABLE jobs STATS_PERSISTENT = 1, STATS_AUTO_RECALC = 0")
    return made


def replaced(place: Database, edits: Sequence[str]) -> None:
    """The statistics as they were gathered, then edited, and read again by the server."""
    place.execute("ANALYZE TABLE jobs")
    for edit in edits:
        place.execute(edit)
    place.execute("FLUSH TABLE jobs")


def looking(made: Crowd) -> list[Statement]:
    """The statements that find rows in an order."""
    starts = ("claim", "walk", "due_priorities", "probe")
    return [s for s in made.plan.statements if s.name.startswith(starts) and "_write" not in s.name]


def carried_out(made: Crowd, statement: Statement) -> tuple[Any, Any]:
    """The indexes of its plan, and what it returns."""
    given = made.parameters(statement.name, 10)
    used = {p.name: given[p.name] for p in statement.parameters}
    session = session_of(made.connection, table="jobs")
    session.begin("read committed")
    lines = explained_by_innodb(made, statement, used)
    rows = session.run(statement.text, used).rows
    session.rollback()
    return [(line["table"], line["key"]) for line in lines], rows


@pytest.mark.parametrize("name", CHOICES)
def test_plans_and_results_stay_the_same(place: Database, name: str) -> None:
    made = filled(place, CHOICES[name])
    wanted: dict[str, tuple[Any, Any]] = {}
    for said, edits in STATISTICS.items():
        replaced(place, edits)
        for statement in looking(made):
            if said in BOUNDED or place.dialect == "mariadb":
                assert not list(faults(made, statement, 10)), (said, statement.name)
            plan, rows = carried_out(made, statement)
            first, same = wanted.setdefault(statement.name, (plan, rows))
            assert plan == first, (said, statement.name)
            assert rows == same, (said, statement.name)
    assert any(rows for _, rows in wanted.values())
    made.connection.close()


def test_statements_that_name_no_index_are_found_out(place: Database) -> None:
    """The twin: without the names, statistics make a walk through the groups read too much."""
    condemned: set[str] = set()
    for name in ("fifo", "fifo row lock"):
        made = filled(place, CHOICES[name])
        replaced(place, STATISTICS["of ten million rows, all in one group"])
        for statement in looking(made):
            loose = dataclasses.replace(statement, text=unforced(statement.text))
            if list(faults(made, loose, 10)):
                condemned.add(statement.name)
        made.connection.close()
    assert {"walk", "walk_first"} <= condemned
