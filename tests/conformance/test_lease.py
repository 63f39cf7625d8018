"""The lease form on every database: claim, settle, lose, give back."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from sqlclaimgen.runtime import LeaseLost, TransactionOpen, transaction
from sqlclaimgen.runtime.protocols import lease
from sqlclaimgen.runtime.protocols.scope import group
from sqlclaimgen.runtime.steps import Commit
from tests.conformance.harness import Case, Stand, on_cases, unlocked, waiting, without
from tests.conformance.history import Violation
from tests.conformance.stepping import Stepper

FULL = Case(
    "lease",
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
    payload = { role = "payload", type = "json" }
    note = { role = "last_error", type = "text", null = true }
    """,
    claims={"group": "a"},
)
PLAIN = Case(
    "lease-plain",
    """
    lease = "60s"
    [table.jobs.columns]
    id = { role = "id", type = "bigint", generated = true }
    locked_until = { role = "locked_until" }
    payload = { role = "payload", type = "json" }
    """,
)
