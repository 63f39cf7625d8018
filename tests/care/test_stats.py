"""What stats counts, that its counts stop, and that none of its statements reads a table through."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from sqlclaimgen.runtime import Count
from sqlclaimgen.runtime.driving import session_of
from sqlclaimgen.runtime.protocols import stats as counting
from tests.care.cases import ADVISORY, DEAD_GROUP, DEAD_TABLE, FIFO, MARKED, MARKED_ALONE, ROW_LOCK
from tests.conformance.harness import Case, Stand, on_cases

NOW = datetime(2026, 6, 1, 12, 0, tzinfo=UTC)

PLAIN = Case(
    "plain",
    """
    [table.jobs.columns]
    id = { role = "id", type = "bigint", generated = true }
    payload = { role = "payload", type = "text" }
    """,
    dialects=("postgres", "mysql", "mariadb"),
)
"""An id and a payload: the row lock form."""

WHERE = DEAD_TABLE.with_(
    name="where", body='where = "payload IS NOT NULL"\n' + DEAD_TABLE.body.lstrip("\n")
)


def minutes(n: float) -> datetime:
    return NOW + timedelta(minutes=n)


def grouped_rows() -> list[dict[str, Any]]:
    """Three due rows of group a, one in work, one whose lease ran out, two delayed, one finished."""
    plain = {"queue": "a", "urgency": 0, "due": minutes(-1), "locked_until": None}
    return [
        {**plain, "urgency": 5, "due": minutes(-9)},
        plain,
        {**plain, "locked_until": minutes(1), "due": minutes(-30)},
        {**plain, "locked_until": minutes(-1), "due": minutes(-20)},
        {**plain, "due": minutes(1)},
        {**plain, "urgency": 7, "due": minutes(60)},
        {**plain, "queue": "b", "due": minutes(-40)},
    ]


@on_cases(DEAD_TABLE, WHERE)
def test_counts_a_group_and_the_table(stand: Stand) -> None:
    rows = [{**row, "finished": None, "payload": {"n": 1}} for row in grouped_rows()]
    rows.append({**rows[0], "finished": minutes(-1)})
    stand.fill(rows)
    module = stand.at(NOW)
    connection = stand.connect()

    group = module.stats(connection, group="a")
    assert group.due == Count(3)
    assert group.delayed == Count(2)
    assert group.in_work == Count(1)
    assert group.dead == Count(0)
    assert group.oldest_due == minutes(-20)
    assert group.oldest_age == 20 * 60

    table = module.stats_table(connection)
    assert (table.due, table.delayed, table.in_work) == (Count(4), Count(2), Count(1))
    assert table.oldest_age == 40 * 60
    assert module.stats(connection, group="none").oldest_age is None


@on_cases(DEAD_GROUP)
def test_the_dead_group_is_counted_apart(stand: Stand) -> None:
    rows = [{**row, "origin": None} for row in grouped_rows()]
    rows += [{**rows[0], "queue": "escalated", "origin": "a", "due": minutes(-90)}] * 3
    stand.fill(rows)
    module = stand.at(NOW)
    connection = stand.connect()
    table = module.stats_table(connection)
    assert (table.due, table.dead, table.oldest_age) == (Count(4), Count(3), 40 * 60)
    assert module.stats(connection, group="escalated").due == Count(3)


@on_cases(FIFO)
def test_counts_groups_in_order_and_rows_without_one(stand: Stand) -> None:
    rows = [{**row, "origin": None, "finished": None} for row in grouped_rows()]
    rows += [{**row, "queue": None} for row in rows[:4]]
    rows += [{**rows[0], "queue": "escalated", "origin": "a"}, {**rows[0], "finished": NOW}]
    stand.fill(rows)
    module = stand.at(NOW)
    connection = stand.connect()
    group = module.stats(connection, group="a")
    assert (group.due, group.delayed, group.in_work) == (Count(3), Count(2), Count(1))
    assert (group.oldest_age, group.dead) == (20 * 60, Count(1))
    alone = module.stats_ungrouped(connection)
    assert (alone.due, alone.delayed, alone.in_work) == (Count(3), Count(0), Count(1))
    table = module.stats_table(connection)
    assert (table.due, table.delayed, table.in_work) == (Count(7), Count(2), Count(2))
    assert table.oldest_age == 40 * 60


@on_cases(MARKED, MARKED_ALONE)
def test_marks_are_counted(stand: Stand) -> None:
    values = (0, 0, 1, 2, 2, 2)
    words = {0: "pending", 1: "done", 2: "dead"}
    alone = stand.case is MARKED_ALONE
    stand.fill([{"state": value if alone else words[value]} for value in values])
    found = stand.module.stats(stand.connect())
    assert (found.due, found.dead) == (Count(2), Count(3))
    assert found.delayed == (None if alone else Count(0))
    assert (found.oldest_due is None) is alone


@on_cases(PLAIN)
def test_a_table_that_can_tell_little(stand: Stand) -> None:
    stand.enqueue([{"payload": "x"}] * 3)
    found = stand.module.stats(stand.connect())
    assert found.due == Count(3)
    assert (found.delayed, found.in_work, found.dead, found.oldest_due) == (None, None, None, None)


@on_cases(DEAD_TABLE, PLAIN)
def test_leaves_no_transaction_open(stand: Stand) -> None:
    connection = stand.connect()
    look = stand.module.stats
    look(connection, group="a") if stand.case is DEAD_TABLE else look(connection)
    assert not session_of(connection, table="jobs").in_transaction


@on_cases(DEAD_TABLE)
def test_counting_stops(stand: Stand, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "CAP", 5)
    row = {"queue": "a", "urgency": 0, "due": minutes(-1), "payload": {}}
    stand.fill([row] * 8 + [{**row, "due": minutes(1)}] * 5)
    found = stand.at(NOW).stats(stand.connect(), group="a")
    assert (found.due, str(found.due)) == (Count(5, more=True), "5+")
    assert (found.delayed, str(found.delayed)) == (Count(5), "5")


@on_cases(FIFO)
def test_the_oldest_due_time_of_too_many_rows_is_not_known(
    stand: Stand, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Groups are looked at in their own order: the oldest row may be in one that was not reached."""
    monkeypatch.setattr(counting, "CAP", 5)
    plain = {"queue": "a", "urgency": 0, "due": minutes(-1), "locked_until": None}
    stand.fill([plain] * 4 + [{**plain, "queue": "b", "due": minutes(-90)}])
    module, connection = stand.at(NOW), stand.connect()
    found = module.stats_table(connection)
    assert (found.due, found.oldest_due) == (Count(5), minutes(-90))
    stand.fill([plain])
    found = module.stats_table(connection)
    assert (found.due, found.oldest_due, found.oldest_age) == (Count(5, more=True), None, None)
    assert module.stats(connection, group="b").oldest_due == minutes(-90)
    stand.fill([{**plain, "due": minutes(-95)}])
    found = module.stats(connection, group="a")
    assert (found.due, found.oldest_due) == (Count(5, more=True), None)


