"""What becomes of a row whose handler failed. Nothing here can fail itself."""

from __future__ import annotations

import traceback
from datetime import timedelta
from typing import Any

from sqlclaimgen.runtime.backoff import delay_of
from sqlclaimgen.runtime.deliveries import Delivery
from sqlclaimgen.runtime.errors import RowInvalid
from sqlclaimgen.runtime.outcomes import AnyOutcome, DeadLetter, Retry, RetryAfter
from sqlclaimgen.runtime.queue import Queue
from sqlclaimgen.runtime.worker.events import log
from sqlclaimgen.runtime.worker.settings import Settings


def described(error: BaseException) -> str:
    """An error as `last_error` keeps it: its type, its text, and where it was raised."""
    try:
        lines = traceback.format_exception(error, limit=-4)
        return "".join(lines).strip()
    except Exception:
        return type(error).__name__


def is_invalid(
    queue: Queue[Any, Any, Any, Any], delivery: Delivery[Any, Any], error: BaseException
) -> bool:
    """Whether it is the delivery's own row that does not decode. A handler may meet a row of another
    table: that is a failure like any other."""
    named = (queue.table, delivery.id)
    return isinstance(error, RowInvalid) and (error.table, error.id) == named


def outcome_of(
    queue: Queue[Any, Any, Any, Any],
    settings: Settings,
    delivery: Delivery[Any, Any],
    error: BaseException,
    *,
    can_keep: bool = True,
) -> AnyOutcome | None:
    """The outcome of a failure under the table's policy; None leaves the row as it is, held until
    its lease or its session ends, where it `can_keep` one more."""
    text, attempt = described(error), delivery.number
    invalid = is_invalid(queue, delivery, error)
    if invalid:
        if settings.on_invalid == "keep" and can_keep:
            return None
        if settings.on_invalid == "dead_letter" and DeadLetter in queue.outcomes:
            return DeadLetter("invalid", text)
    if RetryAfter not in queue.outcomes:
        last = queue.max_attempts is not None and attempt >= queue.max_attempts
        # due at once it would be the first of the next claim again
        left_to_lease = invalid and queue.form == "lease" and not last
        return None if left_to_lease else Retry(text)
    delay = _delay(queue, settings, attempt, error)
    if invalid and not delay:
        delay = timedelta(seconds=settings.max_backoff)
    return RetryAfter(delay, text) if delay else Retry(text)


def _delay(
    queue: Queue[Any, Any, Any, Any], settings: Settings, attempt: int, error: BaseException
) -> timedelta:
    if settings.retry is not None:
        try:
            return delay_of(settings.retry(attempt, error))
        except Exception:
            log.exception(
                "%s: the worker's `retry` gave no delay; the table's own policy holds", queue.table
            )
    return queue.retry.delay(attempt) if queue.retry is not None else timedelta(0)
