"""What a claim looks at: windows of keys in use, delayed rows, the index that gives the order."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from sqlclaimgen.runtime import utcnow
from sqlclaimgen.runtime.driving import session_of
from sqlclaimgen.runtime.protocols import windows
from sqlclaimgen.runtime.steps import Run
from tests.conformance.advisory.cases import FULL, PLAIN, WHOLE, on, rows, scope_of, with_sessions
from tests.conformance.advisory.test_taking import claiming, drop_indexes, held_keys
from tests.conformance.harness import Stand, on_cases


def statements(stepper: Any) -> list[str]:
    return [step.statement for step in stepper.steps if isinstance(step, Run)]


def hot(stand: Stand, n: int, keys: int = 1) -> None:
    """`n` rows of `keys` keys at the head of the queue, and one of another key behind them."""
    made = [dict(row) for row in rows(stand.case, n + 1)]
    for number, row in enumerate(made):
        row["account"] = f"hot{number % keys}"
        if "priority" in row:
            row["priority"] = 0
    made[-1]["account"] = "behind"
    stand.fill(made)


@on_cases(FULL, WHOLE, PLAIN)
def test_a_free_row_is_found_behind_any_number_of_held_keys(stand: Stand) -> None:
    # ST-01: more rows of keys in use than any window, and one free row behind them
    hot(stand, 5000, 5)
    holding = [stand.claim(stand.connect()) for _ in range(5)]
    assert [len(claim) for claim in holding] == [1] * 5
    claim = claiming(stand)
    (delivery,) = claim.finish().deliveries
    assert delivery.row.account == "behind"
    # in the same poll, and with a handful of statements
    assert len(statements(claim)) < 10
    # where nothing at all is free the poll ends
    nothing = claiming(stand)
    assert nothing.finish().deliveries == []
    assert len(statements(nothing)) < 20


@on_cases(on(PLAIN, "postgres"))
def test_a_window_that_never_widens_is_found_out(stand: Stand) -> None:
    hot(stand, 5000)
    with stand.claim(stand.connect()) as holding:
        assert len(holding) == 1
        twin = stand.twin(probe=lambda sql: sql + " + 1000000")
        assert claiming(stand, module=twin).finish().deliveries == []


@on_cases(on(PLAIN, "postgres"))
def test_keys_of_this_process_need_not_be_tried(stand: Stand) -> None:
    hot(stand, 3000)
    (held,) = claiming(stand).finish().deliveries
    claim = claiming(stand, held=[held])
    assert [delivery.row.account for delivery in claim.finish().deliveries] == ["behind"]
    assert statements(claim) == ["claim", "take"]


@on_cases(*with_sessions(PLAIN))
def test_the_keys_in_use_are_those_that_anybody_holds(stand: Stand) -> None:
    hot(stand, 40, 4)
    holding = [stand.claim(stand.connect()) for _ in range(4)]
    assert held_keys(stand) >= 0 and all(len(claim) == 1 for claim in holding)
    if stand.dialect == "postgres":
        found = session_of(stand.connect(), table="jobs").run(stand.sql["locks_in_use"], {})
        assert {row[0] for row in found.rows} == {
            delivery.lock.name for claim in holding for delivery in claim
        }


@on_cases(FULL, WHOLE)
def test_delayed_rows_of_a_better_priority_do_not_hide_due_ones(stand: Stand) -> None:
    later = utcnow() + timedelta(hours=1)
    made = [dict(row) for row in rows(stand.case, 400)]
    for row in made:
        row["priority"] = row["id"] % 4
        row["run_after"] = later if row["priority"] < 3 else utcnow() - timedelta(hours=1)
    stand.fill(made)
    connection = stand.connect()
    got = []
    for _ in range(5):
        with stand.claim(connection) as claim:
            for delivery in claim:
                got.append(delivery.id)
                delivery.ack(connection)
    assert got == [row["id"] for row in made if row["priority"] == 3][:5]


@on_cases(FULL, WHOLE, PLAIN)
def test_rows_are_claimed_in_order(stand: Stand) -> None:
    made = [dict(row) for row in rows(stand.case, 30)]
    start = utcnow() - timedelta(hours=1)
    for row in made:
        if "run_after =" in stand.case.body:
            row["run_after"] = start + timedelta(seconds=row["id"] * 7 % 10)
    stand.fill(made)
    order = sorted(made, key=lambda r: (r.get("priority", 0), r.get("run_after", start), r["id"]))
    connection = stand.connect()
    got = []
    for _ in made:
        with stand.claim(connection) as claim:
            for delivery in claim:
                got.append(delivery.id)
                delivery.ack(connection)
    assert got == [row["id"] for row in order]


def test_windows_have_no_end() -> None:
    window = windows.of_keys(free=True)
    for _ in range(20):
        window = windows.of_more_keys(window)
    assert window > 10**9


# -- plans at 100,000 rows -------------------------------------------------------------------------------

N = 100_000


def many(stand: Stand) -> None:
    """N rows and some, 95 of 100 finished where finished rows stay, of 5 groups and 3 priorities."""
    quote = stand.plan.dialect.quote
    named = [column.name for column in stand.table.columns]
    now = utcnow()
    made = []
    for n in range(1, 1001):
        row: dict[str, Any] = {"account": str(n % 97)}
        if "queue" in named:
            row["queue"] = "abcde"[n % 5]
            row["priority"] = n % 3
            row["run_after"] = now - timedelta(seconds=n)
            row["processed_at"] = None if n % 20 == 0 else now
        made.append(row)
    stand.fill(made)
    table, columns = quote("jobs"), ", ".join(quote(name) for name in made[0])
    while stand.count < N:
        stand.database.execute(f"INSERT INTO {table} ({columns}) SELECT {columns} FROM {table}")
    of_mysql = stand.dialect in ("mysql", "mariadb")
    stand.database.execute(f"ANALYZE TABLE {table}" if of_mysql else "ANALYZE")


@on_cases(FULL, WHOLE, PLAIN)
def test_the_index_gives_the_order_at_a_hundred_thousand_rows(stand: Stand) -> None:
    many(stand)
    claim = claiming(stand)
    claim.stop_before("claim" + scope_of(stand.case).suffix)
    step = claim.next
    assert isinstance(step, Run)
    claim.abandon()
    claim.session.close()
    looking = stand.connect(autocommit=True)
    assert rows_read(stand, looking, step) < N // 50
    assert not sorts(stand, looking, step), described(stand, looking, step)
    if stand.case is PLAIN:
        return  # it is read by its primary key
    # without the index it does sort, so that this can be seen
    drop_indexes(stand)
    looking = stand.connect(autocommit=True)
    assert sorts(stand, looking, step), described(stand, looking, step)


def sorts(stand: Stand, connection: Any, step: Run) -> bool:
    """Whether the plan of the claim's statement sorts what it reads from the table."""
    text = described(stand, connection, step).lower()
    if stand.dialect == "sqlite":
        # a scan of the table itself is one by its primary key
        by_table = "scan t" in text and stand.case is not PLAIN
        return by_table or "temp b-tree" in text or "automatic" in text
    return (
        "filesort" in text
        or "-> sort" in text
        or '"sort"' in text
        or "'sort'" in text
        or "seq scan" in text
    )


