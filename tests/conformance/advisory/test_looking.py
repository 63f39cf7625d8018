"""What a claim looks at: windows of keys in use, delayed rows, the index that gives the order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from sqlclaimgen.runtime import utcnow
from sqlclaimgen.runtime.driving import session_of
from sqlclaimgen.runtime.protocols import windows
from sqlclaimgen.runtime.steps import Commit, Run
from tests.conformance.advisory.cases import (
    DELAYED,
    FULL,
    MARKED,
    PLAIN,
    WHOLE,
    on,
    rows,
    scope_of,
    with_sessions,
)
from tests.conformance.advisory.test_taking import claiming, drop_indexes, held_keys
from tests.conformance.harness import Stand, on_cases, unforced


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
    assert len(statements(claim)) < 20
    # where nothing at all is free the poll ends
    nothing = claiming(stand)
    assert nothing.finish().deliveries == []
    assert len(statements(nothing)) < 20


@on_cases(on(PLAIN, "postgres"))
def test_keys_of_this_process_need_not_be_tried(stand: Stand) -> None:
    hot(stand, 50)
    first = claiming(stand)
    (held,) = first.finish().deliveries
    # a session that tries its own key wins it again
    claim = claiming(stand, first.connection, held=[held])
    assert [delivery.row.account for delivery in claim.finish().deliveries] == ["behind"]
    assert statements(claim) == ["claim", "take"]
    assert [d.row.account for d in claiming(stand, first.connection).finish().deliveries] == [
        "hot0"
    ]


@on_cases(*with_sessions(PLAIN))
def test_the_keys_in_use_are_those_that_anybody_holds(stand: Stand) -> None:
    hot(stand, 40, 4)
    holding = [stand.claim(stand.connect()) for _ in range(4)]
    assert held_keys(stand) >= 0 and all(len(claim) == 1 for claim in holding)


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


# -- what one claim reads, and where the next goes on -----------------------------------------------------

HOT = 100_000
FREE = ("free0", "free1", "free2")

PER_ROW = {"postgres": 2, "mysql": 10, "mariadb": 10, "sqlite": 100}
"""What a claim may read for each row of its windows: the row itself, twice, for its key is looked at and then
the window's end; on MySQL and MariaDB the rows of up to four derived tables too; on SQLite steps of its
machine."""


def most_read(stand: Stand) -> int:
    windows_ = windows.FIRST + windows.MOST_READ + windows.WIDE
    return PER_ROW[stand.dialect] * windows_ + 100


def heap(stand: Stand) -> None:
    """HOT due rows of one key, of two priorities where there are some, their due times in no order of the
    ids, and half of them at one time; then a row of each key of FREE."""
    made = [dict(row) for row in rows(stand.case, 1000)]
    now = utcnow()
    for number, row in enumerate(made):
        del row["id"]
        row["account"] = "hot"
        if "priority" in row:
            row["priority"] = number % 2
        if "run_after =" in stand.case.body:
            row["run_after"] = now - timedelta(seconds=60 + max(0, number - 500))
    stand.fill(made)
    quote = stand.plan.dialect.quote
    table, columns = quote("jobs"), ", ".join(quote(name) for name in made[0])
    while stand.count < HOT:
        short = HOT - stand.count
        stand.database.execute(
            f"INSERT INTO {table} ({columns}) SELECT {columns} FROM {table} LIMIT {short}"
        )
    last = {**made[0], **{k: v for k, v in (("priority", 1), ("run_after", now)) if k in made[0]}}
    stand.fill([{**last, "account": account} for account in FREE])
    of_mysql = stand.dialect in ("mysql", "mariadb")
    stand.database.execute(f"ANALYZE TABLE {table}" if of_mysql else "ANALYZE")


def read_by(stand: Stand, claim: Any) -> int:
    """What a claim reads in its transaction, with all its statements: rows; on SQLite steps."""
    if stand.dialect == "sqlite":
        steps = []
        claim.connection.set_progress_handler(lambda: steps.append(10), 10)
        claim.stop_before(Commit)
        claim.connection.set_progress_handler(None, 0)
        return sum(steps)
    if stand.dialect == "postgres":
        read = 0
        while not isinstance(claim.next, Commit):
            if isinstance(claim.next, Run) and not claim.next.statement.startswith("take"):
                # in its own transaction, whose settings the plan depends on
                read += rows_read(stand, claim.connection, claim.next)
                claim.connection.execute("SELECT pg_advisory_unlock_all()")
            claim.step()
        return read
    session_of(claim.connection, table="jobs").run("FLUSH STATUS", {})
    claim.stop_before(Commit)
    cursor = claim.connection.cursor()
    cursor.execute("SHOW SESSION STATUS LIKE 'Handler_read%'")
    return sum(int(value) for _, value in cursor.fetchall())


@on_cases(FULL, MARKED, DELAYED, PLAIN)
def test_what_a_claim_reads_is_bounded_whatever_the_keys(stand: Stand) -> None:
    heap(stand)
    holding = claiming(stand)
    assert [delivery.row.account for delivery in holding.finish().deliveries] == ["hot"]
    # with the keys looked at before the LIMIT, every due row is read
    twin = stand.twin(claim=lambda sql: sql.replace("LIMIT :window", "LIMIT 1000000000"))
    unbounded = claiming(stand, module=twin)
    assert read_by(stand, unbounded) > most_read(stand)
    unbounded.finish()
    unbounded.connection.close()
    claims: list[Any] = []
    found: list[str] = []
    place = None
    while len(found) < len(FREE):
        claims.append(claiming(stand, resume=place))
        assert read_by(stand, claims[-1]) <= most_read(stand)
        taken = claims[-1].finish()
        place = taken.resume
        found += [delivery.row.account for delivery in taken.deliveries]
        # a claim that brings nothing says that it has not read everything
        assert len(taken.deliveries) == 1 or (taken.unread and not taken.full)
        # the first free row is found within the stated number, those behind it at once
        assert len(claims) <= HOT // 10_000 + 1 + len(found)
    assert tuple(found) == FREE
    assert len(claims) > HOT // 10_000


def narrow(monkeypatch: pytest.MonkeyPatch, first: int, wide: int, most: int) -> None:
    """Make the windows of claims narrow, so that few rows are many."""
    monkeypatch.setattr(windows, "FIRST", first)
    monkeypatch.setattr(windows, "WIDE", wide)
    monkeypatch.setattr(windows, "MOST_READ", most)


def accounts(stand: Stand, of: list[str], priority: int = 1) -> None:
    """Due rows of these accounts, in this order."""
    made = []
    for account in of:
        row = {key: value for key, value in rows(stand.case, 1)[0].items() if key != "id"}
        made.append(
            {**row, "account": account, **({"priority": priority} if "priority" in row else {})}
        )
    stand.fill(made)


@on_cases(FULL, PLAIN)
def test_claims_by_hand_go_on_over_the_same_connection(
    stand: Stand, monkeypatch: pytest.MonkeyPatch
) -> None:
    narrow(monkeypatch, 2, 3, 6)
    accounts(stand, ["hot"] * 20 + ["behind"])
    connection = stand.connect()
    with stand.claim(stand.connect()) as holding:
        assert len(holding) == 1
        # 2 rows, and 2 windows of 3, a claim: the row number 21 is in the fourth
        got = []
        for _ in range(4):
            with stand.claim(connection) as claim:
                got.append(([delivery.row.account for delivery in claim], claim.more))
                assert claim.resume is None
        assert got == [([], True)] * 3 + [(["behind"], False)]
        # another connection begins with the first row
        with stand.claim(stand.connect()) as claim:
            assert len(claim) == 0 and claim.more


@on_cases(FULL)
def test_rows_of_the_first_window_go_before_the_place_where_a_claim_goes_on(
    stand: Stand, monkeypatch: pytest.MonkeyPatch
) -> None:
    narrow(monkeypatch, 2, 3, 6)
    accounts(stand, ["hot"] * 20 + ["behind"])
    holding = claiming(stand)
    assert len(holding.finish().deliveries) == 1
    place = claiming(stand).finish().resume
    assert place is not None
    accounts(stand, ["urgent"], priority=-1)
    urgent = claiming(stand, resume=place).finish()
    assert [delivery.row.account for delivery in urgent.deliveries] == ["urgent"]
    # and the place is kept
    assert urgent.resume.seen == place.seen


@on_cases(FULL, PLAIN)
def test_a_pass_ends_and_the_next_finds_what_was_freed_before_its_place(
    stand: Stand, monkeypatch: pytest.MonkeyPatch
) -> None:
    narrow(monkeypatch, 2, 3, 6)
    accounts(stand, ["hot", "hot", "other", "hot", "hot", "hot", "hot", "hot", "hot", "a", "b"])
    claims = [claiming(stand), claiming(stand)]
    assert [c.finish().deliveries[0].row.account for c in claims] == ["hot", "other"]
    found: list[str] = []
    place = None
    while len(found) < 3:
        claims.append(claiming(stand, resume=place))
        taken = claims[-1].finish()
        place = taken.resume
        found += [delivery.row.account for delivery in taken.deliveries]
        if found == ["a"]:
            claims[1].session.close()  # its key is free again
        assert len(claims) < 12
    assert found == ["a", "b", "other"]
    # when nothing more is found a pass has an end, and a run until empty with it
    unread = [True]
    while unread[-1]:
        taken = claiming(stand, resume=place).finish()
        place = taken.resume
        unread.append(taken.unread)
        assert len(unread) < 8
    assert place is None


@on_cases(PLAIN)
def test_a_pass_that_always_finds_something_ends_too(
    stand: Stand, monkeypatch: pytest.MonkeyPatch
) -> None:
    narrow(monkeypatch, 2, 3, 6)
    monkeypatch.setattr(windows, "MOST_FOUND", 2)
    accounts(stand, ["hot", "hot", "other", *["hot"] * 7, *"abcdef"])
    claims = [claiming(stand), claiming(stand)]
    assert [c.finish().deliveries[0].row.account for c in claims] == ["hot", "other"]
    found: list[str] = []
    place = None
    for _ in range(8):
        claims.append(claiming(stand, resume=place))
        taken = claims[-1].finish()
        place = taken.resume
        found += [delivery.row.account for delivery in taken.deliveries]
        if found == ["a"]:
            claims[1].session.close()
    assert found[:3] == ["a", "b", "other"]


@on_cases(FULL, PLAIN)
def test_a_pass_that_is_cut_short_is_followed_by_one_without_a_pause(
    stand: Stand, monkeypatch: pytest.MonkeyPatch
) -> None:
    narrow(monkeypatch, 2, 3, 6)
    monkeypatch.setattr(windows, "MOST_FOUND", 2)
    accounts(stand, [*["hot"] * 20, *"abc"])
    holding = [claiming(stand)]
    assert [d.row.account for d in holding[0].finish().deliveries] == ["hot"]
    found: list[tuple[list[str], bool]] = []
    place = None
    for _ in range(8):
        claim = claiming(stand, resume=place)
        holding.append(claim)
        taken = claim.finish()
        place = taken.resume
        found.append(([delivery.row.account for delivery in taken.deliveries], taken.more))
    first, second = found[:5], found[5:]
    # nothing was found before: the next claim is for the next poll
    assert first == [([], False)] * 3 + [(["a"], False), (["b"], False)]
    # rows wait where the pass was cut short
    assert second == [([], True)] * 3
    (last,) = claiming(stand, resume=place).finish().deliveries
    assert last.row.account == "c"


@on_cases(FULL)
def test_a_claim_goes_on_where_no_row_of_the_priority_is_left(
    stand: Stand, monkeypatch: pytest.MonkeyPatch
) -> None:
    narrow(monkeypatch, 2, 3, 6)
    accounts(stand, ["hot"] * 20, priority=0)
    holding = claiming(stand)
    assert [d.row.account for d in holding.finish().deliveries] == ["hot"]
    for priority in (1, 2, 3):
        accounts(stand, [f"of {priority}"], priority=priority)
    connection = stand.connect()
    got = []
    for _ in range(6):
        with stand.claim(connection) as claim:
            for delivery in claim:
                got.append(delivery.row.account)
                delivery.ack(connection)
    # three claims pass the rows of the key in use, once
    assert got == ["of 1", "of 2", "of 3"]


@on_cases(FULL)
def test_what_a_claim_reads_is_bounded_whatever_the_priorities(
    stand: Stand, monkeypatch: pytest.MonkeyPatch
) -> None:
    narrow(monkeypatch, 2, 3, 6)
    for priority in range(10):
        accounts(stand, ["hot"], priority=priority)
    accounts(stand, ["behind"], priority=10)
    holding = claiming(stand)
    assert [d.row.account for d in holding.finish().deliveries] == ["hot"]
    claims = [claiming(stand)]
    while not (taken := claims[-1].finish()).deliveries:
        assert taken.unread and len(claims) < 5
        claims.append(claiming(stand, resume=taken.resume))
    assert [delivery.row.account for delivery in taken.deliveries] == ["behind"]
    # the first window of the first priority, and three of others
    for claim in claims:
        assert len([name for name in statements(claim) if name.startswith("claim")]) <= 4


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
    step = replace(step, sql=unforced(step.sql))
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
