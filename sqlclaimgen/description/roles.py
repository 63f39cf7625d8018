"""What each role asks of its column and fills in when the description leaves it out."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from sqlclaimgen.description.model import INTEGERS, TEXTS, Kind, Role, Type

if TYPE_CHECKING:
    from collections.abc import Mapping

KEYS = INTEGERS | TEXTS | {Kind.UUID}
"""Types that are compared exactly, so that a row, a group or a lock is found by them."""

MICROSECONDS = Type(Kind.TIMESTAMP, precision=6)


@dataclass(frozen=True, slots=True)
class RoleRule:
    """One role. `kinds` None serves every type; `type` None means the description has to say it."""

    does: str
    """What the column is for, as the reference and an editor's hover say it."""
    without: str
    """What a table without it does."""
    kinds: frozenset[Kind] | None
    type: Type | None = None
    null: bool = False
    """Whether the column is nullable unless the description says otherwise."""
    fixed: str | None = None
    """Why `null` cannot be chosen; None when it can."""
    default: int | str | None = None
    """`now` for a time means the time of insertion."""
    python: str | None = None
    """Why the column cannot hold a type of the user's own; None when it can."""


_COUNTED = "claims compute with it"
_TIMED = "claims compare it with the clock"

ROLES: Mapping[Role, RoleRule] = MappingProxyType(
    {
        Role.ID: RoleRule(
            "The row's identity. With `generated = true` the database numbers the rows.",
            "Every table has one.",
            KEYS,
            fixed="a row without an id could not be settled",
            python="claims compare it in its own type",
        ),
        Role.GROUP: RoleRule(
            "The queue within the table that a claim reads. A row without one stands alone.",
            "The table is one queue.",
            KEYS,
            python="claims compare it in its own type",
        ),
        Role.PRIORITY: RoleRule(
            "Smaller is claimed first.",
            "Rows are claimed by time and id.",
            INTEGERS,
            Type(Kind.SMALLINT),
            fixed="a row without a priority would sort differently on each database",
            default=0,
            python=_COUNTED,
        ),
        Role.PARTITION_KEY: RoleRule(
            "A worker runs the rows of one key that it has claimed one at a time; other workers run theirs.",
            "Any free handler of a worker takes any row.",
            KEYS,
        ),
        Role.RETRY_AFTER: RoleRule(
            "The time from which the row is due.",
            "A row is due at once; a delayed retry does not exist.",
            frozenset({Kind.TIMESTAMP}),
            MICROSECONDS,
            fixed="a row without a time would never be due",
            default="now",
            python=_TIMED,
        ),
        Role.ATTEMPT: RoleRule(
            "The number of the next delivery, from 1.",
            "Nothing is counted, and `max_attempts` is refused.",
            INTEGERS,
            Type(Kind.INT),
            fixed="a row without a count could not be counted on",
            default=1,
            python=_COUNTED,
        ),
        Role.PROCESSED_AT: RoleRule(
            "When the row was finished; NULL before.",
            "A finished row is deleted, unless the table has a `status`.",
            frozenset({Kind.TIMESTAMP}),
            MICROSECONDS,
            null=True,
            fixed="a row that is not finished has no such time",
            python=_TIMED,
        ),
        Role.LOCKED_UNTIL: RoleRule(
            "The lease: when the holder loses the row; NULL while nobody holds it. Its presence "
            "selects the lease form, and a column called `locked_until` plays the role unasked.",
            "The table takes the row lock form, or with `advisory_lock` that form.",
            frozenset({Kind.TIMESTAMP}),
            MICROSECONDS,
            null=True,
            fixed="a row that nobody holds has no such time",
            python=_TIMED,
        ),
        Role.HEADERS: RoleRule(
            "What travels with the payload: a JSON object.",
            "A row has no headers.",
            frozenset({Kind.JSON}),
            Type(Kind.JSON),
            null=True,
        ),
        Role.PAYLOAD: RoleRule(
            "The work itself.",
            "The handler works with the other columns.",
            None,
        ),
        Role.LAST_ERROR: RoleRule(
            "The text of the last handler's failure.",
            "A failure is in the worker's log and its events. Its text is kept only with a dead letter, "
            "in the dead-letter table's `error` column.",
            TEXTS,
            Type(Kind.TEXT),
            null=True,
            fixed="a row that has not failed has no error",
            python="the worker writes the error's text",
        ),
        Role.DEDUPE_KEY: RoleRule(
            "Unique among the rows that have one: a second row with the key is not enqueued.",
            "Every row enqueued is a row.",
            KEYS,
            Type(Kind.TEXT),
            null=True,
        ),
        Role.STATUS: RoleRule(
            "Whether the row is pending, done or dead, in the words `status = {..}` gives.",
            "A finished row is deleted, unless the table has a `processed_at`.",
            INTEGERS | TEXTS,
            Type(Kind.TEXT),
            fixed="a row without a status would never be claimed",
            python="claims compare it with the words of `status`",
        ),
        Role.ORIGIN: RoleRule(
            "The group a dead letter came from, where `dead_letter` names a group.",
            "Dead letters of a group cannot be sent back.",
            KEYS,
            null=True,
            fixed="a row that is no dead letter has no origin",
            python="claims compare it in its own type",
        ),
    }
)
