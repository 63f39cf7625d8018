"""Descriptions of the row lock form that these tests run: everything at once, and each shape of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlclaimgen.runtime.protocols.scope import ONLY, TABLE, Scope, group
from tests.conformance.harness import Case

DIALECTS = ("postgres", "mysql", "mariadb")
"""Databases with row locks."""

FULL = Case(
    "full",
    """
    max_attempts = 3
    dead_letter = { table = "jobs_dead" }
    claims = ["group", "table"]
    [table.jobs.columns]
    id = { role = "id", type = "bigint", generated = true }
    queue = { role = "group", type = "text" }
    priority = { role = "priority", type = "int" }
    run_after = { role = "retry_after" }
    attempt = { role = "attempt" }
    processed_at = { role = "processed_at" }
    payload = { role = "payload", type = "json", null = true }
    note = { role = "last_error", type = "text", null = true }
    """,
    dialects=DIALECTS,
    claims={"group": "a"},
)
"""Every switch that goes together, finished rows kept, dead letters in a table."""

WHOLE = FULL.with_(name="whole", claims={}, claim_name="claim_table")
"""The same table, claimed across its groups."""

MINIMAL = Case(
    "minimal",
    """
    [table.jobs.columns]
    id = { role = "id", type = "bigint", generated = true }
    payload = { role = "payload", type = "text", null = true }
    """,
    dialects=DIALECTS,
)
"""An id and a payload."""

DELAYED = Case(
    "delayed",
    """
    [table.jobs.columns]
    id = { role = "id", type = "bigint", generated = true }
    run_after = { role = "retry_after" }
    note = { type = "text", null = true }
    """,
    dialects=DIALECTS,
)
"""A due time and nothing else; finished rows are deleted."""

NAMED = Case(
    "named",
    """
    [table.jobs.columns]
    id = { role = "id", type = "uuid" }
    queue = { role = "group", type = "text", null = true }
    priority = { role = "priority", type = "int" }
    processed_at = { role = "processed_at" }
    """,
    dialects=DIALECTS,
    claims={"group": "a"},
)
"""A priority without a due time, ids of the producer's; rows may have no group."""

MARKED = Case(
    "marked",
    """
    [table.jobs.columns]
    id = { role = "id", type = "bigint", generated = true }
    queue = { role = "group", type = "text" }
    run_after = { role = "retry_after" }
    attempt = { role = "attempt" }
    state = { role = "status", type = "text", status = { pending = "new", done = "done", dead = "failed" } }
    note = { role = "last_error", type = "text", null = true }
    token = { role = "dedupe_key", type = "text", null = true }
    """,
    dialects=DIALECTS,
    claims={"group": "a"},
)
"""A status says pending, done or dead: dead letters stay where they are."""

BURIED = Case(
    "buried",
    """
    max_attempts = 3
    dead_letter = { group = "dead" }
    claims = ["group", "table"]
    [table.jobs.columns]
    id = { role = "id", type = "bigint", generated = true }
    queue = { role = "group", type = "text" }
    priority = { role = "priority", type = "int" }
    run_after = { role = "retry_after" }
    attempt = { role = "attempt" }
    processed_at = { role = "processed_at" }
    origin = { role = "origin", type = "text", null = true }
    note = { role = "last_error", type = "text", null = true }
    """,
    dialects=DIALECTS,
    claims={"group": "a"},
)
"""Dead letters go to a group of the same table, which keeps where they came from."""

CHOSEN = Case(
    "chosen",
    """
    where = "held_back = false"
    [table.jobs.columns]
    id = { role = "id", type = "bigint", generated = true }
    queue = { role = "group", type = "text" }
    run_after = { role = "retry_after" }
    attempt = { role = "attempt" }
    held_back = { type = "boolean", default = false }
    """,
    dialects=DIALECTS,
    claims={"group": "a"},
)
"""One more condition that a row must meet."""

SHAPES = (FULL, WHOLE, MINIMAL, DELAYED, NAMED, MARKED, BURIED, CHOSEN)
"""Every shape of the form."""


def scope_of(case: Case) -> Scope:
    """What the protocols call the case's claims."""
    if "group" in case.claims:
        return group(case.claims["group"])
    return TABLE if case.claim_name == "claim_table" else ONLY


def rows(case: Case, n: int, *, priorities: int = 3) -> list[Mapping[str, Any]]:
    """`n` due rows for `Stand.fill`, ids from 1, in the group of the case's claims."""
    values: list[Mapping[str, Any]] = []
    for number in range(1, n + 1):
        row: dict[str, Any] = {"id": number}
        if "queue =" in case.body:
            row["queue"] = case.claims.get("group", "ab"[number % 2])
        if "priority =" in case.body:
            row["priority"] = number % priorities
        values.append(row)
    return values
