"""Rows whose crashes used their attempts up: moved by the claim that meets them, in its transaction."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlclaimgen.runtime.deliveries import Delivery
from sqlclaimgen.runtime.outcomes import AnyOutcome
from sqlclaimgen.runtime.protocols import outcomes
from sqlclaimgen.runtime.protocols.claimed import Claimed
from sqlclaimgen.runtime.protocols.counted import at_most
from sqlclaimgen.runtime.queue import Bound
from sqlclaimgen.runtime.steps import Protocol

REASON = "exhausted"


def apart(
    bound: Bound, rows: Sequence[Claimed], now: datetime
) -> Protocol[tuple[list[Claimed], int]]:
    """The rows to hand out, and how many were moved. Where the claim's statement moved them itself it
    says so in each row's last value."""
    most = bound.queue.max_attempts
    if most is None:
        return list(rows), 0
    if not bound.has("exhaust"):
        left = [row for row in rows if not (row.rest and row.rest[-1])]
        return left, len(rows) - len(left)
    live: list[Claimed] = []
    spent: list[Any] = []
    for row in rows:
        if row.attempt <= most or row_in_dead_group(bound, row):
            live.append(row)
        else:
            spent.append(row.id)
    if spent:
        spent.sort()
        ids = bound.codec.ids(bound.queue.id_kind, spent)
        moved = {"now": bound.codec.time(now), "reason": REASON, "error": None}
        yield from bound.run("exhaust", {**ids, **moved})
        if bound.has("exhaust_remove"):
            removed = yield from bound.run("exhaust_remove", ids)
            yield from at_most(bound, "exhaust_remove", removed.count, len(spent))
    return live, len(spent)


def row_in_dead_group(bound: Bound, row: Claimed) -> bool:
    """Whether a claimed row is in the group that holds dead letters, where attempts are not limited."""
    return _in_dead_group(bound, row.values)


def effective(delivery: Delivery[Any, Any], outcome: AnyOutcome) -> AnyOutcome:
    """What an outcome comes to: a retry at the last attempt is a dead letter. In the group that holds
    dead letters attempts are not limited."""
    bound = delivery.bound
    in_dead_group = _in_dead_group(bound, delivery.raw)
    return outcomes.effective(bound, outcome, delivery.number, in_dead_group=in_dead_group)


def _in_dead_group(bound: Bound, values: Sequence[Any]) -> bool:
    group, dead = bound.queue.group, bound.queue.dead_group
    return group is not None and dead is not None and values[bound.queue.index(group.field)] == dead