@on_cases(DEAD_TABLE)
def test_the_oldest_due_time_behind_too_many_leases_is_not_known(
    stand: Stand, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counting, "CAP", 5)
    plain = {"queue": "a", "urgency": 0, "due": minutes(-1), "locked_until": None, "payload": {}}
    held = {**plain, "locked_until": minutes(1), "due": minutes(-60)}
    stand.fill([held] * 5 + [{**plain, "urgency": 1}])
    module, connection = stand.at(NOW), stand.connect()
    assert module.stats(connection, group="a").oldest_due == minutes(-1)
    # the look at urgency 0 stops before it reaches the oldest due row
    stand.fill([held, {**plain, "due": minutes(-30)}])
    found = module.stats(connection, group="a")
    if stand.dialect in ("mysql", "mariadb"):
        # leases are looked at apart there: in no order, and one that ran out may be older
        assert found.in_work == Count(5, more=True)
    assert (found.due.more, found.oldest_due) == (True, None)


@on_cases(FIFO, DEAD_TABLE, ROW_LOCK, ADVISORY, PLAIN)
def test_no_constant_is_told_as_a_count(stand: Stand) -> None:
    for name, sql in stand.sql.items():
        if name.startswith("stats_"):
            assert "0 AS " not in sql and "NULL AS" not in sql, name
    comments = (stand.generated.folder / "sql" / stand.dialect / "jobs.sql").read_text("utf-8")
    block = comments.partition("-- name: stats_due\n")[2].partition("SELECT")[0]
    assert ("in work counts as due" in block) is (stand.table.form != "lease")
    assert ("finds the oldest due time" in block) is (stand.case is not PLAIN)


