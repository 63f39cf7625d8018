"""Plans and locks at size: claims read a little of the table and lock what they take, no more."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from sqlclaimgen.runtime import utcnow
from sqlclaimgen.runtime.placeholders import expanded, names, pyformat
from sqlclaimgen.runtime.protocols import lease
from sqlclaimgen.runtime.protocols.scope import TABLE, UNGROUPED, Scope, group
from sqlclaimgen.runtime.steps import Commit, Run
from tests.conformance.cases import (
    BURIED,
    CHOSEN,
    DELAYED,
    FULL,
    MARKED,
    PLAIN,
    SHAPES,
    URGENT,
    WHOLE,
)
from tests.conformance.crowds import crowd, locked, reads
from tests.conformance.harness import Case, Stand, unlocked
from tests.conformance.stepping import Stepper
from tests.conformance.test_claiming import scope_of
from tests.conformance.test_statements_run import parameters
from tests.servers import ALL_DIALECTS, InnoDBDatabase, ServerPark

N = {case.name: 100_000 if case is FULL else 10_000 for case in SHAPES} | {"full-delayed": 20_000}
LIMIT = 10
GROUP = "g1"
STEPPED = FULL.with_(name="full-delayed")


def of_group(case: Case) -> Case:
    return case.with_(claims={"group": GROUP}) if "group" in case.claims else case


TABLES = tuple(
    of_group(case) for case in (FULL, STEPPED, PLAIN, DELAYED, URGENT, MARKED, CHOSEN, BURIED)
)
_STANDS: dict[tuple[str, str], Stand] = {}


@pytest.fixture(scope="module")
def crowds(servers: ServerPark, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A filled table of each case and dialect, made when it is first asked for."""
    made: dict[tuple[str, str], Stand] = {}
    opened = []

    def stand(case: Case, dialect: str) -> Stand:
        key = (case.name, dialect)
        if key not in made:
            database = servers[dialect].database()
            opened.append(database)
            filled = Stand(case, database, tmp_path_factory.mktemp("crowd"))
            crowd(filled, N.get(case.name, 10_000), delayed=case.name == STEPPED.name)
            made[key] = filled
        return made[key]

    yield stand
    for database in opened:
        database.drop()


def finished(stand: Stand) -> int:
    """The last id of the table's history: what is above it is not finished."""
    kept = stand.table.keeps_finished and stand.case.name != STEPPED.name
    return N[stand.case.name] * 95 // 100 if kept else 0


CLAIMS = [
    pytest.param(case, scope, dialect, id=f"{case.name}{scope.suffix}-{dialect}")
    for case in TABLES
    for scope in (
        [scope_of(case)]
        + ([TABLE] if "table" in re.findall(r'claims = .*"(table)"', case.body) else [])
        + ([UNGROUPED] if case.name == URGENT.name else [])
    )
    for dialect in ALL_DIALECTS
]
on_claims = pytest.mark.parametrize(("case", "scope", "dialect"), CLAIMS)
on_locking_claims = pytest.mark.parametrize(
    ("case", "scope", "dialect"), [claim for claim in CLAIMS if claim.values[2] != "sqlite"]
)


def claim(
    stand: Stand, connection: Any, scope: Scope, *, limit: int = LIMIT, queue: Any = None
) -> Stepper:
    return Stepper(
        connection, queue or stand.module.QUEUE, lambda bound: lease.claim(bound, scope, limit)
    )


@on_locking_claims
def test_a_claim_locks_what_it_takes_and_no_more(
    crowds: Any, case: Case, scope: Scope, dialect: str
) -> None:
    stand: Stand = crowds(case, dialect)
    history = finished(stand)
    one, two = stand.connect(), stand.connect()
    first = claim(stand, one, scope)
    first.stop_before(Commit, "claim_write")
    of_first = locked(stand, history)
    if dialect != "postgres":
        counted = _innodb(stand).innodb_lock_counts().get(stand.database.session_id(one), 0)
        assert counted <= LIMIT + 1
    second = claim(stand, two, scope)
    second.stop_before(Commit, "claim_write")
    of_both = locked(stand, history)
    # nor does the write lock more
    first.stop_before(Commit)
    assert locked(stand, history) == of_both
    for step in (second, first):
        step.session.rollback()
    wanted, following = _handed_out(first), _handed_out(second)
    assert len(wanted) == len(following) == LIMIT
    assert of_first == set(wanted)
    assert of_both == set(wanted) | set(following)
    assert wanted + following == _in_order(stand, scope, history)[: 2 * LIMIT]


