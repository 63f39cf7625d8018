"""What each `:name` of a statement is, for the reader of a `.sql` file."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from sqlclaimgen.description.model import Column, Role, Table
from sqlclaimgen.statements import columns

if TYPE_CHECKING:
    from sqlclaimgen.dialects import Dialect

_FIXED = {
    "limit": "integer, at most so many rows",
    "window": "integer, at most so many due rows are read",
    "most": "integer, where counting stops",
    "last": "integer, the size of the window that was looked at",
    "attempt": "integer, as the row holds it: one more than the delivery's",
    "attempts": "list of integers, one for each id: as the rows hold them",
    "transaction": "integer, the last column of the claim's answer",
    "lock": "integer, what the claim locked: the third column of its answer",
    "lock_name": "text, what the claim locked: the third column of its answer",
    "key_text": "text, the key that the claim found",
    "session": "integer, the session that holds the lock: the last column of the claim's answer",
    "locks": "list of integers, the locks that are left out",
    "keys": "text, a JSON list of the keys that are left out",
    "reason": "text, why the row is given up",
    "error": "text or NULL, what went wrong",
    "held": "list of id, token and attempt",
    "held_tokens": "list of id and token",
    "ids": "list of ids",
    "set_aside": "list of ids, the rows that are left out: none, or those that the database refused lately",
    "groups": "list of groups",
    "group_list": "text, a JSON list of groups",
}


class Shape(StrEnum):
    """What is passed for a parameter that is no column: the first words of its description."""

    TIME = "time"
    TIMES = "list of time"
    NUMBERS = "list of integers"
    NUMBER = "integer"
    IDS = "list of ids"
    GROUPS = "list of groups"
    HELD = "list of id"
    TEXTS = "list of text"
    TEXT = "text"


def shape(table: Table, statement: str, name: str) -> Column | Shape:
    """What is passed for the parameter `name` of `statement`: a value of a column, or something of
    a shape of its own."""
    found = _column(table, statement, name)
    if found is not None:
        return found
    words = _times(table, Shape.TIME).get(name) or _FIXED[name]
    return next(one for one in Shape if words.startswith(one))


def what(table: Table, dialect: Dialect, statement: str, name: str) -> str:
    """One parameter in words: its type and what to pass."""
    column = _column(table, statement, name)
    if column is not None:
        absent = " or NULL" if column.null else ""
        if column.default_now and column in columns.of_new(table):
            absent = " or NULL, for the time of insertion"
        return columns.spelled(table, column, dialect) + absent
    found = _times(table, dialect.time_literal).get(name) or _FIXED.get(name)
    if found is None:
        raise KeyError(f"a template of {dialect.name} uses :{name}, which nothing describes")
    return found


def _column(table: Table, statement: str, name: str) -> Column | None:
    """The column whose value is passed: any of them where a row is added, else those of a scope."""
    if statement == "enqueue":
        return next((column for column in table.columns if column.field == name), None)
    scoped = {"id": Role.ID, "group": Role.GROUP, "priority": Role.PRIORITY}
    scoped |= {"after": Role.GROUP, "until": Role.GROUP}
    ordered = Role.RETRY_AFTER if table.has(Role.RETRY_AFTER) else Role.PRIORITY
    scoped |= {"seen_id": Role.ID, "seen_value": ordered}
    return table.column(scoped[name]) if name in scoped else None


def _times(table: Table, time: str) -> dict[str, str]:
    lease = f"now + {table.lease} s" if table.column(Role.LOCKED_UNTIL) else ""
    return {
        "now": f"{time}, the host's clock",
        "before": f"{time}, rows that were finished earlier",
        "since": f"{time}, when the last row of the page before was finished",
        "due": f"{time}, when the row is due again",
        "locked_until": f"{time}, the new expiry: {lease}",
        "soon": f"{time}, the new expiry: nearer than the one held",
        "token": f"{time}, the expiry held",
        "tokens": f"list of {time}, one for each id: the expiries held",
        "sents": f"list of {time}, one for each id: expiries sent and not answered, or the tokens",
        "sent": f"{time}, an expiry sent and not answered, or the token again",
    }
