"""Attempts: how often a row may fail, and when it is due again after a failure."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from sqlclaimgen.description.model import Form, Retry, Role
from sqlclaimgen.description.rules.defaults import BITS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlclaimgen.description.findings import Findings
    from sqlclaimgen.description.model import Table
    from sqlclaimgen.description.scope import Scope

BASE = 10
"""Seconds, unless `base` is set."""
MAX = 3600
"""Seconds, unless `max` is set."""


def max_attempts(scope: Scope, form: Form) -> int | None:
    """The attempt at which a row that fails is given up."""
    number = scope.shape.max_attempts
    if number is None:
        return None
    column = scope.column(Role.ATTEMPT)
    if scope.lacks(Role.ATTEMPT):
        likely = scope.names(Role.ATTEMPT)
        scope.error(
            "ATTEMPTS-UNCOUNTED",
            f"`max_attempts` is set, and table `{scope.key}` counts no attempts",
            f'Give column `{likely}` role = "attempt".'
            if likely
            else 'Add the column that counts them: attempt = { role = "attempt" }.',
            "max_attempts",
        )
    most = 2 ** BITS[column.type.kind] - 2 if column and column.type.kind in BITS else 2**31 - 2
    if not 1 <= number <= most:
        scope.error(
            "ATTEMPTS-RANGE",
            f"`max_attempts` is {number}, and must be 1 to {most}",
            "Write how often a row may be delivered before it is given up: 5.",
            "max_attempts",
        )
    # a row with a status can be given up where it stands
    elsewhere = scope.shape.dead_letter is not None or scope.column(Role.STATUS) is not None
    if not elsewhere and not scope.findings.is_broken(scope.path("dead_letter")):
        scope.error(
            "ATTEMPTS-NOWHERE",
            "`max_attempts` is set, and `dead_letter` does not say where such rows go",
            f'Write dead_letter = {{ table = "{scope.shape.name or scope.key}_dead" }}, add a column of '
            'role "status" (such rows are then marked), or leave `max_attempts` out.',
            "max_attempts",
        )
    if form is Form.ROW_LOCK:
        scope.warning(
            "ATTEMPTS-ROW-LOCK",
            "a crash does not count as an attempt in the row lock form: its rollback undoes the "
            "count, so a row that kills its worker is delivered for ever",
            'Add locked_until = { role = "locked_until" } for the lease form, which counts at the '
            "claim.",
            "max_attempts",
        )
    return number


def retry(scope: Scope) -> Retry | None:
    """When a row whose handler failed is due again."""
    shape = scope.shape.retry
    if shape is None:
        return None
    extra = [key for key in ("base", "max", "jitter") if getattr(shape, key) is not None]
    if shape.backoff == "none":
        for key in extra:
            scope.error(
                "RETRY-UNUSED",
                f'`retry.{key}` has no effect with backoff = "none"',
                'Leave it out, or write backoff = "exponential".',
                "retry",
                key,
            )
        return Retry()
    _check_columns(scope, shape.backoff)
    base = BASE if shape.base is None else shape.base
    longest = max(MAX, base) if shape.max is None else shape.max
    if shape.backoff == "constant":
        if shape.max is not None:
            scope.error(
                "RETRY-UNUSED",
                "`retry.max` has no effect: a constant delay does not grow",
                "Leave it out.",
                "retry",
                "max",
            )
        longest = base
    elif base > longest:
        scope.error(
            "RETRY-RANGE",
            "`retry.base` is longer than `retry.max`",
            "Write a base that is at most max.",
            "retry",
            "base" if shape.base is not None else "max",
        )
    jitter = 0.0 if shape.jitter is None else float(shape.jitter)
    if not 0 <= jitter <= 1 or math.isnan(jitter):
        scope.error(
            "RETRY-RANGE",
            f"`retry.jitter` is {shape.jitter}, and must be 0 to 1",
            "Write the share of a delay that is random: 0.1.",
            "retry",
            "jitter",
        )
    return Retry(shape.backoff, base, longest, jitter)


def check_delays(tables: Sequence[Table], findings: Findings) -> None:
    """Warn of failures that are retried without a pause, where that uses attempts up or holds a group.
    `backoff = "none"` says that it is meant."""
    for table in tables:
        if table.retry is not None or (table.max_attempts is None and not table.fifo):
            continue
        at: tuple[str, ...] = ("table", table.key)
        if table.max_attempts is not None:
            effect = (
                f"a service that is down for a minute uses up its {table.max_attempts} attempts"
            )
            at = (*at, "max_attempts")
        else:
            effect = "its group is tried without a pause while a service is down"
            group = table.column(Role.GROUP)
            at = (*at, "columns", group.name, "fifo") if group else at
        missing = [
            f'{role} = {{ role = "{role}" }}'
            for role in (Role.RETRY_AFTER, Role.ATTEMPT)
            if not table.has(role)
        ]
        first = f"Add {' and '.join(missing)}, and write" if missing else "Write"
        findings.warning(
            "RETRY-AT-ONCE",
            f"table `{table.key}` has no `retry`: a row that fails is claimed again at once, and {effect}",
            f'{first} retry = {{ backoff = "exponential", base = "10s", max = "1h" }}, or '
            'retry = { backoff = "none" } where that is meant.',
            at,
        )


def _check_columns(scope: Scope, backoff: str) -> None:
    needed = [Role.RETRY_AFTER] if backoff == "constant" else [Role.RETRY_AFTER, Role.ATTEMPT]
    for role in needed:
        if scope.lacks(role):
            what = (
                "when a row is due" if role is Role.RETRY_AFTER else "how often a row was delivered"
            )
            scope.error(
                "RETRY-COLUMN",
                f'backoff = "{backoff}" needs a column that says {what}',
                f'Add {role} = {{ role = "{role}" }}, or leave `retry` out.',
                "retry",
                "backoff",
            )
