"""The descriptions that the tests of redrive, stats and purge run on."""

from __future__ import annotations

from tests.conformance.harness import Case

DEAD_TABLE = Case(
    "dead-table",
    """
    lease = "60s"
    max_attempts = 2
    dead_letter = { table = "jobs_dead" }
    claims = ["group", "table"]
    [table.jobs.columns]
    id = { role = "id", type = "bigint", generated = true }
    queue = { role = "group", type = "text" }
    urgency = { role = "priority" }
    due = { role = "retry_after" }
    attempt = { role = "attempt" }
    locked_until = { role = "locked_until" }
    finished = { role = "processed_at" }
    slip = { role = "dedupe_key" }
    payload = { role = "payload", type = "json" }
    """,
    claims={"group": "a"},
)
"""Dead letters in a table of their own; finished rows stay; keys that are queued once."""

_NO_LEASE = DEAD_TABLE.body.replace('lease = "60s"', "").replace(
    'locked_until = { role = "locked_until" }', ""
)
ROW_LOCK = DEAD_TABLE.with_(
    name="row-lock", body=_NO_LEASE, dialects=("postgres", "mysql", "mariadb")
)
ADVISORY = DEAD_TABLE.with_(
    name="advisory", body=f'advisory_lock = "jobs-{{id}}"\n{_NO_LEASE.lstrip()}'
)
"""The same in the other two forms."""

OWN_IDS = Case(
    "own-ids",
    """
    lease = "60s"
    max_attempts = 1
    dead_letter = { table = "jobs_dead", time = false, reason = false }
    [table.jobs.columns]
    id = { role = "id", type = "uuid" }
    attempt = { role = "attempt" }
    locked_until = { role = "locked_until" }
    """,
)
"""Ids of the producer's, finished rows deleted, a dead-letter table without a time."""

DEAD_GROUP = Case(
    "dead-group",
    """
    lease = "60s"
    max_attempts = 2
    dead_letter = { group = "escalated" }
    claims = ["group", "table"]
    [table.jobs.columns]
    id = { role = "id", type = "bigint", generated = true }
    queue = { role = "group", type = "text" }
    origin = { role = "origin" }
    urgency = { role = "priority" }
    due = { role = "retry_after" }
    attempt = { role = "attempt" }
    locked_until = { role = "locked_until" }
    slip = { role = "dedupe_key" }
    error = { role = "last_error" }
    """,
    claims={"group": "a"},
)
"""Dead letters in a group of the same table."""

MARKED = Case(
    "marked",
    """
    lease = "60s"
    [table.jobs.columns]
    id = { role = "id", type = "bigint", generated = true }
    due = { role = "retry_after" }
    attempt = { role = "attempt" }
    locked_until = { role = "locked_until" }
    finished = { role = "processed_at" }
    state = { role = "status" }
    slip = { role = "dedupe_key" }
    """,
)
"""Dead letters that stay where they are, marked."""

MARKED_ALONE = Case(
    "marked-alone",
    """
    lease = "60s"
    [table.jobs.columns]
    id = { role = "id", type = "bigint", generated = true }
    locked_until = { role = "locked_until" }
    state = { role = "status", type = "smallint", status = { pending = 0, done = 1, dead = 2 } }
    """,
)
"""A status and nothing that tells when."""

FIFO = Case(
    "fifo",
    """
    max_attempts = 2
    dead_letter = { group = "escalated" }
    claims = ["group", "table"]
    [table.jobs.columns]
    id = { role = "id", type = "bigint", generated = true }
    queue = { role = "group", type = "text", fifo = true, null = true }
    origin = { role = "origin" }
    urgency = { role = "priority" }
    due = { role = "retry_after" }
    attempt = { role = "attempt" }
    locked_until = { role = "locked_until" }
    finished = { role = "processed_at" }
    """,
    claims={"group": "a"},
)
"""Groups in order, and rows that have none."""