def rows_read(stand: Stand, connection: Any, step: Run) -> int:
    """How many rows the claim's statement really read; SQLite does not count them."""
    session = session_of(connection, table="jobs")
    if stand.dialect == "sqlite":
        return 0
    if stand.dialect == "postgres":
        explained = session.run(f"EXPLAIN (ANALYZE, FORMAT JSON) {step.sql}", step.parameters)
        return sum(_scanned(node) for node in _nodes(explained.rows[0][0][0]["Plan"]))
    session.run("FLUSH STATUS", {})
    session.run(step.sql, step.parameters)
    counters = session.run("SHOW SESSION STATUS LIKE 'Handler_read%'", {}).rows
    return sum(int(value) for _, value in counters)


def _nodes(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for child in node.get("Plans", []):
        yield from _nodes(child)


def _scanned(node: dict[str, Any]) -> int:
    if "Relation Name" not in node:
        return 0
    passed = node.get("Rows Removed by Filter", 0)
    return int((node["Actual Rows"] + passed) * node["Actual Loops"])


def described(stand: Stand, connection: Any, step: Run) -> str:
    """The plan as the server words it."""
    session = session_of(connection, table="jobs")
    words = {"postgres": "EXPLAIN (FORMAT JSON)", "sqlite": "EXPLAIN QUERY PLAN"}
    explain = words.get(stand.dialect, "EXPLAIN")
    answer = session.run(f"{explain} {step.sql}", step.parameters)
    return repr(answer.rows)
