"""Rows whose crashes used their attempts up: given up after the claim that meets them, one by one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlclaimgen.runtime.deliveries import Delivery
from sqlclaimgen.runtime.outcomes import AnyOutcome, DeadLetter
from sqlclaimgen.runtime.protocols import outcomes
from sqlclaimgen.runtime.protocols.taken import Refusal

LETTER = DeadLetter("exhausted")
"""What becomes of them."""


def is_spent(delivery: Delivery[Any, Any]) -> bool:
    """Whether a row that was claimed has no attempt left. In the group that holds dead letters attempts
    are not limited."""
    most = delivery.bound.queue.max_attempts
    return most is not None and delivery.number > most and not _in_dead_group(delivery)


def refused(delivery: Delivery[Any, Any], error: Exception) -> Refusal:
    """What is told of a row that had to be given up and could not."""
    return Refusal(delivery.id, error, delivery.number, type(LETTER).__name__)


def effective(delivery: Delivery[Any, Any], outcome: AnyOutcome) -> AnyOutcome:
    """What an outcome comes to: a retry at the last attempt is a dead letter. In the group that holds
    dead letters attempts are not limited."""
    in_dead_group = _in_dead_group(delivery)
    return outcomes.effective(delivery.bound, outcome, delivery.number, in_dead_group=in_dead_group)


def _in_dead_group(delivery: Delivery[Any, Any]) -> bool:
    queue = delivery.bound.queue
    group, dead = queue.group, queue.dead_group
    values: Sequence[Any] = delivery.raw
    return group is not None and dead is not None and values[queue.index(group.field)] == dead
