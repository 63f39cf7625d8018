"""What is wrong with how a statement is carried out: a table read through, a sort below a lock, more
rows read than what is asked for warrants."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from sqlclaimgen.runtime.driving import session_of
from sqlclaimgen.runtime.placeholders import expanded, names
from sqlclaimgen.statements.model import Statement
from tests.conformance.plans.crowd import Crowd

MOST = 1500
"""Rows that a statement may read besides a few for each that it is asked for."""

TABLES = ("jobs", "jobs_dead")

UNBOUNDED = ("stats_dead",)
"""Reads as far as `:most` by whatever the server likes."""

COUNTED = 5000
"""How many more a statement may read that counts as far as `:most`: some have two subselects a row."""


def faults(crowd: Crowd, statement: Statement, many: int) -> Iterator[str]:
    """What is wrong with a statement that is asked for so many rows, or given so many."""
    judges = {"postgres": _postgres, "sqlite": _sqlite}
    judge = judges.get(crowd.database.dialect, _innodb)
    given = crowd.parameters(statement.name, many)
    if statement.name == "enqueue":
        return
    used = {p.name: given[p.name] for p in statement.parameters}
    yield from judge(crowd, statement, used, _most(statement, many), many)


def _most(statement: Statement, many: int) -> int:
    return MOST + 6 * many + (COUNTED if "most" in [p.name for p in statement.parameters] else 0)


# -- PostgreSQL ---------------------------------------------------------------------------------------


def _postgres(
    crowd: Crowd, statement: Statement, used: Mapping[str, Any], most: int, many: int
) -> Iterator[str]:
    # a plan that knows of a thousand ids takes the whole of a small table, and is right
    custom = ("force_custom_plan",) if many < 100 else ()
    for mode in (*custom, "force_generic_plan"):
        plan = _explained(crowd, statement, used, mode)
        for fault in _of_plan(plan, most, 6 * many, statement.name in UNBOUNDED):
            yield f"{mode}: {fault}\n{_shown(plan)}"


def _setting(crowd: Crowd, name: str) -> str | None:
    """The statement that a claim runs before those that go on behind a row."""
    setting = re.sub(r"^(claim|probe)_further", "by_index", name)
    return next((one.text for one in crowd.plan.statements if setting == one.name != name), None)


def _explained(crowd: Crowd, statement: Statement, used: Mapping[str, Any], mode: str) -> Any:
    import psycopg

    connection = crowd.connection

    listed = names(statement.text)
    text = statement.text
    for number, name in enumerate(listed, 1):
        text = re.sub(rf"(?<![:\w]):{name}\b", f"${number}", text)
    types = [_type(used[name]) for name in listed]
    cursor = psycopg.ClientCursor(connection)
    cursor.execute("SET LOCAL plan_cache_mode = " + mode)
    if by_index := _setting(crowd, statement.name):
        cursor.execute(by_index)
    head = f"PREPARE judged{'(' + ', '.join(types) + ')' if types else ''} AS "
    cursor.execute(head + text)
    marks = ", ".join(["%s"] * len(listed))
    cursor.execute(
        "EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) EXECUTE judged"
        + (f"({marks})" if marks else ""),
        [used[name] for name in listed],
    )
    row = cursor.fetchone()
    assert row is not None
    connection.rollback()
    cursor.execute("DEALLOCATE judged")
    cursor.execute("SELECT pg_advisory_unlock_all()")
    connection.commit()
    return row[0][0]["Plan"]


def _type(value: Any) -> str:
    if isinstance(value, list):
        return _type(value[0]) + "[]" if value and _type(value[0]) != "unknown" else "text[]"
    words = {"int": "bigint", "datetime": "timestamptz"}
    return words.get(type(value).__name__, "unknown")


def _nodes(plan: Any, above: tuple[str, ...] = ()) -> Iterator[tuple[Any, tuple[str, ...]]]:
    yield plan, above
    for inner in plan.get("Plans", []):
        yield from _nodes(inner, (*above, plan["Node Type"]))


def _of_plan(plan: Any, most: int, sorted_: int, unbounded: bool) -> Iterator[str]:
    read = 0
    for node, above in _nodes(plan):
        kind = node["Node Type"]
        rows = node["Actual Rows"] * node["Actual Loops"]
        if "Sort" in kind and "LockRows" in above and rows > sorted_:
            yield f"sorts {rows} rows below the lock"
        if node.get("Relation Name") not in TABLES:
            continue
        if kind == "Seq Scan" and not unbounded:
            yield f"reads {node['Relation Name']} through"
        if kind.endswith("Scan"):
            read += rows + node.get("Rows Removed by Filter", 0) * node["Actual Loops"]
    if read > most:
        yield f"reads {read:.0f} rows, more than {most}"


def _shown(plan: Any) -> str:
    return "\n".join(
        f"{'  ' * len(above)}{node['Node Type']} {node.get('Relation Name', '')}"
        f" {node.get('Index Name', '')} rows={node.get('Actual Rows')} loops={node.get('Actual Loops')}"
        for node, above in _nodes(plan)
    )


# -- MySQL and MariaDB --------------------------------------------------------------------------------


def _innodb(
    crowd: Crowd, statement: Statement, used: Mapping[str, Any], most: int, many: int
) -> Iterator[str]:
    session = session_of(crowd.connection, table="jobs")
    session.begin("read committed")
    plan = explained_by_innodb(crowd, statement, used)
    session.run("FLUSH STATUS", {})
    session.run(statement.text, used)
    counted = session.run("SHOW SESSION STATUS LIKE 'Handler_read%'", {})
    read = sum(int(value) for _, value in counted.rows)
    session.rollback()
    crowd.connection.cursor().execute("DO RELEASE_ALL_LOCKS()")
    for fault in _of_lines(plan, statement.name in UNBOUNDED):
        yield f"{fault}: {plan}"
    if read > most:
        yield f"reads {read} rows, more than {most}: {dict(counted.rows)} {plan}"


def explained_by_innodb(
    crowd: Crowd, statement: Statement, used: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """The lines of a plan."""
    text, values = expanded(statement.text, used)
    cursor = crowd.connection.cursor()
    cursor.execute("EXPLAIN FORMAT=TRADITIONAL " + text, values)
    words = [column[0].lower() for column in cursor.description]
    return [dict(zip(words, row, strict=True)) for row in cursor.fetchall()]


def _of_lines(plan: list[dict[str, Any]], unbounded: bool) -> Iterator[str]:
    for line in plan:
        table, how = str(line["table"]), line["type"]
        if table.startswith("<") or "Table function" in str(line["extra"]) or unbounded:
            continue
        if how == "ALL" and line["key"] is None and not _target(line):
            yield f"reads {table} through"
        if table == "t" and "filesort" in str(line["extra"]):
            yield "sorts what it locks"


def _target(line: dict[str, Any]) -> bool:
    """The table that an INSERT adds to, which is not read."""
    return line.get("select_type") == "INSERT" or (line.get("rows") is None)


# -- SQLite -------------------------------------------------------------------------------------------

STEPS_PER_ROW = 25


def _sqlite(
    crowd: Crowd, statement: Statement, used: Mapping[str, Any], most: int, many: int
) -> Iterator[str]:
    connection, ticks = crowd.connection, list[int]()
    lines = [row[3] for row in connection.execute("EXPLAIN QUERY PLAN " + statement.text, used)]
    connection.set_progress_handler(lambda: ticks.append(1), 100)
    connection.execute(statement.text, used).fetchall()
    connection.set_progress_handler(None, 0)
    connection.rollback()
    for line in lines:
        by_id = crowd.plan.indexes == () or statement.name in UNBOUNDED
        if (
            re.match(r"SCAN (?:TABLE )?(jobs|jobs_dead|t|y|b|h|d|q)\b(?!.* USING )", line)
            and not by_id
        ):
            yield f"reads a table through: {lines}"
        if "AUTOMATIC" in line or "BLOOM" in line:
            yield f"makes an index for itself: {lines}"
        if "USE TEMP B-TREE FOR ORDER BY" in line and statement.name.startswith("claim"):
            yield f"sorts: {lines}"
    if 100 * len(ticks) > STEPS_PER_ROW * most:
        yield f"takes {100 * len(ticks)} steps, more than {STEPS_PER_ROW * most}: {lines}"