def _innodb(stand: Stand) -> InnoDBDatabase:
    assert isinstance(stand.database, InnoDBDatabase)
    return stand.database


def _handed_out(step: Stepper) -> list[int]:
    """What a claim would have handed out, had it not been rolled back."""
    while not step.done:
        step.skip()
    return [delivery.id for delivery in step.value.deliveries]


def _in_order(stand: Stand, scope: Scope, history: int) -> list[int]:
    """The rows that can be claimed, in claim order, told without the generated statements."""
    now = utcnow()
    queue = stand.module.QUEUE
    found = []
    for row in stand.rows(above=history):
        if "queue" in row:
            if scope is UNGROUPED and row["queue"] is not None:
                continue
            if scope.group is not None and row["queue"] != scope.group:
                continue
        if row.get("processed_at") or row.get("state", "new") != "new":
            continue
        if row["locked_until"] and row["locked_until"] > now:
            continue
        if row.get("run_after", now) <= now:
            found.append(row)
    return [row["id"] for row in sorted(found, key=lambda row: [row[f] for f in queue.order])]


@on_claims
def test_a_claim_reads_a_little_of_the_table(
    crowds: Any, case: Case, scope: Scope, dialect: str
) -> None:
    stand: Stand = crowds(case, dialect)
    connection = stand.connect()
    cost = _cost(stand, connection, scope, stand.module.QUEUE)
    assert cost <= MOST[dialect]


MOST = {"postgres": 250, "mysql": 1000, "mariadb": 1100, "sqlite": 2500}
"""Rows read (PostgreSQL: buffers touched; SQLite: steps of its machine) by a claim of ten."""


def _cost(stand: Stand, connection: Any, scope: Scope, queue: Any) -> int:
    step = claim(stand, connection, scope, queue=queue)
    counted = 0
    if stand.dialect == "sqlite":
        ticks: list[int] = []
        connection.set_progress_handler(lambda: ticks.append(1), 100)
        step.stop_before(Commit)
        connection.set_progress_handler(None, 0)
        counted = 100 * len(ticks)
    elif stand.dialect == "postgres":
        run = step.stop_before("claim" + scope.suffix)
        assert isinstance(run, Run)
        (plan,) = _explained(connection, run.sql, run.parameters, "ANALYZE, BUFFERS, ")
        counted = plan["Plan"]["Shared Hit Blocks"] + plan["Plan"]["Shared Read Blocks"]
    else:
        before = reads(connection)
        itself = reads(connection) - before
        before = reads(connection)
        step.stop_before(Commit)
        counted = reads(connection) - before - itself
    step.session.rollback()
    step.abandon()
    return counted


def _explained(connection: Any, sql: str, parameters: Any, how: str = "") -> Any:
    cursor = connection.cursor()
    cursor.execute(f"EXPLAIN ({how}FORMAT JSON) {pyformat(sql)}", parameters)
    return cursor.fetchone()[0]


@pytest.mark.parametrize("dialect", ALL_DIALECTS)
def test_a_claim_without_its_index_is_found_out(crowds: Any, dialect: str) -> None:
    # the twin of this file: the same counts must condemn a table whose index is gone
    case = FULL.with_(name="no-index", claims={"group": GROUP})
    stand: Stand = crowds(case, dialect)
    quote = stand.plan.dialect.quote
    for index in stand.plan.indexes:
        on = f" ON {quote('jobs')}" if dialect in ("mysql", "mariadb") else ""
        stand.database.execute(f"DROP INDEX {quote(index.name)}{on}")
    cost = _cost(stand, stand.connect(), scope_of(case), stand.unforced().QUEUE)
    assert cost > MOST[dialect]


