"""What a retry says of the row's place, beside what the next claim takes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.servers import ALL_DIALECTS, Database, on_dialects
from tests.support.generated import generate

BEHIND = "behind the rows%s that are due, or claimed at once if none are"
IN_PLACE = "in its place: it is claimed again at once"

DUE = 'due = { role = "retry_after" }\n'
TABLES = {
    "delayed": (DUE, BEHIND % ""),
    "urgent": (DUE + 'urgency = { role = "priority" }\n', BEHIND % " of its priority"),
    "without a time": ('urgency = { role = "priority" }\n', IN_PLACE),
    "in order": (
        DUE + 'queue = { role = "group", type = "text", fifo = true }\n',
        "in its place: the next claim of its group takes it again",
    ),
    "in order of time": (
        DUE + 'queue = { role = "group", type = "text", fifo = "due" }\n',
        BEHIND % " of its group",
    ),
}


@pytest.mark.parametrize("case", TABLES)
@on_dialects(*ALL_DIALECTS)
def test_a_retry_says_when_its_row_is_claimed_again(
    database: Database, tmp_path: Path, case: str
) -> None:
    columns, says = TABLES[case]
    made = generate(
        f'format = 1\n[table.jobs]\ndialects = ["{database.dialect}"]\n[table.jobs.columns]\n'
        'id = { role = "id", type = "bigint", generated = true }\n'
        f'locked_until = {{ role = "locked_until" }}\n{columns}',
        tmp_path,
    )
    made.install(database, "jobs")
    jobs = made.module("jobs")
    assert (
        f"Makes the row due now, {says}. "
        in (tmp_path / "sql" / database.dialect / "jobs.sql").read_text()
    )
    assert says in jobs.Delivery.retry.__doc__
    assert f"due again now, {says}" in (tmp_path / "docs" / "queues" / "jobs.md").read_text()
    group: dict[str, Any] = {"queue": "a"} if "queue" in columns else {}
    conn = database.connect()
    first, _ = jobs.enqueue_many(conn, [jobs.New(**group), jobs.New(**group)])
    conn.commit()
    one: dict[str, Any] = {"group": "a"} if group else {"limit": 1}
    claimed: list[int] = []
    for _ in range(2):
        with jobs.claim(conn, **one) as deliveries:
            for delivery in deliveries:
                claimed.append(delivery.id)
                delivery.retry(conn)
    assert (claimed == [first, first]) == ("in its place" in says)
    assert claimed[0] == first
