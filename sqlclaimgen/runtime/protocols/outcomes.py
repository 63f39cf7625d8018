"""From an outcome to the statements that write it: the same in every form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from sqlclaimgen.runtime.outcomes import Ack, AnyOutcome, DeadLetter, Discard, Retry, RetryAfter
from sqlclaimgen.runtime.protocols.counted import at_most
from sqlclaimgen.runtime.queue import Bound
from sqlclaimgen.runtime.steps import Protocol

MAX_DELAY = timedelta(days=3650)
"""The longest delay written into a row; more is cut to it, so that no failure can fail."""

ERROR_LENGTH = 8000
"""Characters of an error's text that are kept."""


def bounded(error: str | None) -> str | None:
    """An error's text as a column can hold it: at most ERROR_LENGTH characters, no NUL, and nothing
    that UTF-8 cannot carry."""
    if error is None:
        return None
    clean = error.replace("\x00", "\ufffd").encode("utf-8", "replace").decode()
    return clean if len(clean) <= ERROR_LENGTH else clean[: ERROR_LENGTH - 1] + "\u2026"


def without_text(outcome: AnyOutcome) -> AnyOutcome:
    """The outcome without the text of its error, which a database may refuse for reasons of its own: a
    column that is too short, an encoding that lacks a character."""
    match outcome:
        case Retry() | RetryAfter() | DeadLetter():
            return replace(outcome, error=None)
        case _:
            return outcome


def due_at_once(outcome: AnyOutcome) -> bool:
    """Whether an outcome makes the row due again at once."""
    match outcome:
        case Retry():
            return True
        case RetryAfter(delay, _):
            return delay.total_seconds() <= 0
        case _:
            return False


def effective(
    bound: Bound, outcome: AnyOutcome, attempt: int, *, in_dead_group: bool
) -> AnyOutcome:
    """What an outcome comes to: a retry at the last attempt is a dead letter. In a group that holds
    dead letters attempts are not limited."""
    most = bound.queue.max_attempts
    if most is None or in_dead_group or attempt < most:
        return outcome
    match outcome:
        case Retry(error):
            return DeadLetter("attempts", error)
        case RetryAfter(_, error):
            return DeadLetter("attempts", error)
        case _:
            return outcome


def due_at(now: datetime, delay: timedelta) -> datetime:
    """The time a delayed row is due: never in the past, never beyond MAX_DELAY, never an overflow."""
    return now + min(max(delay, timedelta(0)), MAX_DELAY)


def write(
    bound: Bound, outcome: AnyOutcome, fence: Mapping[str, Any], row_id: Any
) -> Protocol[bool]:
    """Run the statements of an outcome. `fence` names the row and what it must still hold. Returns
    whether the row was there: False means that nothing was written. Raises IdNotUnique when two rows were
    there: the transaction is rolled back then."""
    now = bound.now()
    column = bound.queue.retry_after
    kind = column.kind if column is not None else "timestamp(6)"
    name = "ack"
    parameters: dict[str, Any] = {"now": bound.codec.time(now)}
    match outcome:
        case Ack() | Discard():
            pass
        case Retry(error):
            name = "retry"
            parameters = {"now": bound.codec.encode(kind, now), "error": bounded(error)}
        case RetryAfter(delay, error):
            name = "retry_after"
            parameters = {
                "due": bound.codec.encode(kind, due_at(now, delay)),
                "error": bounded(error),
            }
        case DeadLetter(reason, error):
            name = "dead_letter"
            parameters = {
                "now": bound.codec.time(now),
                "reason": bounded(reason),
                "error": bounded(error),
            }
    result = yield from bound.run(name, {**fence, **parameters}, row=row_id)
    if not (result.count or result.rows):
        return False
    if name == "dead_letter" and bound.has("dead_letter_remove"):
        # its insert may count a row twice that it replaced
        name = "dead_letter_remove"
        result = yield from bound.run(name, fence, row=row_id)
    yield from at_most(bound, name, result.count, 1, row_id)
    return bool(result.count or result.rows)
