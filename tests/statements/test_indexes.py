"""No index twice: over every shape of a table, on every database."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from sqlclaimgen.description import load, parse
from sqlclaimgen.description.diagnostics import DescriptionInvalid
from sqlclaimgen.description.model import Table
from sqlclaimgen.dialects import DIALECTS
from sqlclaimgen.statements import Plan, plan

ROOT = Path(__file__).parents[2]
MADE = re.compile(r"_(?:claim|work|purge|given_up|dedupe|oldest)")
"""The ends of names that are made."""

_KEYS = {
    "row_lock": "",
    "lease": "",
    "advisory_lock": 'advisory_lock = "a-{id}"\n',
}
_GROUPS = (
    "",
    'queue = { role = "group", type = "text" }',
    'queue = { role = "group", type = "text", null = true }',
    'queue = { role = "group", type = "text", fifo = true }',
    'queue = { role = "group", type = "text", null = true, fifo = true }',
    'queue = { role = "group", type = "text", null = true, fifo = "due" }',
)
_OPTIONAL = (
    'urgency = { role = "priority" }',
    'due = { role = "retry_after" }\nslip = { role = "dedupe_key" }',
    'state = { role = "status" }',
    'finished = { role = "processed_at" }',
)
_FATES = ("", 'max_attempts = 2\ndead_letter = { table = "jobs_dead" }\n')


def _texts() -> Iterator[str]:
    for (form, key), group, fate in itertools.product(_KEYS.items(), _GROUPS, _FATES):
        claims = 'claims = ["group", "table"]\n' if group else ""
        for wanted in itertools.product((False, True), repeat=len(_OPTIONAL)):
            columns = [line for line, want in zip(_OPTIONAL, wanted, strict=True) if want]
            if form == "lease":
                columns.append('locked_until = { role = "locked_until" }')
            yield "\n".join(
                (
                    f"format = 1\n[table.jobs]\n{key}{fate}{claims}[table.jobs.columns]",
                    'id = { role = "id", type = "bigint", generated = true }',
                    'attempt = { role = "attempt" }',
                    group,
                    *columns,
                )
            )


def _described() -> list[Table]:
    made: list[Table] = []
    for text in _texts():
        try:
            made += parse(text.encode(), Path("tables.toml")).tables
        except DescriptionInvalid:  # what the form does not have
            continue
    for file in sorted(ROOT.glob("generated_examples/*/tables.toml")):
        made += load(file).tables
    return made


@pytest.fixture(scope="module")
def plans() -> list[Plan]:
    tables = _described()
    assert len(tables) > 150
    return [plan(table, DIALECTS[name]) for table in tables for name in table.dialects]


def test_no_index_is_the_beginning_of_another(plans: list[Plan]) -> None:
    for made in plans:
        key = (made.table.id.name,)
        for found in (made.indexes, made.dead_indexes):
            names = [index.name for index in found]
            assert len(set(names)) == len(names)
            for one, other in itertools.permutations(found, 2):
                if one.unique or one.where != other.where:
                    continue
                assert other.columns[: len(one.columns)] != one.columns, (made.ddl, one, other)
            assert all(index.where or index.columns != key for index in found)


def test_what_statements_rely_on_is_in_the_ddl(plans: list[Plan]) -> None:
    for made in plans:
        names = [index.name for index in (*made.indexes, *made.dead_indexes)]
        for statement in made.statements:
            rest = statement.index
            for name in sorted(names, key=len, reverse=True):
                rest = rest.replace(name, "")
            assert not MADE.search(rest), (statement.name, statement.index)
            for hinted in re.findall(r"FORCE INDEX \(`?(.+?)`?\)", statement.text):
                assert hinted in (*names, "PRIMARY"), statement.name


@pytest.mark.parametrize("form", _KEYS)
def test_the_steps_through_priorities_imply_the_condition_of_their_index(form: str) -> None:
    locked = 'locked_until = { role = "locked_until" }\n' if form == "lease" else ""
    text = (
        f'format = 1\n[table.jobs]\n{_KEYS[form]}claims = ["table"]\nmax_attempts = 2\n'
        'dead_letter = { group = "dead" }\n[table.jobs.columns]\n'
        'id = { role = "id", type = "bigint", generated = true }\n'
        'queue = { role = "group", type = "text" }\nurgency = { role = "priority" }\n'
        'due = { role = "retry_after" }\nattempt = { role = "attempt" }\n'
        'origin = { role = "origin", type = "text", null = true }\n'
        f'finished = {{ role = "processed_at" }}\n{locked}'
    )
    (table,) = parse(text.encode(), Path("tables.toml")).tables
    looked = 0
    for dialect in (DIALECTS[name] for name in table.dialects):
        if not dialect.partial_indexes:
            continue
        made = plan(table, dialect)
        (where,) = [index.where for index in made.indexes if "claim_table" in index.serves]
        assert where is not None
        name, times = ("due_priorities_table", 3) if form == "advisory_lock" else ("claim_table", 2)
        statement = next(one for one in made.statements if one.name == name)
        first = statement.text.partition("WITH RECURSIVE step")[2].partition("UNION ALL")[0]
        first = first or statement.text
        for condition in where.split(" AND "):
            # in the first step, and in those after it
            found = re.findall(rf"\bt\.{re.escape(condition)}", statement.text)
            assert len(found) >= times, condition
            assert re.search(rf"(WHERE|AND) (t\.)?{re.escape(condition)}", first), statement.text
        looked += 1
    assert looked
