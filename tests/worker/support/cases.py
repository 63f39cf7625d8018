"""Descriptions of the lease form that the workers' tests run."""

from __future__ import annotations

from tests.conformance.harness import Case

JOBS = Case(
    "jobs",
    """
    lease = "60s"
    max_attempts = 5
    dead_letter = { table = "jobs_dead", reason = "reason", error = "error" }
    [table.jobs.columns]
    id = { role = "id", type = "bigint", generated = true }
    run_after = { role = "retry_after" }
    attempt = { role = "attempt" }
    locked_until = { role = "locked_until" }
    customer = { role = "partition_key", type = "text", null = true }
    note = { role = "last_error", type = "text", null = true }
    payload = { role = "payload", type = "json", null = true }
    """,
)
"""Every outcome there is; finished rows are deleted."""

SHORT = JOBS.with_(name="short", body=JOBS.body.replace('"60s"', '"2s"'))
"""The same with a lease that runs out within a test."""

GROUPED = Case(
    "grouped",
    """
    lease = "60s"
    claims = ["group", "table"]
    [table.jobs.columns]
    id = { role = "id", type = "bigint", generated = true }
    queue = { role = "group", type = "text", null = true }
    attempt = { role = "attempt" }
    locked_until = { role = "locked_until" }
    """,
    claims={"group": "a"},
)
"""Groups, claimed one by one, many, or all at once."""

PLAIN = Case(
    "plain",
    """
    lease = "60s"
    [table.jobs.columns]
    id = { role = "id", type = "bigint", generated = true }
    locked_until = { role = "locked_until" }
    """,
)
"""No switch at all."""