# -- the plans themselves -----------------------------------------------------------------------------


@on_claims
def test_no_claim_scans_the_table_or_sorts_below_its_lock(
    crowds: Any, case: Case, scope: Scope, dialect: str
) -> None:
    stand: Stand = crowds(case, dialect)
    connection = stand.connect()
    step = claim(stand, connection, scope)
    statements = [name for name in stand.sql if name.endswith("claim" + scope.suffix)]
    statements += [n for n in ("due_priorities" + scope.suffix,) if n in stand.sql]
    for name in statements:
        run = step.stop_before(name) if name != "claim" + scope.suffix or not step.done else None
        assert isinstance(run, Run)
        if dialect == "postgres":
            _check_postgres(_explained(connection, run.sql, run.parameters)[0]["Plan"])
            # more than are due: it may sort those
            many = {**run.parameters, "limit": 1000}
            _check_postgres(_explained(connection, run.sql, many)[0]["Plan"], sorts=True)
            # it takes :limit for a tenth of the table
            _check_postgres(_generic(connection, run.sql, run.parameters)[0]["Plan"])
        elif dialect == "sqlite":
            connection.rollback()
            cursor = connection.cursor()
            cursor.execute("EXPLAIN QUERY PLAN " + run.sql, run.parameters)
            lines = [row[3] for row in cursor.fetchall()]
            _check_sqlite(lines, by_id=not stand.plan.indexes)
        else:
            _check_innodb(_explained_innodb(connection, run))
        break
    step.session.rollback()
    step.abandon()


def _nodes(plan: Any, above: tuple[str, ...] = ()) -> Iterator[tuple[Any, tuple[str, ...]]]:
    yield plan, above
    for inner in plan.get("Plans", []):
        yield from _nodes(inner, (*above, plan["Node Type"]))


def _check_postgres(plan: Any, *, sorts: bool = False) -> None:
    shown = "\n".join(
        f"{'  ' * len(above)}{node['Node Type']} {node.get('Index Name', '')}"
        for node, above in _nodes(plan)
    )
    for node, above in _nodes(plan):
        assert node["Node Type"] != "Seq Scan", shown
        if not sorts and node["Node Type"] in ("Sort", "Incremental Sort", "Bitmap Heap Scan"):
            assert "LockRows" not in above, shown


def _generic(connection: Any, sql: str, parameters: Any) -> Any:
    """The plan that does not look at the parameters, which the server goes over to."""
    listed = names(sql)
    text = sql
    for number, name in enumerate(listed, 1):
        text = re.sub(rf"(?<![:\w]):{name}\b", f"${number}", text)
    cursor = connection.cursor()
    if connection.info.server_version >= 120000:  # before, nothing forces it
        cursor.execute("SET LOCAL plan_cache_mode = force_generic_plan")
    cursor.execute(f"PREPARE looked_at AS {text}".replace("%", "%%"))
    marks = ", ".join(["%s"] * len(listed))
    import psycopg

    client = psycopg.ClientCursor(connection)
    client.execute(
        f"EXPLAIN (FORMAT JSON) EXECUTE looked_at({marks})", [parameters[name] for name in listed]
    )
    row = client.fetchone()
    assert row is not None
    cursor.execute("DEALLOCATE looked_at")
    return row[0]


def _explained_innodb(connection: Any, run: Run) -> list[dict[str, Any]]:
    text, values = expanded(run.sql, run.parameters)
    cursor = connection.cursor()
    cursor.execute("EXPLAIN FORMAT=TRADITIONAL " + text, values)
    keys = [column[0].lower() for column in cursor.description]
    return [dict(zip(keys, row, strict=True)) for row in cursor.fetchall()]


