from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from sqlclaimgen.description import Description, DescriptionInvalid, load, parse, report
from sqlclaimgen.description.model import (
    DeadLetterGroup,
    DeadLetterTable,
    Form,
    Kind,
    PythonType,
    Role,
    StatusValues,
    Table,
    Type,
)

EXAMPLE = """\
#:schema ./schemas/tables.schema.json
format = 1

[output]                       # all optional, relative to this file
sql = "sql"
python = "queues"
docs = "docs/queues"

[table.report_jobs]            # the key names the Python module and the files
name = "report_jobs"
schema = "app"
dialects = ["sqlite", "postgres", "mariadb"]
lease = "60s"                  # whole seconds, 30s unless set
max_attempts = 5
dead_letter = { table = "report_jobs_dead" }

[table.report_jobs.columns]
job_id       = { role = "id", type = "bigint", generated = true }
queue        = { role = "group", type = "text" }
urgency      = { role = "priority", type = "smallint", default = 0 }
customer     = { role = "partition_key", type = "text" }
retry_after  = { role = "retry_after" }
attempt      = { role = "attempt" }
locked_until = { role = "locked_until" }
processed_at = { role = "processed_at" }
payload      = { role = "payload", type = "json", python = "app.models:Report" }
note         = { type = "text", null = true, field = "remark" }
"""


def described(text: str) -> Description:
    try:
        return parse(text.encode(), Path("tables.toml"))
    except DescriptionInvalid as error:
        pytest.fail(report.text(error.diagnostics))


def table(columns: str, keys: str = "") -> Table:
    text = f"format = 1\n[table.jobs]\n{keys}\n[table.jobs.columns]\n{columns}"
    return described(text).tables[0]


ID = 'id = { role = "id", type = "bigint" }\n'
MICROS = Type(Kind.TIMESTAMP, precision=6)


def test_the_example_of_the_design_is_understood(tmp_path: Path) -> None:
    path = tmp_path / "tables.toml"
    path.write_text(EXAMPLE, encoding="utf-8")
    description = load(path)
    assert description.source == "tables.toml"
    assert [found.code for found in description.warnings] == ["RETRY-AT-ONCE"]
    [jobs] = description.tables
    assert jobs.title == "app.report_jobs"
    assert jobs.dialects == ("postgres", "mariadb", "sqlite")
    assert jobs.form is Form.LEASE
    assert (jobs.lease, jobs.max_attempts, jobs.claims) == (60, 5, ("group",))
    assert jobs.dead_letter == DeadLetterTable("report_jobs_dead", "app")
    assert [column.field for column in jobs.columns][-2:] == ["payload", "remark"]
    assert jobs.id.generated
    payload = jobs.column(Role.PAYLOAD)
    assert payload is not None
    assert payload.python == PythonType("app.models", "Report")


def test_roles_fill_in_what_is_left_out() -> None:
    jobs = table(
        ID
        + "".join(
            f'{role} = {{ role = "{role}" }}\n'
            for role in [
                "priority",
                "retry_after",
                "attempt",
                "processed_at",
                "locked_until",
                "headers",
                "last_error",
                "dedupe_key",
                "status",
            ]
        )
    )
    facts = {
        column.name: (column.type, column.null, column.default, column.default_now)
        for column in jobs.columns[1:]
    }
    assert facts == {
        "priority": (Type(Kind.SMALLINT), False, 0, False),
        "retry_after": (MICROS, False, None, True),
        "attempt": (Type(Kind.INT), False, 1, False),
        "processed_at": (MICROS, True, None, False),
        "locked_until": (MICROS, True, None, False),
        "headers": (Type(Kind.JSON), True, None, False),
        "last_error": (Type(Kind.TEXT), True, None, False),
        "dedupe_key": (Type(Kind.TEXT), True, None, False),
        "status": (Type(Kind.TEXT), False, "pending", False),
    }


