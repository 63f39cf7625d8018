"""The page of a table: its diagram's grammar, its tables, its bytes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sqlclaimgen.description.model import Form, Role
from sqlclaimgen.dialects import DIALECTS
from sqlclaimgen.rendering.markdown import cell, code, text
from tests.care.cases import ADVISORY, DEAD_GROUP, DEAD_TABLE, FIFO, MARKED, ROW_LOCK
from tests.conformance.harness import Case
from tests.support.generated import Generated, generate

CASES = (DEAD_TABLE, DEAD_GROUP, MARKED, FIFO, ROW_LOCK, ADVISORY)

ODD = Case(
    "odd",
    """
    name = "my|table"
    schema = "a.b"
    [table.jobs.columns]
    "new `notes`|" = { role = "id", type = "text", field = "id" }
    locked_until = { role = "locked_until" }
    """,
)

ARROW = r"[PWD](->>|-->>)[PWD]: [^;#]+"
LINE = re.compile(
    rf"    ( *)(autonumber|participant [PWD] as [\w ,]+|{ARROW}"
    r"|Note over [PWD](,[PWD])?: [^;#]+|loop [^;#]+|alt [^;#]+|else [^;#]+|end)"
)
"""The lines of a Mermaid sequence diagram that pages use. A semicolon ends a line there, and a hash
begins an entity."""


@pytest.fixture(params=[*CASES, ODD], ids=lambda case: case.name)
def generated(request: pytest.FixtureRequest, tmp_path: Path) -> Generated:
    case: Case = request.param
    return generate(case.text(), tmp_path)


def page_of(generated: Generated) -> str:
    return (generated.folder / "docs" / "queues" / "jobs.md").read_bytes().decode()


def test_the_diagram_is_one(generated: Generated) -> None:
    page = page_of(generated)
    (diagram,) = re.findall(r"```mermaid\nsequenceDiagram\n(.*?)```", page, re.DOTALL)
    lines = diagram.splitlines()
    depth = 0
    for line in lines:
        match = LINE.fullmatch(line)
        assert match, line
        word = match[2].partition(" ")[0]
        depth -= word in ("end", "else")
        assert len(match[1]) == 4 * depth, line
        depth += word in ("loop", "alt", "else")
    assert depth == 0
    table = generated.description.tables[0]
    assert ("unlock" in diagram) is (table.form is Form.ADVISORY_LOCK)
    assert ("extend" in diagram) is (table.form is Form.LEASE)
    assert ("guard" in diagram) is bool(table.fifo)


def test_its_tables_have_as_many_cells_in_each_row(generated: Generated) -> None:
    width = 0
    for line in page_of(generated).splitlines():
        if not line.startswith("|"):
            width = 0
            continue
        cells = len(re.findall(r"(?<!\\)\|", line))
        assert width in (0, cells), line
        width = cells


def test_every_statement_and_index_is_named(generated: Generated) -> None:
    page = page_of(generated)
    table = generated.description.tables[0]
    for dialect in table.dialects:
        plan = generated.plan("jobs", dialect)
        for name in [s.name for s in plan.statements] + [i.name for i in plan.indexes]:
            assert code(name) in page


def test_a_page_counts_attempts_as_its_form_does(generated: Generated) -> None:
    """The row lock form's claim writes and commits nothing; the others count and commit."""
    table = generated.description.tables[0]
    if not table.has(Role.ATTEMPT):
        return
    commits = table.form is not Form.ROW_LOCK
    page = page_of(generated)
    assert ("before the claim's COMMIT" in page) is commits
    files = [generated.folder / "sql" / one / "jobs.ddl.sql" for one in table.dialects]
    for said in (page, *(file.read_text("utf-8") for file in files)):
        assert ("Each claim adds one" in said) is commits
        assert ("so a crash adds none" in said) is not commits


