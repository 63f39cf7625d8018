"""Descriptions of the row lock and advisory forms, and of FIFO groups, that the workers' tests run."""

from __future__ import annotations

from tests.conformance.harness import Case

SERVERS = ("postgres", "mysql", "mariadb")
"""Databases with row locks, and with session locks."""

_COLUMNS = """
    id = { role = "id", type = "bigint", generated = true }
    run_after = { role = "retry_after" }
    attempt = { role = "attempt" }
    account = { type = "text", default = "a" }
    customer = { role = "partition_key", type = "text", null = true }
    note = { role = "last_error", type = "text", null = true }
    payload = { role = "payload", type = "json", null = true }
    """

_LETTERS = """
    max_attempts = 5
    dead_letter = { table = "jobs_dead", reason = "reason", error = "error" }
    """

ROW_LOCK = Case("row-lock", f"{_LETTERS}[table.jobs.columns]{_COLUMNS}", dialects=SERVERS)
"""Every outcome there is; finished rows are deleted."""

ADVISORY = Case("advisory", f'advisory_lock = "accounts-{{account}}"{ROW_LOCK.body}')
"""The same, its rows held by a key; rows share it unless they are given an account."""

_GROUPS = """
    claims = ["group", "table"]
    [table.jobs.columns]
    id = { role = "id", type = "bigint", generated = true }
    queue = { role = "group", type = "text", fifo = true }
    run_after = { role = "retry_after" }
    attempt = { role = "attempt" }
    """

FIFO_ROW_LOCK = Case("fifo-row-lock", _GROUPS, dialects=SERVERS, claims={"group": "a"})
FIFO_LEASE = Case(
    "fifo-lease",
    f'lease = "60s"{_GROUPS}locked_until = {{ role = "locked_until" }}',
    claims={"group": "a"},
)
"""Groups in order, in both forms that keep it."""


def is_advisory(case: Case) -> bool:
    """Whether a case holds its rows by keys."""
    return "advisory_lock" in case.body