def test_a_status_of_numbers_is_a_smallint() -> None:
    jobs = table(
        ID + 's = { role = "status", status = { pending = 0, done = 1, dead = 2 } }\n',
    )
    [_, status] = jobs.columns
    assert status.type == Type(Kind.SMALLINT)
    assert status.status == StatusValues(0, 1, 2)
    assert status.default == 0


def test_a_column_called_locked_until_plays_its_role_unasked() -> None:
    assert table(ID + "locked_until = {}\n").form is Form.LEASE
    assert table(ID + 'until = { role = "locked_until" }\n').form is Form.LEASE
    assert table(ID + 'retry_after = { type = "timestamp" }\n').column(Role.RETRY_AFTER) is None


def test_forms_are_selected_and_serve_their_databases() -> None:
    row_lock, advisory = table(ID), table(ID, 'advisory_lock = "jobs-{id}"')
    assert (row_lock.form, row_lock.dialects) == (
        Form.ROW_LOCK,
        ("postgres", "mysql", "mariadb"),
    )
    assert advisory.form is Form.ADVISORY_LOCK
    assert advisory.dialects == ("postgres", "mysql", "mariadb", "sqlite")
    assert table(ID, 'form = "row_lock"') == row_lock


def test_claims_and_order_of_groups() -> None:
    group = "id = {{ role = 'id', type = 'int' }}\n"
    group += "queue = {{ role = 'group', type = 'text', fifo = {} }}\n"
    assert table(group.format("false")).fifo is None
    assert table(group.format("true")).fifo == "strict"
    assert table(group.format('"due"')).fifo == "due"
    assert table(group.format("true")).claims == ("group",)
    both = table(group.format("false"), 'claims = ["table", "group"]')
    assert both.claims == ("group", "table")
    assert table(ID).claims == ("table",)


def test_a_dead_letter_group_keeps_its_origin() -> None:
    jobs = table(
        ID
        + 'n = { role = "group", type = "int" }\nfrom_n = { role = "origin" }\n'
        + 'attempt = { role = "attempt" }\nlocked_until = {}\n',
        "max_attempts = 3\ndead_letter = { group = -1 }",
    )
    assert jobs.dead_letter == DeadLetterGroup(-1)
    origin = jobs.column(Role.ORIGIN)
    assert origin is not None
    assert (origin.type, origin.null) == (Type(Kind.INT), True)


def test_a_dead_letter_table_may_lack_columns_and_have_a_schema_of_its_own() -> None:
    jobs = table(
        ID + 'attempt = { role = "attempt" }\nlocked_until = {}\nreason = { type = "text" }\n',
        'schema = "app"\nmax_attempts = 3\n'
        'dead_letter = { table = "d", schema = "dead", reason = false, error = "why" }',
    )
    assert jobs.dead_letter == DeadLetterTable("d", "dead", None, "why", "died_at")


def test_types_and_defaults_are_taken_as_written() -> None:
    jobs = table(
        ID
        + 'a = { type = "varchar( 5 )", default = "abcde" }\n'
        + 'b = { type = "numeric(5, 2)", default = "123.45" }\n'
        + 'c = { type = "timestamp(3)", default = "now" }\n'
        + 'd = { type = "date", default = "2024-02-29" }\n'
        + 'e = { type = "boolean", default = false }\n'
        + 'f = { type = "double", default = 1 }\n'
        + 'g = { type = "bigint", default = -9223372036854775808 }\n'
        + 'h = { type = "text", default = "now" }\n'
        + 'i = { type = "text", sql = { postgres = "citext" } }\n'
    )
    types = {column.name: str(column.type) for column in jobs.columns}
    assert (types["a"], types["b"], types["c"]) == ("varchar(5)", "numeric(5,2)", "timestamp(3)")
    defaults = {c.name: (c.default, c.default_now) for c in jobs.columns}
    assert defaults["a"] == ("abcde", False)
    assert defaults["b"] == ("123.45", False)
    assert defaults["c"] == (None, True)
    assert defaults["d"] == ("2024-02-29", False)
    assert defaults["e"] == (False, False)
    assert defaults["f"] == (1, False)
    assert defaults["g"] == (-(2**63), False)
    assert defaults["h"] == ("now", False)
    assert dict(jobs.columns[-1].sql) == {"postgres": "citext"}