@on_cases(DEAD_TABLE.with_(dialects=("postgres",)))
@pytest.mark.parametrize("policy", ["", "USING (queue = current_setting('app.tenant', true))"])
def test_tells_when_row_level_security_decides_what_is_seen(stand: Stand, policy: str) -> None:
    stand.enqueue([{"queue": "a", "payload": {}}])
    owner = stand.connect()
    assert not stand.module.stats(owner, group="a").row_security
    for table in ("jobs", "jobs_dead"):
        stand.database.execute(f"GRANT SELECT ON {table} TO pg_monitor")
    connection = stand.connect(autocommit=True)
    connection.execute("SET ROLE pg_monitor")
    found = stand.module.stats(connection, group="a")
    assert (found.due, found.row_security) == (Count(1), False)
    stand.database.execute("ALTER TABLE jobs ENABLE ROW LEVEL SECURITY")
    if policy:
        stand.database.execute(f"CREATE POLICY of_a_tenant ON jobs FOR SELECT {policy}")
    found = stand.module.stats(connection, group="a")
    assert (found.due, found.row_security) == (Count(0), True)
    assert not stand.module.stats(owner, group="a").row_security
    stand.database.execute("ALTER TABLE jobs DISABLE ROW LEVEL SECURITY")
    stand.database.execute("ALTER TABLE jobs_dead ENABLE ROW LEVEL SECURITY")
    assert stand.module.stats(connection, group="a").row_security


@on_cases(ROW_LOCK, ADVISORY)
def test_forms_that_write_nothing_into_a_row_in_work(stand: Stand) -> None:
    rows = [{**row, "finished": None, "payload": {}} for row in grouped_rows()]
    for row in rows:
        del row["locked_until"]
    stand.fill(rows)
    found = stand.at(NOW).stats(stand.connect(), group="a")
    assert (found.due, found.delayed, found.in_work) == (Count(4), Count(2), None)


