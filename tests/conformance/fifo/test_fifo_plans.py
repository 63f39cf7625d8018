"""What the statements of FIFO groups read and lock, with 100,000 rows in 1,000 groups."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlclaimgen.runtime.driving import session_of
from sqlclaimgen.runtime.placeholders import pyformat
from sqlclaimgen.runtime.protocols.scope import TABLE, group
from sqlclaimgen.runtime.steps import Commit
from tests.conformance.fifo.fifo_cases import (
    LEASE,
    ROW_LOCK,
    claiming,
    due,
    edited,
    ids,
    nullable,
)
from tests.conformance.harness import Stand, on_cases

GROUPS, ROWS, WINDOW = 1000, 100_000, 40
STATEMENTS = ("walk_first", "walk", "claim", "claim_table")


def fill(stand: Stand) -> None:
    """Every group has a hundred rows that wait and some finished ones; half have one in work."""
    now = datetime.now(UTC)
    lease = stand.module.QUEUE.form == "lease"

    def row(n: int) -> dict[str, Any]:
        made: dict[str, Any] = {
            "queue": f"g{n % GROUPS:04}",
            "priority": 0,
            "run_after": now - timedelta(minutes=1),
        }
        if stand.table.keeps_finished:
            made["processed_at"] = now if n >= ROWS else None
        if lease:
            busy = n < GROUPS and n % 2
            made["locked_until"] = now + timedelta(hours=1) if busy else None
        return made

    kept = 10_000 if stand.table.keeps_finished else 0
    stand.fill(row(n) for n in range(ROWS + kept))
    analyze = {"postgres": 'VACUUM ANALYZE "jobs"', "sqlite": "ANALYZE"}
    stand.database.execute(analyze.get(stand.dialect, "ANALYZE TABLE jobs"))


def parameters(stand: Stand) -> Mapping[str, Any]:
    """What each of the statements is given."""
    now = datetime.now(UTC)
    return {
        "now": stand.codec.time(now),
        "locked_until": stand.codec.time(now + timedelta(minutes=1)),
        "after": "g0100",
        "until": "g0050",
        "window": WINDOW,
        "limit": 10,
        "group": "g0700",
        **stand.codec.set_aside([3, 5]),
        **stand.codec.groups([f"g{n:04}" for n in range(200, 220)]),
    }


_KEPT = 'processed_at = { role = "processed_at" }'
EVERY = (
    nullable(LEASE),
    due(LEASE),
    ROW_LOCK,
    # one index serves two of these on MySQL and MariaDB
    edited(nullable(LEASE), "lease-null-deleted", (_KEPT, "")),
    edited(
        nullable(ROW_LOCK),
        "row-lock-null-due-deleted",
        (_KEPT, ""),
        ("fifo = true", 'fifo = "due"'),
    ),
)
INNODB = ("mysql", "mariadb")


@on_cases(*(case.with_(dialects=INNODB) for case in EVERY))
def test_what_is_read_and_locked_on_mysql_and_mariadb(stand: Stand) -> None:
    fill(stand)
    session = session_of(stand.connect(autocommit=True), table="jobs")
    given = dict(parameters(stand))
    for name in STATEMENTS:
        session.run("FLUSH STATUS", {})
        session.run(stand.sql[name], given)
        status = session.run("SHOW SESSION STATUS LIKE 'Handler_read%'", {})
        read = sum(int(value) for _, value in status.rows)
        # a few entries for each group that is looked at, and none for the rows behind the head
        assert read <= {"claim": 10}.get(name, 10 * WINDOW), (name, dict(status.rows))
    # MariaDB reads the index by steps without being told the order: groups take turns by it
    seen: list[str] = []
    for name in ("walk_first", *["walk"] * (GROUPS // WINDOW)):
        seen += [row[0] for row in session.run(stand.sql[name], given).rows]
        given["after"] = seen[-1]
    assert seen == [f"g{n:04}" for n in range(GROUPS)]
    locks(stand)


def locks(stand: Stand) -> None:
    """No row is locked that is not taken."""
    for scope, most in ((group("g0700"), 1), (TABLE, 10)):
        claim = claiming(stand, scope, 10)
        if stand.module.QUEUE.form == "lease":
            claim.stop_before(Commit)
        else:
            assert len(ids(claim)) == most
        assert len(stand.database.locked_rows("jobs", "id")) == most
        if stand.dialect in INNODB:
            session = stand.database.session_id(claim.connection)
            counts: Any = stand.database
            assert counts.innodb_lock_counts()[session] <= most + 1
        claim.session.rollback()
        claim.connection.close()


@on_cases(*(case.with_(dialects=("postgres",)) for case in EVERY))
def test_what_is_read_and_locked_on_postgres(stand: Stand) -> None:
    fill(stand)
    connection = stand.connect()
    cursor = connection.cursor()
    given = parameters(stand)
    for name in STATEMENTS:
        explain = "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) "
        cursor.execute(explain + pyformat(stand.sql[name]), given)
        (plan,) = cursor.fetchone()[0]
        connection.rollback()
        text = json.dumps(plan)
        assert '"Seq Scan"' not in text, (name, text)
        for node in _nodes(plan["Plan"]):
            if node["Node Type"] == "Sort":
                assert node["Actual Rows"] <= WINDOW, (name, node)
        blocks = plan["Plan"]["Shared Hit Blocks"] + plan["Plan"]["Shared Read Blocks"]
        assert blocks <= 30 * WINDOW, (name, blocks)
    locks(stand)


def _nodes(plan: Any) -> list[Any]:
    return [plan, *(node for inner in plan.get("Plans", ()) for node in _nodes(inner))]


@on_cases(*(case.with_(dialects=("sqlite",)) for case in EVERY if case.name.startswith("lease")))
def test_plans_on_sqlite(stand: Stand) -> None:
    fill(stand)
    for name in STATEMENTS:
        lines = stand.database.explain(_sqlite(stand.sql[name]), dict(parameters(stand)))
        for line in lines:
            # the first group of a walk is the first entry of the index
            assert not re.match(r"SCAN (jobs|t|y|b|h)\b(?! USING (COVERING )?INDEX)", line), (
                name,
                lines,
            )
        sorts = [line for line in lines if "TEMP B-TREE" in line]
        assert len(sorts) <= (1 if name.startswith("walk") else 0), (name, lines)


def _sqlite(sql: str) -> str:
    return re.sub(r":(\w+)", r"%(\1)s", sql)