@pytest.mark.parametrize(
    ("written", "seconds"), [("1s", 1), ("90s", 90), ("5m", 300), ("1h", 3600), ("2d", 172800)]
)
def test_leases_are_in_seconds(written: str, seconds: int) -> None:
    assert table(ID + "locked_until = {}\n", f'lease = "{written}"').lease == seconds
    assert table(ID + "locked_until = {}\n").lease == 30


def test_dd_07_a_lease_coarser_than_microseconds_needs_an_attempt() -> None:
    coarse = ID + 'locked_until = { type = "timestamp(0)" }\n'
    with pytest.raises(DescriptionInvalid) as caught:
        parse(f"format = 1\n[table.jobs.columns]\n{coarse}".encode(), Path("t.toml"))
    assert [found.code for found in caught.value.diagnostics] == ["LEASE-COARSE"]
    assert table(coarse + 'attempt = { role = "attempt" }\n').form is Form.LEASE


def test_fo_09_fifo_warns_of_ids_without_order() -> None:
    text = (
        "format = 1\n[table.jobs]\nretry = { backoff = 'none' }\n[table.jobs.columns]\n"
        "id = { role = 'id', type = '%s' }\n"
        "queue = { role = 'group', type = 'text', fifo = true }\n"
    )
    codes = {
        kind: [found.code for found in described(text % kind).warnings]
        for kind in ("uuid", "text", "varchar(9)", "bigint", "smallint")
    }
    assert codes == {
        "uuid": ["FIFO-ORDER"],
        "text": ["FIFO-ORDER"],
        "varchar(9)": ["FIFO-ORDER"],
        "bigint": [],
        "smallint": [],
    }


def test_sh_06_max_attempts_on_a_row_lock_table_warns_that_a_crash_does_not_count() -> None:
    text = (
        "format = 1\n[table.jobs]\nmax_attempts = 3\ndead_letter = { table = 'dead' }\n"
        "retry = { backoff = 'none' }\n[table.jobs.columns]\nid = { role = 'id', type = 'bigint' }\n"
        "attempt = { role = 'attempt' }\n"
    )
    [warning] = described(text).warnings
    assert (warning.code, warning.severity) == ("ATTEMPTS-ROW-LOCK", "warning")
    assert "a crash does not count" in warning.what
    assert described(text + "locked_until = {}\n").warnings == ()


def test_every_mistake_is_reported_in_one_run_and_in_order() -> None:
    text = EXAMPLE.replace('"60s"', "60").replace("max_attempts", "max_atempts")
    text = text.replace("generated", "generate").replace('"smallint"', '"small"')
    text += '"%" = { type = "text" }\n[table.two]\n'
    with pytest.raises(DescriptionInvalid) as caught:
        parse(text.encode(), Path("tables.toml"))
    found = caught.value.diagnostics
    assert [(each.line, each.code) for each in found] == [
        (13, "DURATION"),
        (14, "UNKNOWN-KEY"),
        (18, "UNKNOWN-KEY"),
        (20, "TYPE-UNKNOWN"),
        (28, "FIELD-UNMAPPABLE"),
        (29, "MISSING-KEY"),
    ]


def test_a_table_is_loaded_in_a_few_milliseconds() -> None:
    import time

    described(EXAMPLE)
    start = time.perf_counter()
    for _ in range(20):
        described(EXAMPLE)
    assert (time.perf_counter() - start) / 20 < 0.05  # 2 ms on an idle machine


def test_heavy_imports_wait_until_they_are_needed() -> None:
    program = (
        "import sys, pathlib\n"
        "import sqlclaimgen.description, sqlclaimgen.description.model\n"
        "assert 'pydantic' not in sys.modules\n"
        "text = sys.argv[1].encode()\n"
        "sqlclaimgen.description.parse(text, pathlib.Path('t.toml'))\n"
        "assert 'sqlglot' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program, EXAMPLE], check=True)
