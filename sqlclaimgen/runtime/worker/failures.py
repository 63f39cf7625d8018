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
    # a handler may meet a row of another table that does not decode: that is a failure like any other
    if isinstance(error, RowInvalid) and (error.table, error.id) == (queue.table, delivery.id):
        if settings.on_invalid == "keep" and can_keep:
            return None
        if settings.on_invalid == "dead_letter" and DeadLetter in queue.outcomes:
            return DeadLetter("invalid", text)
    if RetryAfter not in queue.outcomes:
        return Retry(text)
    delay = _delay(queue, settings, attempt, error)
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
