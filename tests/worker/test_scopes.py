"""The groups that a worker is given are compared with the column that holds them."""

from __future__ import annotations

import enum
import uuid
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from sqlclaimgen.runtime import ClaimError
from sqlclaimgen.runtime.values import wanted
from sqlclaimgen.runtime.worker.scopes import Scopes
from tests.conformance.harness import Stand, on_cases
from tests.support.generated import generate
from tests.worker.held.cases import FIFO_LEASE, FIFO_ROW_LOCK
from tests.worker.support.cases import GROUPED
from tests.worker.support.running import OnThread, worker_of


class Colour(enum.StrEnum):
    RED = "red"


class Plain(enum.Enum):
    RED = "red"


@pytest.mark.parametrize("wrong", [1, ["a"], b"a", Plain.RED], ids=repr)
@on_cases(GROUPED, FIFO_ROW_LOCK, FIFO_LEASE)
def test_a_group_of_another_type_ends_the_run(stand: Stand, wrong: Any) -> None:
    worker = worker_of("blocking", stand, lambda delivery: None, groups=["a", wrong])
    with pytest.raises(ClaimError) as ended:
        OnThread(worker).join()
    assert f"jobs: there is {wrong!r} among `groups`" in str(ended.value)
    assert "the column queue (text) holds a str" in str(ended.value)


@on_cases(GROUPED)
def test_groups_of_the_columns_type_are_claimed(stand: Stand) -> None:
    stand.fill([{"queue": "red"}, {"queue": "blue"}, {"queue": None}])
    worker = worker_of("blocking", stand, lambda delivery: None, groups=(Colour.RED, None))
    OnThread(worker, until="empty").join()
    assert [row["queue"] for row in stand.rows()] == ["blue"]


@on_cases(FIFO_ROW_LOCK, FIFO_LEASE)
def test_no_row_is_without_a_group(stand: Stand) -> None:
    worker = worker_of("blocking", stand, lambda delivery: None, groups=[None])
    with pytest.raises(ClaimError, match=r"the column queue is not nullable\. Leave None out"):
        OnThread(worker).join()


def test_a_table_that_is_claimed_as_a_whole(tmp_path: Path) -> None:
    made = generate(
        """
        format = 1
        [table.jobs]
        dialects = ["sqlite"]
        claims = ["table"]
        [table.jobs.columns]
        id = { role = "id", type = "bigint", generated = true }
        queue = { role = "group", type = "text", null = true }
        locked_until = { role = "locked_until" }
        """,
        tmp_path,
    )
    bound = made.module("jobs").QUEUE.bind("sqlite")
    for groups in (["a"], [None], [1]):
        with pytest.raises(ClaimError, match="jobs has no claim of one group"):
            Scopes(bound, groups)


NOW = datetime(2026, 1, 1, tzinfo=UTC)
HELD: list[tuple[str, Any]] = [
    ("int", 1),
    ("smallint", -(2**15)),
    ("bigint", 2**63 - 1),
    ("text", "a"),
    ("varchar(64)", Colour.RED),
    ("uuid", uuid.UUID(int=1)),
    ("boolean", True),
    ("bytes", b"a"),
    ("date", NOW.date()),
    ("timestamp(3)", NOW),
    ("numeric(12,2)", Decimal("1.5")),
    ("numeric(12,2)", 1),
    ("double", 1.5),
    ("json", [1]),
]
NOT_HELD: list[tuple[str, Any, str]] = [
    ("int", "x", "an int"),
    ("int", True, "an int"),
    ("int", 1.0, "an int"),
    ("int", 2**31, "an int of 32 bits"),
    ("smallint", -(2**15) - 1, "an int of 16 bits"),
    ("bigint", 2**63, "an int of 64 bits"),
    ("text", 1, "a str"),
    ("uuid", "a", "a UUID"),
    ("boolean", 1, "a bool"),
    ("date", NOW, "a date"),
    ("timestamp", date(2026, 1, 1), "a datetime with a time zone"),
    ("timestamp(3)", datetime(2026, 1, 1), "a datetime with a time zone"),
    ("numeric(12,2)", "1", "a Decimal"),
    ("double", "1", "a float"),
    ("double", False, "a float"),
]


@pytest.mark.parametrize(("kind", "value"), HELD)
def test_what_a_column_holds(kind: str, value: Any) -> None:
    assert wanted(kind, value) is None


@pytest.mark.parametrize(("kind", "value", "words"), NOT_HELD)
def test_what_a_column_does_not_hold(kind: str, value: Any, words: str) -> None:
    assert wanted(kind, value) == words
