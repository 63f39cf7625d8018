"""`sql`: statements with literals, pasted into each server's own client."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from sqlclaimgen.description.model import Column, Kind, Role
from sqlclaimgen.rendering.pasting import pasted
from sqlclaimgen.statements import Plan
from sqlclaimgen.statements.parameters import Shape, shape
from tests.servers import Database
from tests.support.generated import Generated, generate

from .conftest import Run

NOW = datetime(2026, 1, 31, 12, 0, 0, 123456, UTC)
HOSTILE = """it's "so" \\ \\' :x %s % {} `b`; -- \n $1 $$ ä€🙂"""

COLUMNS = """
id          = {{ role = "id", type = "{id}" }}
queue       = {{ role = "group", type = "text" {fifo} }}
priority    = {{ role = "priority" }}
retry_after = {{ role = "retry_after" }}
attempt     = {{ role = "attempt" }}
dedupe      = {{ role = "dedupe_key" }}
last_error  = {{ role = "last_error" }}
{more}
now         = {{ type = "text", null = true }}
small       = {{ type = "smallint", null = true }}
raw         = {{ type = "bytes", null = true }}
extra       = {{ type = "json", null = true }}
key         = {{ type = "uuid", null = true }}
flag        = {{ type = "boolean", null = true }}
at          = {{ type = "timestamp(3)", null = true }}
day         = {{ type = "date", null = true }}
price       = {{ type = "numeric(10,2)", null = true }}
share       = {{ type = "double", null = true }}
"""
FORMS = {
    "lease": 'locked_until = { role = "locked_until" }',
    "fifo": 'locked_until = { role = "locked_until" }',
    "row_lock": 'processed_at = { role = "processed_at" }',
    "advisory_lock": 'processed_at = { role = "processed_at" }',
}
ROW = {
    "id": "7",
    "queue": HOSTILE,
    "priority": "-1",
    "retry_after": "now-5m",
    "dedupe": "null",
    "now": HOSTILE,
    "small": "-3",
    "raw": "00ff27",
    "extra": json.dumps({"text": HOSTILE}),
    "key": "6f1ab1c8-6d1a-4f0e-9f6e-111111111111",
    "flag": "true",
    "at": "2026-01-31T12:00:00.789+01:00",
    "day": "2026-02-28",
    "price": "12.50",
    "share": "0.1",
}


def described(form: str, dialect: str, folder: Path, id: str = "bigint") -> Generated:
    keys = 'advisory_lock = "jobs-{queue}"' if form == "advisory_lock" else ""
    fifo = ", fifo = true" if form == "fifo" else ""
    return generate(
        f'format = 1\n[table.jobs]\ndialects = ["{dialect}"]\nclaims = ["group", "table"]\n{keys}\n'
        f'max_attempts = 3\ndead_letter = {{ table = "jobs_dead" }}\n[table.jobs.columns]\n'
        + COLUMNS.format(id=id, more=FORMS[form], fifo=fifo),
        folder,
    )


def paste(database: Database, folder: Path, *statements: str) -> str:
    script = folder / "pasted.sql"
    script.write_text("\n".join(statements) + "\n", encoding="utf-8")
    return database.load_with_client(script)


def test_a_row_pasted_in_is_the_row(database: Database, tmp_path: Path, run: Run) -> None:
    made = described("lease", database.dialect, tmp_path)
    made.install(database, "jobs")
    values = [f"--set={name}={value}" for name, value in ROW.items()]
    done = run("sql", "jobs", "enqueue", *values, "--file", tmp_path)
    assert done.code == 0, done.err
    paste(database, tmp_path, done.out)
    module = made.module("jobs")
    connection = database.connect(autocommit=True)
    with module.claim(connection, group=HOSTILE) as (delivery,):
        row: Any = delivery.row
        assert (row.id, row.queue, row.priority, row.now, row.small) == (
            7,
            HOSTILE,
            -1,
            HOSTILE,
            -3,
        )
        assert (row.raw, row.extra, row.flag) == (b"\x00\xff'", {"text": HOSTILE}, True)
        assert (
            str(row.key) == ROW["key"] and row.at.isoformat() == "2026-01-31T11:00:00.789000+00:00"
        )
        assert (str(row.day), str(row.price), row.share) == ("2026-02-28", "12.50", 0.1)


def test_a_claim_and_its_settlement_can_be_done_by_paste(
    database: Database, tmp_path: Path, run: Run
) -> None:
    made = described("lease", database.dialect, tmp_path)
    made.install(database, "jobs")
    until = "2030-01-01T00:00:00.000001Z"

    def text(statement: str, **values: str) -> str:
        wanted = {
            parameter.name for parameter in named(made.plan("jobs", database.dialect), statement)
        }
        options = [f"--set={name}={value}" for name, value in values.items() if name in wanted]
        done = run("sql", "jobs", statement, *options, "--file", tmp_path)
        assert done.code == 0, done.err
        return done.out

    claim = [
        text(
            "claim",
            group=HOSTILE,
            now="now",
            locked_until=until,
            limit="1",
            window="9",
            priority="-1",
        )
    ]
    if any(one.name == "claim_write" for one in made.plan("jobs", database.dialect).statements):
        claim.append(text("claim_write", ids="7", locked_until=until))
    paste(database, tmp_path, text("enqueue", **ROW), "BEGIN;", *claim, "COMMIT;")
    assert database.value("SELECT attempt FROM jobs WHERE id = 7") == 2
    held = {"held": f"7/{until}/2", "ids": "7", "tokens": until, "sents": until, "attempts": "2"}
    assert "7" in paste(database, tmp_path, text("held", **held))
    settle = {"id": "7", "token": until, "sent": until, "now": "now"}
    paste(database, tmp_path, text("ack", **settle, attempt="1"))
    assert database.value("SELECT COUNT(*) FROM jobs") == 1
    paste(database, tmp_path, text("ack", **settle, attempt="2"))
    assert database.value("SELECT COUNT(*) FROM jobs") == 0


def named(plan: Plan, statement: str) -> Any:
    return next(one for one in plan.statements if one.name == statement).parameters


VALUES: dict[Shape, Callable[[Plan], str]] = {
    Shape.TIME: lambda plan: "now+60s",
    Shape.TIMES: lambda plan: "now,2026-01-31T12:00:00+02:00",
    Shape.NUMBER: lambda plan: "1",
    Shape.NUMBERS: lambda plan: "1,2",
    Shape.TEXT: lambda plan: '["it\'s"]',
    Shape.TEXTS: lambda plan: '["it\'s, so", "b"]',
    Shape.IDS: lambda plan: json.dumps([sample(plan.table.id), sample(plan.table.id)]),
    Shape.GROUPS: lambda plan: json.dumps([HOSTILE, "b"]),
    Shape.HELD: lambda plan: ",".join(
        "/".join(
            [sample(plan.table.id), "2026-01-31", *(["2"] if plan.table.has(Role.ATTEMPT) else [])]
        )
        for _ in range(2)
    ),
}


def sample(column: Column) -> str:
    return {Kind.TEXT: "it's", Kind.UUID: ROW["key"]}.get(
        column.type.kind, ROW.get(column.name, "1")
    )


@pytest.mark.parametrize("id", ["bigint", "uuid", "text"])
@pytest.mark.parametrize("form", FORMS)
def test_every_statement_runs_as_it_is_printed(
    database: Database, tmp_path: Path, form: str, id: str
) -> None:
    if form == "row_lock" and database.dialect == "sqlite":
        pytest.skip("SQLite has no row locks")
    made = described(form, database.dialect, tmp_path, id)
    made.install(database, "jobs")
    plan = made.plan("jobs", database.dialect)
    script: list[str] = []
    for statement in plan.statements:
        given: dict[str, str] = {}
        for parameter in statement.parameters:
            found = shape(plan.table, statement.name, parameter.name)
            if isinstance(found, Column):
                row = {**ROW, "id": sample(plan.table.id)}
                given[parameter.name] = row.get(found.name, "now")
            else:
                given[parameter.name] = VALUES[found](plan)
        script += ["BEGIN;", pasted(plan, statement, given, NOW), "ROLLBACK;"]
    paste(database, tmp_path, *script)
    assert database.value("SELECT COUNT(*) FROM jobs") == 0


def test_what_is_missing_is_named(project: Path, run: Run) -> None:
    done = run("sql", "jobs", "ack", "--dialect", "postgres", "--set", "id=1", "--set", "x=1")
    assert done.code == 2 and done.out == ""
    assert done.err.splitlines() == [
        "error: x: ack has no such parameter",
        "    hint: It has id, token, sent, attempt.",
        "error: token is missing: timestamptz, the expiry held",
        "error: sent is missing: timestamptz, an expiry sent and not answered, or the token again",
        "error: attempt is missing: integer, as the row holds it: one more than the delivery's",
        "    hint: Add --set NAME=VALUE for each.",
    ]


@pytest.mark.parametrize(
    ("statement", "value", "why", "hint"),
    [
        ("ack", "id=x", "id: 'x' is no integer", "id takes bigint: write a whole number."),
        (
            "ack",
            "token=soon",
            "token: 'soon' is no time",
            "the expiry held: write 2026-01-31T12:00:00Z, now or now+60s.",
        ),
        ("ack", "attempt=1.5", "attempt: '1.5' is no integer", ": write a whole number."),
        (
            "claim",
            "limit=x",
            "limit: 'x' is no integer",
            "limit takes integer, at most so many rows: write a whole number.",
        ),
        ("enqueue", "payload={", "payload: '{' is no JSON", "payload takes jsonb: write JSON."),
    ],
)
def test_what_cannot_be_read_is_named(
    project: Path, run: Run, statement: str, value: str, why: str, hint: str
) -> None:
    done = run("sql", "jobs", statement, "--dialect", "postgres", "--set", value)
    error, way_out, *_ = done.err.splitlines()
    assert done.code == 2 and error == f"error: {why}"
    assert way_out.startswith("    hint: ") and way_out.endswith(hint)


@pytest.mark.parametrize("dialect", ["postgres", "mysql", "mariadb", "sqlite"])
@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("share=nan", "share: 'nan' is no finite number"),
        ("share=-inf", "share: '-inf' is no finite number"),
        ("share=1e400", "share: '1e400' is no finite number"),
        ("price=NaN", "price: 'NaN' is no finite number"),
        ("price=sNaN", "price: 'sNaN' is no finite number"),
        ("price=-Infinity", "price: '-Infinity' is no finite number"),
        (f"id={2**77}", f"id: {2**77} has more than 64 bits"),
        ('extra={"a": NaN}', """extra: '{"a": NaN}' is no JSON"""),
        ("extra=-Infinity", "extra: '-Infinity' is no JSON"),
        ("retry_after=now+99999999999999999s", "retry_after: 'now+99999999999999999s' is out of"),
        (
            "retry_after=0001-01-01T00:00:00+05:00",
            "retry_after: '0001-01-01T00:00:00+05:00' is out",
        ),
        ("at=9999-12-31T23:59:59-05:00", "at: '9999-12-31T23:59:59-05:00' is out of range"),
        ("now=\udcff", "now: '\\udcff' has a byte at 0 that is no text"),
        ("extra=" + "[" * 90_000, "extra: the JSON nests too deeply"),
        ("share=" + "x" * 90_000, "share: 'xxx"),
    ],
    ids=lambda value: value[:20].encode("ascii", "backslashreplace").decode(),
)
def test_what_no_database_reads_is_refused(
    tmp_path: Path, run: Run, dialect: str, value: str, why: str
) -> None:
    described("lease", dialect, tmp_path)
    row = [f"--set={name}={text}" for name, text in ROW.items()]
    done = run("sql", "jobs", "enqueue", *row, f"--set={value}", "--file", tmp_path)
    error, way_out = done.err.splitlines()
    assert (done.code, done.out) == (2, "")
    assert error.startswith(f"error: {why}") and len(error) < 200
    assert way_out.startswith("    hint: ")


def test_a_list_that_nests_too_deeply_is_refused(tmp_path: Path, run: Run) -> None:
    described("lease", "mysql", tmp_path)
    done = run("sql", "jobs", "extend", f"--set=ids={'[' * 90_000}", "--file", tmp_path)
    assert done.code == 2 and "error: ids: the JSON nests too deeply\n" in done.err


def test_a_wrong_call(project: Path, run: Run) -> None:
    assert "has no table `nope`" in run("sql", "nope", "ack").err
    assert "has no statement `nope`" in run("sql", "payouts", "nope").err
    assert "is for several databases" in run("sql", "jobs", "ack").err
    assert "is not for `mysql`" in run("sql", "jobs", "ack", "--dialect", "mysql").err
    assert "`id` is no value" in run("sql", "payouts", "ack", "--set", "id").err
    nul = run("sql", "jobs", "claim", "--dialect", "sqlite", "--set=group=a\0b")
    assert nul.code == 2 and "NUL" in nul.err
