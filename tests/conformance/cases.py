"""Descriptions of the lease form that the suite runs: everything at once, and each shape of it."""

from __future__ import annotations

from tests.conformance.harness import Case

FULL = Case(
    "full",
    """
    lease = "60s"
    max_attempts = 3
    dead_letter = { table = "jobs_dead" }
    claims = ["group", "table"]
    [table.jobs.columns]
    id = { role = "id", type = "bigint", generated = true }
    queue = { role = "group", type = "text" }
    priority = { role = "priority", type = "int" }
    run_after = { role = "retry_after" }
    attempt = { role = "attempt" }
    locked_until = { role = "locked_until" }
    processed_at = { role = "processed_at" }
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
    lease = "60s"
    [table.jobs.columns]
    id = { role = "id", type = "bigint", generated = true }
    locked_until = { role = "locked_until" }
    note = { type = "text", null = true }
    """,
)
"""No switch at all: finished rows are deleted, nothing is counted."""

DELAYED = Case(
    "delayed",
    """
    lease = "60s"
    [table.jobs.columns]
    id = { role = "id", type = "bigint", generated = true }
    run_after = { role = "retry_after" }
    attempt = { role = "attempt" }
    locked_until = { role = "locked_until" }
    note = { type = "text", null = true }
    """,
)
"""A due time, no priority, no group, finished rows deleted."""

URGENT = Case(
    "urgent",
    """
    lease = "60s"
    [table.jobs.columns]
    id = { role = "id", type = "bigint", generated = true }
    queue = { role = "group", type = "text", null = true }
    priority = { role = "priority", type = "int" }
    locked_until = { role = "locked_until" }
    processed_at = { role = "processed_at" }
    """,
    claims={"group": "a"},
)
"""A priority without a due time; rows may have no group."""

MARKED = Case(
    "marked",
    """
    lease = "60s"
    [table.jobs.columns]
    id = { role = "id", type = "bigint", generated = true }
    queue = { role = "group", type = "text" }
    run_after = { role = "retry_after" }
    attempt = { role = "attempt" }
    locked_until = { role = "locked_until" }
    state = { role = "status", type = "text", status = { pending = "new", done = "done", dead = "failed" } }
    note = { role = "last_error", type = "text", null = true }
    token = { role = "dedupe_key", type = "text", null = true }
    """,
    claims={"group": "a"},
)
"""A status says pending, done or dead: dead letters stay where they are."""

BURIED = Case(
    "buried",
    """
    lease = "60s"
    max_attempts = 3
    dead_letter = { group = "dead" }
    claims = ["group", "table"]
    [table.jobs.columns]
    id = { role = "id", type = "bigint", generated = true }
    queue = { role = "group", type = "text" }
    priority = { role = "priority", type = "int" }
    run_after = { role = "retry_after" }
    attempt = { role = "attempt" }
    locked_until = { role = "locked_until" }
    processed_at = { role = "processed_at" }
    origin = { role = "origin", type = "text", null = true }
    note = { role = "last_error", type = "text", null = true }
    token = { role = "dedupe_key", type = "text", null = true }
    """,
    claims={"group": "a"},
)
"""Dead letters go to a group of the same table, which keeps where they came from."""

CHOSEN = Case(
    "chosen",
    """
    lease = "60s"
    where = "held_back = false"
    [table.jobs.columns]
    id = { role = "id", type = "bigint", generated = true }
    queue = { role = "group", type = "text" }
    run_after = { role = "retry_after" }
    attempt = { role = "attempt" }
    locked_until = { role = "locked_until" }
    processed_at = { role = "processed_at" }
    held_back = { type = "boolean", default = false }
    """,
    claims={"group": "a"},
)
"""One more condition that a row must meet."""

COARSE = Case(
    "coarse",
    """
    lease = "60s"
    [table.jobs.columns]
    id = { role = "id", type = "bigint", generated = true }
    attempt = { role = "attempt" }
    locked_until = { role = "locked_until", type = "timestamp(0)" }
    run_after = { role = "retry_after", type = "timestamp(0)" }
    processed_at = { role = "processed_at", type = "timestamp(0)" }
    """,
)
"""Times of whole seconds: tokens repeat, and only the attempt tells two of them apart."""

SHAPES = (FULL, WHOLE, PLAIN, DELAYED, URGENT, MARKED, BURIED, CHOSEN, COARSE)
"""Every shape of the form."""