@on_cases(DEAD_TABLE, DEAD_GROUP, MARKED, FIFO, ROW_LOCK)
def test_reads_through_indexes_and_stops_at_the_cap(
    stand: Stand, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 6,000 rows, none of the statements looks at more than a hundred or so."""
    monkeypatch.setattr(counting, "CAP", 100)
    stand.fill(_backlog(stand, 6000))
    connection = stand.connect(autocommit=True)
    _gather_statistics(stand, connection)
    module = stand.at(NOW)
    ran = _recorded(stand, monkeypatch)
    if stand.case is MARKED:
        module.stats(connection)
    else:
        module.stats(connection, group="a")
        module.stats_table(connection)
    if stand.case is FIFO:
        module.stats_ungrouped(connection)
    reads = [one for one in ran if one[0] != "row_security"]
    assert {name for name, _, _ in reads} == {n for n in stand.sql if n.startswith("stats_")}
    for name, sql, parameters in reads:
        plan = list(_plan(stand, connection, sql, parameters))
        assert plan, f"{name}: no plan was read"
        assert not [line for line in plan if line], f"{name}: {plan}"
        # of rows without a group in a FIFO table two indexes serve, and MySQL may sort
        if stand.dialect in ("mysql", "mariadb") and not name.endswith("ungrouped"):
            assert _rows_read(connection, sql, parameters) < 350, name


def _backlog(stand: Stand, count: int) -> list[dict[str, Any]]:
    fields = {column.field for column in stand.table.columns}
    rows: list[dict[str, Any]] = []
    for n in range(count):
        row: dict[str, Any] = {
            "queue": ("a", "b", None if stand.case is FIFO else "c")[n // 3 % 3],
            "urgency": n % 3,
            "due": minutes(-1 if n % 10 == 0 else 60),
            "locked_until": minutes(1) if n % 200 == 0 else None,
            "finished": None,
            "payload": {},
            "state": "dead" if n % 50 == 0 else "pending",
        }
        rows.append({name: value for name, value in row.items() if name in fields})
    return rows


def _gather_statistics(stand: Stand, connection: Any) -> None:
    command = {"postgres": "VACUUM ANALYZE jobs", "sqlite": "ANALYZE"}
    connection.cursor().execute(command.get(stand.dialect, "ANALYZE TABLE jobs"))


def _recorded(stand: Stand, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str, Any]]:
    from sqlclaimgen.runtime.queue import Bound

    ran: list[tuple[str, str, Any]] = []
    run = Bound.run

    def record(self: Bound, statement: str, parameters: Any, *, row: Any = None) -> Any:
        ran.append((statement, self.statements[statement], parameters))
        return run(self, statement, parameters, row=row)

    monkeypatch.setattr(Bound, "run", record)
    return ran


def _plan(stand: Stand, connection: Any, sql: str, parameters: Any) -> Iterator[str]:
    """For each access of a plan: empty when it is by an index, and stops; what it is otherwise."""
    session = session_of(connection, table="jobs")
    match stand.dialect:
        case "postgres":
            result = session.run(f"EXPLAIN (ANALYZE, FORMAT JSON) {sql}", parameters)
            yield from _postgres_accesses(result.rows[0][0][0]["Plan"])
        case "sqlite":
            result = session.run(f"EXPLAIN QUERY PLAN {sql}", parameters)
            for row in result.rows:
                line = str(row[3])
                if "jobs" in line or line.startswith(("SEARCH t", "SCAN t")):
                    yield "" if "INDEX" in line or "PRIMARY KEY" in line else line
        case _:
            result = session.run(f"EXPLAIN FORMAT=JSON {sql}", parameters)
            yield from _innodb_accesses(json.loads(result.rows[0][0]))


def _rows_read(connection: Any, sql: str, parameters: Any) -> int:
    """How many rows and index entries InnoDB handed to the server."""
    session = session_of(connection, table="jobs")
    session.run("FLUSH STATUS", {})
    session.run(sql, parameters)
    counted = session.run("SHOW SESSION STATUS LIKE 'Handler_read%'", {}).rows
    return sum(int(row[1]) for row in counted)


def _postgres_accesses(node: dict[str, Any]) -> Iterator[str]:
    if "Relation Name" in node and not node["Relation Name"].endswith("_dead"):
        rows = node["Actual Rows"] * node["Actual Loops"]
        rows += node.get("Rows Removed by Filter", 0) * node["Actual Loops"]
        bad = node["Node Type"] == "Seq Scan" or rows > 250
        yield json.dumps(node) if bad else ""
    elif "Relation Name" in node:
        yield ""
    for inner in node.get("Plans", []):
        yield from _postgres_accesses(inner)


def _innodb_accesses(node: Any) -> Iterator[str]:
    if isinstance(node, list):
        for inner in node:
            yield from _innodb_accesses(inner)
    if not isinstance(node, dict):
        return
    name = node.get("table_name", node.get("table"))
    if isinstance(name, str) and "access_type" in node and "jobs" in name:
        # an index read from end to end stops at the LIMIT, as does the empty dead-letter table
        bad = node["access_type"] == "ALL" and not name.endswith("_dead")
        yield json.dumps(node) if bad or node.get("using_filesort") else ""
    for inner in node.values():
        yield from _innodb_accesses(inner)
