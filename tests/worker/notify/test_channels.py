"""The channel's name: as it stands in LISTEN and in pg_notify, whatever the table is called."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import pytest

from sqlclaimgen.statements.channels import channel
from tests.conformance.harness import Stand, on_cases
from tests.worker.support.waiting import NOTIFIED

PLAIN = [
    (None, "jobs", "sqlclaimgen_jobs"),
    ("app", "report_jobs", "sqlclaimgen_app_report_jobs"),
    (None, "j" * 51, "sqlclaimgen_" + "j" * 51),
]
ODD = [
    (None, "Jobs"),
    (None, "j" * 52),
    (None, "j" * 60),
    (None, 'odd "name"'),
    (None, "größe"),
    (None, "作業"),
    ("App", "jobs"),
    ("a.b", "jobs"),
    (None, "jobs; NOTIFY x"),
]


@dataclasses.dataclass
class _Table:
    schema: str | None
    name: str

    @property
    def title(self) -> str:
        return f"{self.schema}.{self.name}" if self.schema else self.name


def _channel(schema: str | None, name: str) -> str:
    table: Any = _Table(schema, name)
    return channel(table)


@pytest.mark.parametrize(("schema", "name", "expected"), PLAIN)
def test_a_plain_name_is_kept(schema: str | None, name: str, expected: str) -> None:
    assert _channel(schema, name) == expected


@pytest.mark.parametrize(("schema", "name"), ODD)
def test_another_ends_in_a_hash_of_it(schema: str | None, name: str) -> None:
    made = _channel(schema, name)
    assert re.fullmatch(r"[a-z][a-z0-9_]{0,62}", made)
    assert re.search(r"_[0-9a-f]{10}$", made)
    assert made == _channel(schema, name)


def test_no_two_tables_share_one() -> None:
    made = [_channel(*one) for one in (*ODD, *((schema, name) for schema, name, _ in PLAIN))]
    assert len(set(made)) == len(made)


@on_cases(NOTIFIED)
def test_both_sides_have_the_same_literal(stand: Stand) -> None:
    assert stand.module.QUEUE.channel == "sqlclaimgen_jobs"
    assert stand.sql["enqueue"].count("pg_notify('sqlclaimgen_jobs', '')") == 1


@on_cases(NOTIFIED.with_(body=NOTIFIED.body.replace("notify = true", "")))
def test_a_table_that_does_not_ask_has_none(stand: Stand) -> None:
    assert stand.module.QUEUE.channel is None
    assert "notify" not in stand.sql["enqueue"]
