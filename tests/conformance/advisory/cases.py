"""Descriptions of the advisory lock form that these tests run: everything at once, and each shape of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlclaimgen.runtime.protocols.scope import ONLY, TABLE, Scope, group
from tests.conformance.harness import Case

FULL = Case(
    "full",
    """
    advisory_lock = "accounts-{account}"
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
    account = { type = "text" }
    payload = { role = "payload", type = "json", null = true }
    note = { role = "last_error", type = "text", null = true }
    """,
    claims={"group": "a"},
)
"""Every switch that goes together, finished rows kept, dead letters in a table."""

WHOLE = FULL.with_(name="whole", claims={}, claim_name="claim_table")
"""The same table, claimed across its groups."""

PLAIN = Case(
    "plain",
    """
    advisory_lock = "accounts-{account}"
    [table.jobs.columns]
    id = { role = "id", type = "bigint", generated = true }
    account = { type = "text" }
    """,
)
"""No switch at all: finished rows are deleted, nothing is counted, a retry writes nothing."""

DELAYED = Case(
    "delayed",
    """
    advisory_lock = "accounts-{account}"
    [table.jobs.columns]
    id = { role = "id", type = "bigint", generated = true }
    run_after = { role = "retry_after" }
    attempt = { role = "attempt" }
    account = { type = "text" }
    """,
)
"""A due time, no priority, no group, finished rows deleted."""

MARKED = Case(
    "marked",
    """
    advisory_lock = "accounts-{account}"
    where = "held_back = false"
    [table.jobs.columns]
    id = { role = "id", type = "bigint", generated = true }
    queue = { role = "group", type = "text", null = true }
    priority = { role = "priority", type = "int" }
    attempt = { role = "attempt" }
    state = { role = "status", type = "text", status = { pending = "new", done = "done", dead = "failed" } }
    account = { type = "text" }
    held_back = { type = "boolean", default = false }
    note = { role = "last_error", type = "text", null = true }
    """,
    claims={"group": "a"},
)
"""A status says pending, done or dead; one more condition; a priority without a due time."""

BURIED = Case(
    "buried",
    """
    advisory_lock = "accounts-{account}"
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
    account = { type = "text" }
    origin = { role = "origin", type = "text", null = true }
    """,
    claims={"group": "a"},
)
"""Dead letters go to a group of the same table."""

SECONDS = Case(
    "seconds",
    """
    advisory_lock = "accounts-{account}"
    [table.jobs.columns]
    id = { role = "id", type = "bigint", generated = true }
    run_after = { role = "retry_after", type = "timestamp(0)" }
    account = { type = "text" }
    """,
)
"""Due times of whole seconds and nothing else: a retry may write what the row holds already."""

SHAPES = (FULL, WHOLE, PLAIN, DELAYED, MARKED, BURIED, SECONDS)
"""Every shape of the form."""

SESSIONS = ("postgres", "mysql", "mariadb")
"""Databases with session locks."""


def with_sessions(*cases: Case) -> tuple[Case, ...]:
    """The same cases on the databases with session locks alone."""
    return tuple(case.with_(dialects=SESSIONS) for case in cases)


def on(case: Case, *dialects: str) -> Case:
    """The same case on these databases alone."""
    return case.with_(dialects=dialects)


def scope_of(case: Case) -> Scope:
    """The scope of the case's claims."""
    if "queue =" not in case.body:
        return ONLY
    return group(case.claims["group"]) if "group" in case.claims else TABLE


def rows(case: Case, n: int, keys: int = 0) -> list[Mapping[str, Any]]:
    """`n` rows that are due, of three priorities. They share `keys` keys, or have one each."""
    values: list[Mapping[str, Any]] = []
    for number in range(1, n + 1):
        row: dict[str, Any] = {"id": number, "account": str(number % keys if keys else number)}
        if "queue =" in case.body:
            row["queue"] = case.claims.get("group", "ab"[number % 2])
        if "priority =" in case.body:
            row["priority"] = number % 3
        values.append(row)
    return values
