"""The queue that the command line makes of a table is the one of its module."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from sqlclaimgen.live.queues import queue_of
from sqlclaimgen.rendering import plans
from sqlclaimgen.runtime.queue import Queue
from tests.care import cases
from tests.conformance.harness import Case
from tests.support.generated import generate

EXAMPLES = sorted(
    path.parent for path in (Path(__file__).parents[2] / "generated_examples").glob("*/tables.toml")
)
DATABASE_CLOCK = cases.DEAD_TABLE.with_(
    name="database-clock", body=f'clock = "database"\n{cases.DEAD_TABLE.body.lstrip()}'
)
CASES = [one for one in vars(cases).values() if isinstance(one, Case)]

OF_THE_MODULE = {"delivery", "outcomes", "id_type", "row", "new"}
"""What is a class of the module, which looking after a table does not need."""


def _told(queue: Queue[Any, Any, Any, Any]) -> dict[str, Any]:
    """All that a queue says of its table, without the team's own types."""
    told: dict[str, Any] = {}
    for field in dataclasses.fields(queue):
        value = getattr(queue, field.name)
        if field.name in ("columns", "enqueued"):
            value = [dataclasses.replace(column, python=None) for column in value]
        elif field.name in ("retry_after", "group") and value is not None:
            value = dataclasses.replace(value, python=None)
        told[field.name] = value
    return {name: value for name, value in told.items() if name not in OF_THE_MODULE}


@pytest.mark.parametrize("folder", EXAMPLES, ids=lambda folder: folder.name)
def test_says_of_an_example_what_its_module_says(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(folder))
    _compare((folder / "tables.toml").read_text(encoding="utf-8"), tmp_path)


@pytest.mark.parametrize("case", [DATABASE_CLOCK, *CASES], ids=lambda case: case.name)
def test_says_of_a_table_what_its_module_says(case: Case, tmp_path: Path) -> None:
    _compare(case.text(), tmp_path)


def _compare(toml: str, folder: Path) -> None:
    generated = generate(toml, folder)
    for table in generated.description.tables:
        module = generated.module(table.key)
        assert _told(queue_of(table, plans(table))) == _told(module.QUEUE)


def test_a_table_with_the_clock_of_the_database_is_looked_at_by_it(tmp_path: Path) -> None:
    generated = generate(DATABASE_CLOCK.text(), tmp_path)
    (table,) = generated.description.tables
    assert queue_of(table, plans(table)).database_clock