def test_what_a_missing_index_costs(generated: Generated) -> None:
    """MySQL and MariaDB are told the index by name; the suites of the forms drop the indexes and look."""
    dialects = generated.description.tables[0].dialects
    naming = [DIALECTS[name].title for name in dialects if name in ("mysql", "mariadb")]
    page = page_of(generated)
    reads = "a claim without its index reads the whole table."
    refuses = f"{' and '.join(naming)} refuse{'' if len(naming) > 1 else 's'} a claim whose index is missing"
    assert (refuses in page) is bool(naming)
    assert (reads in page) is (len(naming) < len(dialects))
    assert "locks what it does not take" not in page


def test_what_a_refused_row_costs_the_others(generated: Generated) -> None:
    table = generated.description.tables[0]
    said = (
        page_of(generated)
        .partition("## When the database refuses a row\n")[2]
        .partition("\n## ")[0]
    )
    claims = {
        Form.LEASE: "made again in halves",
        Form.ROW_LOCK: "The claim writes nothing",
        Form.ADVISORY_LOCK: "the claim looks for the next",
    }
    assert [form for form, words in claims.items() if words in said] == [table.form]
    assert "`unsettled`" in said and "`stats`" in said
    deletes = table.column(Role.STATUS) is None and table.column(Role.PROCESSED_AT) is None
    assert ("ON DELETE CASCADE" in said) is deletes
    assert ("in its group wait with it" in said) is (table.fifo == "strict")
    delays = table.form is not Form.LEASE and table.column(Role.RETRY_AFTER) is not None
    assert ("the row is delayed." in said) is delays


def test_a_write_locks_the_file_on_sqlite(generated: Generated) -> None:
    for dialect in generated.description.tables[0].dialects:
        statements = generated.plan("jobs", dialect).statements
        writes = [one for one in statements if re.match("INSERT|UPDATE|DELETE", one.text)]
        assert writes
        for one in writes:
            assert ("the one writer's lock" in one.locks) is (dialect == "sqlite"), one.name


def test_the_same_input_gives_the_same_bytes(tmp_path: Path) -> None:
    pages = [page_of(generate(FIFO.text(), tmp_path / name)) for name in ("a", "b")]
    assert pages[0] == pages[1]
    assert "\r" not in pages[0] and pages[0].endswith("\n") and not pages[0].endswith("\n\n")
    assert not [line for line in pages[0].splitlines() if line != line.rstrip()]
    assert "\n\n\n" not in pages[0]


@pytest.mark.parametrize(
    ("value", "escaped"),
    [("a_b", "a_b"), ("_a_ *b* [c]", r"\_a\_ \*b\* \[c\]"), ("<x>", r"\<x\>")],
)
def test_text(value: str, escaped: str) -> None:
    assert text(value) == escaped


def test_code_and_cells() -> None:
    assert code("a`b") == "`` a`b ``"
    assert code("a|b") == r"`a\|b`"
    assert cell("a\n b | c < d") == r"a b \| c &lt; d"


def test_a_statement_says_that_it_counts_where_it_does(generated: Generated) -> None:
    table = generated.description.tables[0]
    attempt = table.column(Role.ATTEMPT)
    for dialect in table.dialects:
        for one in generated.plan("jobs", dialect).statements:
            if "counts the attempt" in " ".join(one.purpose):
                assert attempt is not None and re.search(
                    rf"^UPDATE|\bUPDATE .*\bSET\b.*{attempt.name}", one.text, re.DOTALL
                ), one.name


def test_a_statement_names_only_statements_that_are_there(generated: Generated) -> None:
    """SQLite has neither guard nor unlock."""
    for dialect in generated.description.tables[0].dialects:
        statements = generated.plan("jobs", dialect).statements
        names = {one.name for one in statements}
        for one in statements:
            said = " ".join([*one.purpose, one.transaction, one.locks, one.runs])
            for name in ("guard", "guard_release", "unlock", "probe", "claim_write", "take"):
                if re.search(rf"\b(?:before|after|until|that) (?:the )?{name}\b", said):
                    assert any(n == name or n.startswith(f"{name}_") for n in names), (
                        one.name,
                        said,
                    )