def _check_innodb(plan: list[dict[str, Any]]) -> None:
    for line in plan:
        table, how, extra = str(line["table"]), line["type"], str(line["extra"])
        if table.startswith("<"):
            continue  # what was found already, a window of it
        if table == "None":
            continue
        assert how not in ("ALL", "index"), plan
        if table == "t":
            assert (how, line["key"]) == ("eq_ref", "PRIMARY"), plan
            assert "filesort" not in extra, plan


def _check_sqlite(plan: list[str], *, by_id: bool) -> None:
    for line in plan:
        # a walk in the order of the primary key stops at the limit
        assert by_id or not re.match(r"SCAN (jobs|t)$", line), plan
        for word in ("TEMP B-TREE", "AUTOMATIC", "BLOOM"):
            assert word not in line, plan


SETTLING = ("ack", "retry", "retry_after", "dead_letter", "dead_letter_remove")
MANY = (
    "extend",
    "extend_write",
    "held",
    "release",
    "give_back",
    "shorten",
    "claim_write",
    "exhaust",
)


@pytest.mark.parametrize("dialect", ALL_DIALECTS)
@pytest.mark.parametrize("case", [TABLES[0], TABLES[2], TABLES[5]], ids=lambda case: case.name)
def test_settlements_and_extensions_go_by_the_primary_key(
    crowds: Any, case: Case, dialect: str
) -> None:
    from sqlclaimgen.runtime.codecs import Held

    stand: Stand = crowds(case, dialect)
    connection = stand.connect()
    now = utcnow()
    kind = stand.module.QUEUE.id_kind
    last = stand.count
    ids = list(range(last - 99, last + 1))
    many = {
        **stand.codec.held(kind, [Held(id, now, now, 2) for id in ids]),
        **stand.codec.ids(kind, ids),
    }
    for statement in stand.plan.statements:
        if statement.name not in (*SETTLING, *MANY):
            continue
        values = parameters(stand, statement, last) | {
            p.name: many[p.name] for p in statement.parameters if p.name in many
        }
        if dialect == "postgres":
            if case.name != FULL.name:
                continue  # too small: it reads the whole of it, and locks what it found
            plan = _explained(connection, statement.text, values)[0]["Plan"]
            scans = [node for node, _ in _nodes(plan) if node.get("Relation Name") == "jobs"]
            assert scans, statement.name
            for node in scans:
                if node["Node Type"] == "ModifyTable":
                    continue
                assert node["Node Type"] == "Index Scan", (statement.name, plan)
                assert node["Index Name"] == "jobs_pkey", (statement.name, plan)
        elif dialect == "sqlite":
            cursor = connection.cursor()
            cursor.execute("EXPLAIN QUERY PLAN " + statement.text, values)
            lines = [row[3] for row in cursor.fetchall()]
            on_table = [line for line in lines if re.search(r"\b(jobs|t)\b", line)]
            assert all("INTEGER PRIMARY KEY" in line for line in on_table), (statement.name, lines)
        else:
            run = Run(statement.name, statement.text, values)
            plan = _explained_innodb(connection, run)
            for line in plan:
                if line["table"] == "jobs" and "dead" not in str(line["table"]):
                    if (
                        line["type"] in ("ALL",)
                        and statement.text.startswith("INSERT")
                        and line["key"] is None
                    ):
                        continue
                    assert line["key"] == "PRIMARY", (statement.name, plan)
                    assert line["type"] in ("const", "range", "eq_ref"), (statement.name, plan)
    connection.rollback()


@pytest.mark.parametrize("dialect", ["mysql", "mariadb", "postgres"])
def test_a_claim_that_locks_nothing_is_found_out(crowds: Any, dialect: str) -> None:
    stand: Stand = crowds(TABLES[0], dialect)
    twin = stand.twin(claim=unlocked)
    step = claim(stand, stand.connect(), group(GROUP), queue=twin.QUEUE)
    step.stop_before(Commit, "claim_write")
    held = locked(stand, finished(stand))
    step.session.rollback()
    step.abandon()
    # PostgreSQL writes in the same statement
    assert len(held) == (LIMIT if dialect == "postgres" else 0)


def test_whole_is_the_same_table() -> None:
    assert WHOLE.body == FULL.body
