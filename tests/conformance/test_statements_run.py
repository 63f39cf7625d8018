"""Every emitted statement, run by a real server on a filled and on an empty table (WC-10)."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlglot

from sqlclaimgen.dialects import DIALECTS, Dialect
from sqlclaimgen.runtime import utcnow
from sqlclaimgen.runtime.codecs import Held
from sqlclaimgen.runtime.driving import session_of
from sqlclaimgen.runtime.placeholders import names
from sqlclaimgen.statements.model import Statement
from tests.conformance.cases import BURIED, FULL, SHAPES
from tests.conformance.harness import Case, Stand, on_cases
from tests.conformance.test_claiming import rows
from tests.conformance.test_names import ODD
from tests.support.generated import generate


def parameters(stand: Stand, statement: Statement, id: Any) -> dict[str, Any]:
    """Something that fits every parameter of a statement."""
    now = utcnow()
    codec, queue = stand.codec, stand.module.QUEUE
    time = codec.time(now)
    held = [Held(id, now, now, 2)]
    known: dict[str, Any] = {
        **dict.fromkeys(("now", "due", "token", "sent", "soon", "until", "before", "since"), time),
        "locked_until": codec.time(now + timedelta(seconds=60)),
        **dict.fromkeys(("limit", "window"), 5),
        **dict.fromkeys(("attempt", "priority", "last", "most"), 1),
        **dict.fromkeys(("reason", "error", "group", "after", "tail"), "a"),
        **codec.held(queue.id_kind, held),
        **codec.ids(queue.id_kind, [id]),
        **codec.set_aside([codec.encode(queue.id_kind, id)]),
        "id": codec.encode(queue.id_kind, id),
        "seen_id": codec.encode(queue.id_kind, id),
        "seen_value": time if queue.retry_after is not None else 1,
    }
    fields = {column.field: column for column in stand.table.columns}
    for name in (p.name for p in statement.parameters):
        if statement.name == "enqueue":
            known[name] = time if name in _time_fields(stand) else _example(fields[name])
        elif name not in known:
            raise AssertionError(f"nothing is known of :{name} of {statement.name}")
    return {name: known[name] for name in (p.name for p in statement.parameters)}


def _time_fields(stand: Stand) -> set[str]:
    return {c.field for c in stand.table.columns if c.type.kind == "timestamp"}


def _example(column: Any) -> Any:
    match column.type.kind:
        case "json":
            return "{}"
        case "text" | "varchar":
            return f"{column.field} example"
        case "boolean":
            return False
        case _:
            return 1


@on_cases(*SHAPES, *ODD)
def test_every_statement_runs_on_a_filled_and_on_an_empty_table(stand: Stand) -> None:
    session = session_of(stand.connect(), table="jobs")
    for filled, statement in itertools.product((False, True), stand.plan.statements):
        session.begin("read committed")
        if filled and stand.case in SHAPES:
            session.run(f"DELETE FROM {stand.plan.dialect.quote(stand.table.name)}", {})
            session.commit()
            stand.fill(rows(stand.case, 20))
            session.begin("read committed")
        # what an operator brings back is a dead letter, and none of these rows is one
        id = 999 if statement.name.startswith("redrive") else 1
        result = session.run(statement.text, parameters(stand, statement, id))
        session.rollback()
        claims = re.fullmatch(r"claim(_table|_ungrouped)?", statement.name)
        if claims and filled and stand.case in SHAPES and "_ungrouped" not in statement.name:
            assert 1 <= len(result.rows) <= 5
        elif claims:
            assert len(result.rows) == 0


@on_cases(*SHAPES)
def test_the_text_of_the_sql_file_is_what_reaches_the_driver(stand: Stand) -> None:
    path = stand.generated.folder / "sql" / stand.dialect / "jobs.sql"
    blocks = dict(_blocks(path.read_text(encoding="utf-8")))
    assert blocks == dict(stand.module.QUEUE.statements[stand.dialect])
    assert blocks == stand.sql
    # and the driver gets that text, with its placeholders respelled and nothing else
    seen: list[str] = []
    connection = stand.connect()
    stand.fill(rows(stand.case, 2))
    if stand.dialect == "sqlite":
        connection.set_trace_callback(seen.append)
        stand.claim(connection)
        expected = [re.escape(blocks[stand.case.claim_name])]
        assert any(_normal(blocks[stand.case.claim_name]) == _normal(text) for text in seen), (
            expected
        )


def _blocks(text: str) -> Iterator[tuple[str, str]]:
    """The named blocks of a `.sql` file, read as a stranger would: comments off, semicolon off."""
    for part in re.split(r"^-- name: ", text, flags=re.MULTILINE)[1:]:
        name, _, body = part.partition("\n")
        lines = body.split("\n")
        while lines and (lines[0].startswith("--") or not lines[0]):
            lines.pop(0)
        sql = "\n".join(lines).strip()
        assert sql.endswith(";")
        yield name.strip(), sql[:-1]


def _normal(sql: str) -> str:
    """A text whose literals and placeholders are one letter (sqlite3 shows parameters filled in)."""
    return re.sub(r"\s+", " ", re.sub(r":\w+|'[^']*'|\b\d+\b", "?", sql))


@pytest.mark.parametrize("case", (*SHAPES, *ODD), ids=lambda case: case.name)
def test_sqlglot_reads_every_statement(case: Case, tmp_path: Path) -> None:
    generated = generate(case.text(), tmp_path)
    for dialect in case.dialects:
        for statement in generated.plan(case.key, dialect).statements:
            _parsed(statement, DIALECTS[dialect])


def _parsed(statement: Statement, dialect: Dialect) -> None:
    text = statement.text
    for name in names(text, backslashes=dialect.backslashes):
        text = re.sub(rf"(?<![:\w]):{name}\b", "NULL", text)
    # sqlglot does not know this clause of PostgreSQL's
    text = text.replace(" OVERRIDING SYSTEM VALUE", "")
    parsed = sqlglot.parse(text, dialect=dialect.sqlglot)
    assert len(parsed) == 1 and parsed[0] is not None, statement.name


@on_cases(FULL, BURIED)
def test_every_statement_says_what_a_dba_asks(stand: Stand) -> None:
    for statement in stand.plan.statements:
        assert statement.purpose and statement.transaction and statement.locks
        assert statement.index and statement.runs
        assert {p.name for p in statement.parameters} == set(
            names(statement.text, backslashes=stand.plan.dialect.backslashes)
        )
        index = statement.index.rstrip(".")
        known = {i.name for i in (*stand.plan.indexes, *stand.plan.dead_indexes)}
        words = re.split(r",? and |, ", index)
        assert all(
            word in known or word in ("the primary key", "none") or " " in word for word in words
        ), statement.index


@pytest.mark.parametrize("wrong", ["no_such_column"])
@on_cases(FULL)
def test_a_statement_that_does_not_fit_the_table_is_named(stand: Stand, wrong: str) -> None:
    from sqlclaimgen.runtime import FaultKind, StatementFailed

    stand.fill(rows(stand.case, 1))
    twin = stand.twin(claim=lambda sql: sql.replace("run_after", wrong))
    with pytest.raises(StatementFailed) as failed:
        stand.claim(stand.connect(), module=twin)
    assert failed.value.kind is FaultKind.REFUSED
    assert (failed.value.table, failed.value.statement) == ("jobs", "claim")
    assert wrong in str(failed.value)
