"""From an outcome to the statements that write it: the same in every form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from sqlclaimgen.runtime.errors import (
    ClaimError,
    FaultKind,
    IdNotUnique,
    SettlementUnknown,
    StatementFailed,
    WriteIgnored,
)
from sqlclaimgen.runtime.outcomes import Ack, AnyOutcome, DeadLetter, Discard, Retry, RetryAfter
from sqlclaimgen.runtime.protocols.counted import at_most
from sqlclaimgen.runtime.queue import Bound
from sqlclaimgen.runtime.steps import (
    Protocol,
    ReleaseSavepoint,
    RollbackToSavepoint,
    Savepoint,
    Text,
)

MAX_DELAY = timedelta(days=3650)
"""The longest delay written into a row; more is cut to it, so that no failure can fail."""

LETTER = "sqlclaimgen_letter"
"""Set before the two statements of a dead letter: both count, or neither."""

ERROR_LENGTH = 8000
"""Characters of an error's text that are kept."""

CUT = "..."
"""What a text ends with that was cut. Every encoding has it."""


class Postponed(RetryAfter):
    """A retry in place of an outcome that the database refused. No dead letter at the last attempt."""


def bounded(error: str | None, length: int | None = None) -> Text | None:
    """An error's text as a column can hold it: at most ERROR_LENGTH characters, or `length`, no NUL, and
    nothing that UTF-8 cannot carry."""
    if error is None:
        return None
    clean = error.replace("\x00", "\ufffd").encode("utf-8", "replace").decode()
    most = min(length or ERROR_LENGTH, ERROR_LENGTH)
    if len(clean) > most:
        clean = clean[: max(most - len(CUT), 0)] + CUT
    return Text(clean[:most])


def plainer(outcome: AnyOutcome) -> AnyOutcome:
    """The outcome with a text of its error that a database need not refuse for reasons of its own, a
    column's character set, say: in ASCII, then none. The outcome itself when it has none."""
    match outcome:
        case Retry(error=str(error)) | RetryAfter(error=str(error)) | DeadLetter(error=str(error)):
            plain = error.encode("ascii", "replace").decode()
            return replace(outcome, error=None if error == plain else plain)
        case _:
            return outcome


def is_passing(error: BaseException) -> bool:
    """Whether an error that refused an outcome says nothing of the row: its session is gone, or it ran into
    another transaction."""
    if not isinstance(error, StatementFailed):
        # the others of ours tell of a session or a transaction that is gone
        of_the_row = isinstance(error, Exception) and not isinstance(error, ClaimError)
        return not (of_the_row or isinstance(error, WriteIgnored))
    return error.kind.passes or error.kind in (FaultKind.LOST, FaultKind.ABORTED)


def is_lost(error: BaseException) -> bool:
    """Whether a settlement failed because its session is gone."""
    lost = isinstance(error, StatementFailed) and error.kind is FaultKind.LOST
    return lost or isinstance(error, SettlementUnknown)


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
    if most is None or in_dead_group or attempt < most or isinstance(outcome, Postponed):
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


def due_after(bound: Bound, delay: timedelta) -> datetime:
    """The time a row is due that is written now: without a delay it is found by the next claim."""
    return due_at(bound.now() if delay > timedelta(0) else bound.earliest(), delay)


def write(
    bound: Bound, outcome: AnyOutcome, fence: Mapping[str, Any], row_id: Any
) -> Protocol[bool]:
    """Run the statements of an outcome. `fence` names the row and what it must still hold. Returns
    whether the row was there: False means that nothing was written. Raises WriteIgnored when nothing
    was written although it is there, and IdNotUnique when two rows were there: the transaction is rolled
    back then."""
    name, parameters = _spelled(bound, outcome)
    if name == "dead_letter" and bound.has("dead_letter_remove"):
        written = yield from _moved(bound, {**fence, **parameters}, row_id)
    else:
        result = yield from bound.run(name, {**fence, **parameters}, row=row_id)
        yield from at_most(bound, name, result.count, 1, row_id)
        written = bool(result.count or result.rows)
    if written or not bound.has("present"):
        return written
    found = yield from bound.run("present", fence, row=row_id)
    if not found.rows:
        return False
    if bound.codec.counts_changes and isinstance(outcome, Retry | RetryAfter):
        return True  # the row held these values already
    table = bound.queue.table
    raise WriteIgnored(
        f"{table} {row_id!r}: {name} wrote nothing, without an error, and the row stands unchanged. A "
        "trigger or a rule on the table cancels the write: it may not. The row has no outcome, and is "
        "claimed again.",
        table=table,
        id=row_id,
        statement=name,
    )


def _moved(bound: Bound, parameters: Mapping[str, Any], row_id: Any) -> Protocol[bool]:
    """Copy the row and remove it: both, or neither, also in a transaction of the caller's."""
    yield Savepoint(LETTER)
    try:
        yield from bound.run("dead_letter", parameters, row=row_id)
        # this one tells: a copy that replaces its like may count no row
        removed = yield from bound.run("dead_letter_remove", parameters, row=row_id)
        yield from at_most(bound, "dead_letter_remove", removed.count, 1, row_id)
        if not removed.count:
            yield RollbackToSavepoint(LETTER)
        yield ReleaseSavepoint(LETTER)
    except IdNotUnique:
        raise  # rolled back already, savepoint and all
    except StatementFailed:
        yield from _undone()
        raise
    return removed.count != 0


def _undone() -> Protocol[None]:
    try:
        yield RollbackToSavepoint(LETTER)
        yield ReleaseSavepoint(LETTER)
    except StatementFailed:
        return  # it is gone with its transaction: after a deadlock, or with the connection


def _spelled(bound: Bound, outcome: AnyOutcome) -> tuple[str, dict[str, Any]]:
    """The statement of an outcome, and its parameters."""
    now = bound.now()
    column = bound.queue.retry_after
    kind = column.kind if column is not None else "timestamp(6)"
    match outcome:
        case Ack() | Discard():
            return "ack", {"now": bound.codec.time(now)}
        case Retry(error):
            text = bounded(error, bound.queue.error_length)
            return "retry", {"now": bound.codec.encode(kind, bound.earliest()), "error": text}
        case RetryAfter(delay, error):
            due = bound.codec.encode(kind, due_after(bound, delay))
            text = bounded(error, bound.queue.error_length)
            return "retry_after", {"due": due, "error": text}
        case DeadLetter(reason, error):
            return "dead_letter", {
                "now": bound.codec.time(now),
                "reason": bounded(reason, bound.queue.letter_length),
                "error": bounded(error, bound.queue.letter_length),
            }
